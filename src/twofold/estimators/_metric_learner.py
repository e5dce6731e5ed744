"""`MetricLearner`: the two phases as one scikit-learn estimator."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from twofold._core.devices import said_of_idle_devices
from twofold._core.progress import Reporter
from twofold._core.random import RandomState, as_generator
from twofold.estimators._fitting import Fit, Fitting
from twofold.estimators._model import Model, save_model
from twofold.estimators._plan import Goal, Plan, check_feedback, resolve_plan
from twofold.estimators._statement_learner import StatementLearner
from twofold.estimators._together import refuse_different_data
from twofold.estimators._training_data import TrainingData
from twofold.feedback import Selection, Watch
from twofold.metric import MetricSelection
from twofold.regression import (
    as_table,
    check_features,
    checkpoint_path,
    epoch_callback,
    is_network,
    survives_fork,
)
from twofold.relations import LabelRelation, Relation, TripletRelation, as_relation
from twofold.targets import (
    Named,
    Targets,
    TargetSolution,
    as_targets,
    resolve_grade,
)


class MetricLearner(StatementLearner):
    """Learn an embedding in which alike items are close, without training on pairs.

    Phase 1 gives every training item a target vector from the labels or statements alone; phase 2
    is regression from features to targets. By default, the whole relation stated by labels is used.
    ``MetricLearner(16, targets="fml-c")`` is the paper's FML-C, and "fml-dp" its FML-DP.

    From pairs and triplets it learns with feedback: targets start from the features and follow a
    ridge map of them. Statements about held-out items select what is returned. If nothing learnt is
    better, these are the features as given: all columns, compared by cosine or distance.

    Parameters
    ----------
    n_components : int or "auto"
        Number of components of targets and points. "auto" is 16, or the number of classes if that
        is larger, up to 256, and up to 512 for points that join layers. With feedback it is the 32
        leading directions of the features or, if held-out statements are better with more, up to
        256. It does not apply if the features are returned as given.
    targets : {"auto", "fml-c", "fml-dp"} or Targets
        How phase 1 solves for the targets.
    embedder : "auto", Network, its architecture, or a scikit-learn regressor
        The model from features to targets. "auto" is ``Network("mlp")``, and with feedback only
        ridge maps, which take seconds. With feedback, an embedder that you name is fitted once, to
        the targets that a ridge map ends with, and returned if it is as good as the map. A
        regressor is cloned. See `Network` for the input of your own module.
    metric : {"auto", "seen", "unseen", "none"}
        Which kinds of items will be compared, if items have classes. "auto" is good for kinds seen
        in training and for kinds never seen: points consist of inner layers, whitened within
        classes and joined, and of the output, to the degree that an item resembles a kind that was
        seen. Which layers count is selected on a fifth of the classes, which a second training does
        without. "unseen" leaves out the output. "seen" is only the output, for the classes that
        were trained on, and trains once; so does "none", for any relation. For several labels and
        for pairs, points are the output, unless you ask for "unseen": then whole labels, or groups
        of alike items, are held out.
    feedback : "auto" or int
        Maximum number of rounds in which targets follow the features. 0 solves for the targets
        once, from the statements alone. "auto" is up to 30 rounds for pairs and triplets, unless
        these determine a relation that is not transitive (see `gauge_targets`), and none for labels
        and for the paper's targets.
    validation_fraction : float or "auto"
        With feedback, the share of the items that is held out, with the statements about them, to
        select what is returned; "auto" is 0.2. With 0 nothing is compared, and the embedder, or a
        ridge map, is returned. Without feedback, the share of the items used to select a network's
        best epoch; "auto" is 0, which keeps the last.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where both phases run: on one device. Of the processes of a script that is started by
        torchrun, each takes the device of its number, and they share every batch.
    random_state : int, Generator or None
        Random seed. On a CPU the same seed, arrays and machine give the same embedding.
    verbose : bool
        Whether progress is logged, by the logger "twofold".

    Attributes
    ----------
    plan_ : Plan
        The value of every "auto".
    targets_ : ndarray of float32, shape (n_items, dim), or TargetRows
        Phase 1's targets; NaN for items in no statement, which phase 2 leaves out. If there are
        more than 2^28 numbers, an object that reads like an array and gathers rows from a table of
        classes.
    embedder_ : NetworkEmbedder or RegressorEmbedder
        From features to points.
    n_components_ : int
        Number of components of a point.
    metric_ : {"dot", "euclidean", "cosine"}
        How to compare points.
    metric_selection_ : MetricSelection or None
        Which layers count and how much, and scores on the held-out classes; None if points are the
        output.
    threshold_ : float
        Set by `calibrate_threshold`, as a similarity.
    selection_ : Selection or None
        With feedback: what was selected, and the score to expect on statements about new and about
        known items.
    history_ : dict
        "targets" (phase 1's losses), "regression" and "validation" (phase 2's), "best_epoch". With
        feedback, "regression" and "feedback": the selected candidate, its round, the validation
        scores of all candidates, and the expected scores.
    timing_ : dict
        Seconds of the phases, "targets" and "regression"; with feedback, those of all candidates.
    n_features_in_ : int
        Features seen by `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = MetricLearner(random_state=0).fit(X, y)
    >>> learner.transform(X).shape
    (150, 16)
    >>> learner.score(X, y) > 0.95
    True
    """

    targets_: NDArray[np.float32]
    metric_selection_: MetricSelection | None
    history_: dict[str, Any]
    timing_: dict[str, float]

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        targets: Named | Targets = "auto",
        embedder: Any = "auto",
        metric: Goal = "auto",
        feedback: Literal["auto"] | int = "auto",
        validation_fraction: float | Literal["auto"] = "auto",
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.targets = targets
        self.embedder = embedder
        self.metric = metric
        self.feedback = feedback
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @survives_fork
    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from any relation over the rows of `X`.

        Parameters
        ----------
        X : array, memory-mapped array, sparse matrix, DataFrame or torch Dataset, n_items rows
            Vectors of shape (n_items, n_features), or images of shape (n_items, channels, height,
            width), bytes or floats.
        y : classes, shape (n_items,), or 0/1 indicator matrix, shape (n_items, n_labels), optional
            Items that share a label are alike. The class of an item that is -1, NaN or None is
            unknown.
        relation : PairRelation, LabelRelation or TripletRelation, optional
            Instead of `y`.
        """
        self.check_embedder()
        X = check_features(self, X, reset=True)
        grade = resolve_grade(as_targets(self.targets))
        known = as_relation(type(self).__name__, X, y, relation, grade)
        checkpoint = checkpoint_path(self.embedder, self.random_state)
        self.plan_ = self._resolve(known)
        fitting = self._fitting(checkpoint)
        refuse_different_data(X, known, self.plan_.device)
        if self.plan_.metric_step == "output":
            fit = fitting.fit(X, known)
        else:
            assert not isinstance(known, TripletRelation)
            n_components = None if self.n_components == "auto" else self.n_components
            fit = fitting.fit_with_metric(X, known, n_components)
        self._training_data = None
        if not isinstance(known, LabelRelation):
            self._training_data = TrainingData(X, known, fit.targets, fitting.projections)
        return self._store(fit)

    def solve_targets(self, y: Any = None, *, relation: Relation | None = None) -> TargetSolution:
        """Run phase 1 only, which needs no features; `fit` then adds the regression."""
        if (y is None) == (relation is None):
            raise ValueError("Pass either y or relation.")
        if relation is None:
            relation = LabelRelation(y, grade=resolve_grade(as_targets(self.targets)))
        plan = self._resolve(relation, feedback=0)
        rng, watch = as_generator(self.random_state), Watch(Reporter(self.verbose))
        return Fitting(plan, rng, watch).place_targets(relation)[0]

    def save(self, folder: str | os.PathLike[str], *, with_data: bool = False) -> Path:
        """Save the model to a folder, completely or not at all; `twofold.load` opens it.

        The folder contains `model.json` and `weights.safetensors`, or `embedder.skops` for a
        scikit-learn embedder. An existing model of that name is replaced; any other folder is left
        alone. A model that is loaded again gives the same points within rounding.

        Parameters
        ----------
        folder : path
            The folder to write to.
        with_data : bool
            Whether to save features and statements too, so that the loaded model can `update` and
            `suggest_pairs`.
        """
        check_is_fitted(self)
        return save_model(self.to_model(with_data), folder)

    def to_model(self, with_data: bool = False) -> Model:
        """Return what is saved of a fitted learner."""
        model = super().to_model()
        if self.selection_ is not None:
            fitted = replace(model.fitted, selection=self.selection_.plain())
            model = replace(model, fitted=fitted)
        if with_data:
            data, loss = self._fitted_to("save(with_data=True)"), self.plan_.loss
            if not isinstance(loss, str):
                raise ValueError(
                    f"{type(loss).__name__} is your own code, which is not saved with a model, so "
                    "the saved model could not continue learning: save it without with_data."
                )
            return replace(model, data=data)
        return model

    def take_model(self, model: Model) -> Self:
        """Become fitted as a model says."""
        super().take_model(model)
        targets = np.empty((0, self.n_components_), dtype=np.float32)
        if model.data is not None:
            data, names = model.data, getattr(self, "feature_names_in_", None)
            if names is not None and not is_network(self.embedder):  # which sees an array
                data = replace(data, X=as_table(data.X, names))
            self._training_data, self.targets_ = data, data.targets
            targets, self.plan_ = data.targets, self._resolve(data.relation)
        known = model.fitted.selection
        self.selection_, self.metric_selection_ = None, None
        if known is not None:
            self.selection_ = Selection(**known, embedder=self.embedder_, targets=targets)
        return self

    def _resolve(self, relation: Relation, feedback: int | None = None) -> Plan:
        rounds = self.feedback if feedback is None else feedback
        check_feedback(rounds)
        return resolve_plan(
            relation,
            as_targets(self.targets),
            n_components=self.n_components,
            embedder=self.embedder,
            metric=self.metric,
            feedback=rounds,
            validation_fraction=self.validation_fraction,
            device=self.device,
            item_shape=getattr(self, "input_shape_", ()),
        )

    def _fitting(self, checkpoint: Path | None = None) -> Fitting:
        reporter = Reporter(self.verbose)
        if idle := said_of_idle_devices(self.plan_.device):
            reporter.always(idle)
        watch = Watch(reporter, epoch_callback(reporter, self.embedder), checkpoint)
        return Fitting(self.plan_, as_generator(self.random_state), watch)

    def _store(self, fit: Fit) -> Self:
        self.embedder_ = fit.embedder
        self.targets_ = fit.targets
        self.metric_ = fit.metric
        step = self.metric_step_ = fit.metric_step
        self.metric_selection_ = fit.metric_selection
        self.n_components_ = fit.targets.shape[1] if step is None else step.n_components
        self.selection_ = fit.selection
        self.history_ = fit.history
        self.timing_ = fit.timing
        self._forget_threshold()
        return self
