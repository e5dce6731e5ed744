"""`MetricLearner`: the two phases as one scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from twofold._core.checks import check_choice, check_count
from twofold._core.devices import resolve_device
from twofold._core.random import RandomState, as_generator
from twofold.estimators._asking import Suggestions, suggest_from
from twofold.estimators._choice import Feedback
from twofold.estimators._embedding_learner import EmbeddingLearner
from twofold.estimators._fitting import fit_by_feedback, fit_once
from twofold.estimators._inputs import Relation, as_relation, check_features
from twofold.estimators._training_parameters import check_validation_fraction
from twofold.estimators._updating import update_learner
from twofold.regression import Epoch, Regression, refuse_unknown_embedder
from twofold.relations import (
    LabelRelation,
    PairRelation,
    TooFewPairsError,
    TripletRelation,
    is_transitive,
)
from twofold.targets import TargetSolution, gauge_targets, solve_targets

Loss = Literal["auto", "contrastive", "dot"]
Pairs = Literal["all", "sampled"]
Grade = Literal["auto", "overlap", "jaccard"]
DIM, LARGEST_DIM = 16, 256
GAUGING_SEED = 0
PAPER_TOL = 1e-5
PAPER_EPOCHS = 1000
"""A random start settles slowly: with the usual tolerance it stops half-way."""


class MetricLearner(EmbeddingLearner):
    """Learn an embedding in which the alike are close, without training on pairs.

    Phase 1 gives every training item a target vector from the labels or statements alone; phase 2
    is regression from features to targets. The defaults learn from the whole relation that labels
    state. ``MetricLearner(loss="contrastive", pairs="sampled", feedback=0)`` is the paper's FML-C,
    the same with ``loss="dot"`` its FML-DP.

    Parameters
    ----------
    dim : int or "auto"
        Components of the embedding. "auto" is 16, or as many as there are classes where these are
        more, up to 256: the dot product gives every class a direction of its own. With feedback,
        which starts from the features, it is their 32 leading directions or, where statements held
        out prefer it, all, up to 256.
    loss : {"auto", "dot", "contrastive"}
        What phase 1 minimises, and so how points are compared: by inner product or by distance.
        "auto" is distance with feedback, and else the inner product.
    pairs : {"all", "sampled"}
        Of labels: the whole relation, exactly where it has an exact solution; or `n_similar` and
        `n_dissimilar` partners an item, as in the paper.
    n_similar, n_dissimilar : int
        Partners an item that are sampled.
    grade : {"auto", "overlap", "jaccard"}
        How alike two items with several labels are: 1 if they share any, or the share of their
        labels that they have in common. "auto" is "jaccard" with ``pairs="all"`` and the dot
        product, which was best in every trial, and else "overlap", the paper's.
    margin : float
        How far apart the contrastive loss puts what is not alike. With feedback it multiplies what
        is far by the features themselves.
    embedder : "mlp", a name of the paper's networks, torch.nn.Module or scikit-learn regressor
        From features to targets. Names: "mlp" (two hidden layers, for vectors), "mnist",
        "cifar10", "pubfig83", "nuswide". A module is copied, keeps its weights, and must give
        `dim` outputs; a regressor is cloned. With feedback a map that is solved for is returned in
        its place where statements held out prefer that; "mlp" has to be better than it, what you
        bring only as good. `history_` says which.
    feedback : "auto" or int
        Rounds in which targets follow what is learnt, starting from the features: for pairs that
        are too few to decide the relation. 0 is the paper to the letter: targets once, from its
        random start. "auto" takes as many rounds as it needs for statements about single pairs,
        unless they decide a relation that is not transitive (see `gauge_targets`), and none for
        labels; phase 1 then starts from the relation's coarse shape.
    regression : {"auto", "squared", "likelihood"}
        How a network learns the targets: by squared error, the paper's way; or, where many items
        share a target, as those of one class do, by the likelihood of each target, the embedding
        being the expected one. Both aim at the same embedding; the second gets nearer. "auto" takes
        it for classes, unless they are sampled.
    max_epochs, batch_size, learning_rate : int, int, float
        Of a network's training: Adam with a warm-up and a cosine decay.
    weight_decay : float or "auto"
        Decoupled from the gradient, times the learning rate. "auto" is, for "mlp", 0.03 for
        classes and 1 for all else, and 0 for other networks.
    dropout : float or "auto"
        Of "mlp". "auto" is 0.2 for classes and 0.5 for all else: what several labels or single
        statements say of an item is less certain, and easier to learn by heart. With feedback both
        are as for classes: there the best round is chosen.
    validation_fraction : float
        Share of the items on which a network's best epoch is chosen; 0 keeps the last. With
        feedback the share of the statements that choose the round, a fifth if it is 0.
    flips : bool
        Whether training images are mirrored at random.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where both phases run.
    random_state : int, Generator or None
        On a CPU the same seed gives the same embedding.
    verbose : bool
        Whether the logger "twofold" tells of every epoch.
    callback : callable (Epoch), optional
        Called after every epoch of a network; returning True stops.
    checkpoint : path, optional
        A file that a network's training is kept in until it is done: a fit that was interrupted
        goes on from it when it is called again. Needs a seed as `random_state`.

    Attributes
    ----------
    targets_ : ndarray of float32, shape (n_items, dim)
        Phase 1's targets; NaN for items in no pair, which phase 2 leaves out.
    embedder_ : NetworkEmbedder or RegressorEmbedder
        The fitted regressor, from features to standardised targets.
    dim_ : int
        Components of the embedding.
    metric_ : {"dot", "euclidean"}
        How points are to be compared.
    threshold_ : float
        Set by `calibrate_threshold`, in terms of similarity.
    history_ : dict
        "targets" (phase 1's losses), "regression" and "validation" (phase 2's), "best_epoch". With
        feedback "regression" and "feedback": what was chosen ("way": "raw", "linear",
        "landmarks" or "embedder"), its "round", and how each way was "judged" by the
        statements held out, at the start and after each round.
    timing_ : dict
        Seconds of the phases, "targets" and "regression".
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
    _feedback: Feedback | None

    def __init__(
        self,
        dim: int | Literal["auto"] = "auto",
        *,
        loss: Loss = "auto",
        pairs: Pairs = "all",
        n_similar: int = 10,
        n_dissimilar: int = 10,
        grade: Grade = "auto",
        margin: float = 1.0,
        embedder: Any = "mlp",
        feedback: Literal["auto"] | int = "auto",
        regression: Literal["auto"] | Regression = "auto",
        max_epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 2e-3,
        weight_decay: float | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.0,
        flips: bool = False,
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callable[[Epoch], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.dim = dim
        self.loss = loss
        self.pairs = pairs
        self.n_similar = n_similar
        self.n_dissimilar = n_dissimilar
        self.grade = grade
        self.margin = margin
        self.embedder = embedder
        self.feedback = feedback
        self.regression = regression
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.validation_fraction = validation_fraction
        self.flips = flips
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

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
            In place of `y`.
        """
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("pairs", self.pairs, get_args(Pairs))
        check_choice("grade", self.grade, get_args(Grade))
        check_choice("regression", self.regression, ("auto", *get_args(Regression)))
        _check_feedback(self.feedback)
        check_validation_fraction(self.validation_fraction)
        refuse_unknown_embedder(self.embedder)
        X = check_features(self, X, reset=True)
        relation = as_relation(type(self).__name__, X, y, relation, self._grade())
        rng = as_generator(self.random_state)
        self._forget_threshold()
        if self._takes_feedback(relation):
            fit_by_feedback(self, X, relation, rng)
        else:
            fit_once(self, X, relation, rng)
        self._learnt_from = (X, relation)
        return self

    def update(
        self,
        relation: PairRelation | TripletRelation | None = None,
        X_new: Any = None,
        *,
        withdrawn: ArrayLike | None = None,
    ) -> Self:
        """Take in statements, and items, that arrive later, without fitting anew.

        Targets are solved again from where they are, and a network goes on from what it has learnt
        for a few short rounds; a map that was chosen by feedback is learnt again, and chosen anew
        once statements are half as many more; a regressor is fitted once more. A threshold has to
        be calibrated again.

        Parameters
        ----------
        relation : PairRelation or TripletRelation, optional
            New statements, of the kind that `fit` had. Items are rows of `fit`'s `X`, in their
            order, then those of earlier updates, then those of `X_new`.
        X_new : n_new rows, optional
            Features of new items.
        withdrawn : array_like of int, shape (n, 2), or (n, 3) for triplets, optional
            Pairs, or triplets, whose earlier statements are taken back.
        """
        check_is_fitted(self)
        update_learner(self, relation, X_new, withdrawn)
        return self

    def suggest_pairs(
        self,
        n: int,
        *,
        candidates: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        random_state: RandomState = None,
    ) -> Suggestions:
        """Say which pairs to ask about next: those whose answers would help most.

        Half of them are likely alike, if the pairs stated were drawn at random; none was stated
        before, nor follows from a statement about items with equal features. Items in some
        statement come first. What was learnt is learnt three times more, without some statements,
        to say how likely: that takes about as long as `fit`.

        Parameters
        ----------
        n : int
            How many; fewer are returned, with a warning, if there are fewer.
        candidates : array_like of int, shape (n_candidates, 2), or a pair of arrays, optional
            The pairs that may be asked about, as rows of what was learnt from: for instance pairs
            of records of two tables. By default any two rows.
        random_state : int, Generator or None
            Seed of the choice.

        Returns
        -------
        Suggestions
            `left`, `right` and the `probability` that they are alike, those likely alike first.
        """
        check_is_fitted(self)
        return suggest_from(self, n, candidates, as_generator(random_state))

    def _takes_feedback(self, relation: Relation) -> bool:
        """Whether the targets are to follow what is learnt.

        They need not where the statements decide the relation by themselves and it is not
        transitive: there inner products of targets, which features know nothing of, say more (scene
        with 20 pairs an item: AUROC .886 against .828). Of a transitive one they say less than
        what follows the features (digits with 16: .9985 against .9992).
        """
        if self.feedback != "auto":
            return self.feedback > 0
        if isinstance(relation, LabelRelation):
            return False
        if isinstance(relation, TripletRelation) or is_transitive(relation):
            return True
        try:
            return not gauge_targets(relation, random_state=GAUGING_SEED).decides
        except TooFewPairsError:
            return True

    def _pair_loss(self, by_feedback: bool = False) -> Literal["contrastive", "dot"]:
        if self.loss != "auto":
            return self.loss
        return "contrastive" if by_feedback else "dot"

    def _metric(self, relation: Relation, by_feedback: bool = False) -> Literal["euclidean", "dot"]:
        is_dot = self._pair_loss(by_feedback) == "dot" and not isinstance(relation, TripletRelation)
        return "dot" if is_dot else "euclidean"

    def __getstate__(self) -> dict[str, Any]:
        # What was learnt from stays with its owner: a pickle is the model.
        state: dict[str, Any] = super().__getstate__()
        return {name: state[name] for name in state if name not in ("_learnt_from", "_feedback")}

    def solve_targets(self, y: Any = None, *, relation: Relation | None = None) -> TargetSolution:
        """Solve phase 1 alone, which needs no features: see `fit`, which then regresses to it."""
        if (y is None) == (relation is None):
            raise ValueError("Pass y or relation, one of the two.")
        if relation is None:
            relation = LabelRelation(y, grade=self._grade())
        rng = as_generator(self.random_state)
        device = resolve_device(self.device)
        return self._place(relation, self._choose_dim(relation), device, rng)[0]

    def _place(
        self, relation: Relation, dim: int, device: str, rng: np.random.Generator
    ) -> tuple[TargetSolution, NDArray[np.bool_]]:
        """Solve phase 1; say which items it has placed, and did not just leave where they began."""
        if isinstance(relation, LabelRelation) and self.pairs == "sampled":
            relation = relation.sample_pairs(self.n_similar, self.n_dissimilar, random_state=rng)
        linked = relation.known if isinstance(relation, LabelRelation) else relation.linked
        solution = solve_targets(
            relation,
            dim,
            loss=self._pair_loss(),
            margin=self.margin,
            device=device,
            random_state=rng,
            **self._paper_s_start(relation),
        )
        return solution, linked

    def _paper_s_start(self, relation: Relation) -> dict[str, Any]:
        """Return what makes phase 1 the paper's: a random start, and patience until it settles."""
        if self.feedback != 0 or isinstance(relation, LabelRelation):
            return {}
        return {"init": "random", "tol": PAPER_TOL, "max_epochs": PAPER_EPOCHS}

    def _choose_dim(self, relation: Relation) -> int:
        if self.dim != "auto":
            return check_count("dim", self.dim)
        is_dot = self._pair_loss() == "dot"
        if is_dot and isinstance(relation, LabelRelation) and relation.is_partition:
            return min(max(DIM, relation.n_occurring), LARGEST_DIM)
        return DIM

    def _grade(self) -> Literal["overlap", "jaccard"]:
        if self.grade != "auto":
            return self.grade
        return "jaccard" if self.pairs == "all" and self.loss != "contrastive" else "overlap"


def _check_feedback(feedback: object) -> None:
    if feedback == "auto":
        return
    if isinstance(feedback, bool) or not isinstance(feedback, int | np.integer) or feedback < 0:
        raise ValueError(
            f"feedback must be 'auto' or a number of rounds, 0 for none, got {feedback!r}."
        )
