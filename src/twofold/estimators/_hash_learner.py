"""`HashLearner`: codes of bits, learnt in two steps as embeddings are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from twofold._core.bits import pack_signs
from twofold._core.checks import check_count, check_share
from twofold._core.devices import resolve_device
from twofold._core.progress import Reporter
from twofold._core.random import RandomState, as_generator
from twofold.estimators._code_fitting import BitFitting
from twofold.estimators._code_learner import CodeLearner
from twofold.estimators._together import refuse_different_data
from twofold.regression import (
    MILD,
    STRONG,
    TrainingConfig,
    as_network,
    check_features,
    checkpoint_path,
    epoch_callback,
    is_network,
    resolve_network,
    survives_fork,
    workers,
)
from twofold.relations import LabelRelation, Relation, as_relation, is_classes
from twofold.targets import solve_codes


class HashLearner(CodeLearner):
    """Learn codes of bits in which alike items differ little, without training on pairs.

    Phase 1 gives every training item a code of bits from the labels or statements alone (see
    `twofold.targets.solve_codes`); phase 2 predicts the bits from the features. Bits of labels that
    are predicted as probabilities are rounded together, so that an item that may be of two kinds
    stays near both. Of more than 512 different label vectors, with 5,000 labelled items or more, a
    network's bits are refitted to the labels (see `twofold.targets.refine_bits`). A code of 64 bits
    takes 8 bytes, while 64 numbers take 256, and codes are compared by counting the bits that
    differ: search them with ``NeighbourIndex("hamming")``.

    Parameters
    ----------
    n_bits : int
        Number of bits of a code, which takes ⌈n_bits / 8⌉ bytes.
    embedder : "auto", "trees", Network, its architecture, or a scikit-learn estimator
        What predicts the bits. "auto" is ``Network("mlp")``, with one output per bit, trained by
        the likelihood of codes if classes share them, otherwise by squared error. A classifier is
        cloned for each bit, and the clones are fitted in parallel on all cores, where an item's
        weight is how much the loss of its pairs would grow with the other bit; "trees" is LightGBM
        (extra ``lightgbm``). A regressor predicts numbers whose signs are the bits.
    validation_fraction : float
        Share of the items used to select a network's best epoch; 0 keeps the last.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where a network is trained and runs.
    random_state : int, Generator or None
        On a CPU the same seed, arrays and machine give the same codes.
    verbose : bool
        Whether progress is logged, by the logger "twofold".

    Attributes
    ----------
    codes_ : ndarray of uint8, shape (n_items, ⌈n_bits / 8⌉)
        Phase 1's codes of the training items; items in no statement have no bit set. They cannot
        be compared with the codes of `transform`, whose bits may be different ones: search among
        the codes that `transform` returns for the same items.
    embedder_ : NetworkEmbedder, RegressorEmbedder or BitClassifiers
        From features to numbers whose signs are the bits.
    n_components_ : int
        Number of bits of a code.
    metric_ : "hamming"
        Codes are compared by how many bits differ; a similarity is minus that number.
    threshold_ : float
        Set by `calibrate_threshold`, as a similarity: with -6.0, items are called alike if they
        differ in at most six bits.
    history_ : dict
        "codes" (phase 1's losses), and for a network "regression", "validation" and "best_epoch".
    timing_ : dict
        Seconds of the phases, "targets" and "regression".
    n_features_in_ : int
        Features seen by `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = HashLearner(16, random_state=0).fit(X, y)
    >>> learner.transform(X).shape
    (150, 2)
    >>> learner.score(X, y) > 0.95
    True
    """

    codes_: NDArray[np.uint8]
    history_: dict[str, Any]
    timing_: dict[str, float]

    def __init__(
        self,
        n_bits: int = 64,
        *,
        embedder: Any = "auto",
        validation_fraction: float = 0.0,
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.embedder = embedder
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @survives_fork
    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from any relation over the rows of `X`; see `MetricLearner.fit`.

        Items with several labels are graded by the share of labels they have in common, unless a
        `relation` says otherwise.
        """
        n_bits = check_count("n_bits", self.n_bits)
        self.check_embedder()
        X = check_features(self, X, reset=True)
        known = as_relation(type(self).__name__, X, y, relation, "jaccard")
        fitting = self._fitting(known)
        refuse_different_data(X, known, fitting.device)
        solution = workers(fitting.device).once(
            lambda: solve_codes(known, n_bits, random_state=fitting.rng), fitting.rng
        )
        linked = known.known if isinstance(known, LabelRelation) else known.linked
        fit = fitting.fit(X, solution, known, np.flatnonzero(linked))
        codes = pack_signs(solution.codes)
        codes[~linked] = 0
        self.codes_, self.embedder_ = codes, fit.embedder
        self.n_components_, self.metric_ = n_bits, "hamming"
        self.history_ = {"codes": solution.history.tolist()}
        if fit.history is not None:
            self.history_ |= {
                "regression": fit.history.loss,
                "validation": fit.history.validation_loss,
                "best_epoch": fit.history.best_epoch,
            }
        self.timing_ = {"targets": solution.seconds, "regression": fit.seconds}
        self._forget_threshold()
        return self

    def _fitting(self, relation: Relation) -> BitFitting:
        embedder: TrainingConfig | Any = self.embedder
        if is_network(embedder):
            mild = is_classes(relation)
            place = resolve_device(self.device)
            embedder = resolve_network(as_network(embedder), MILD if mild else STRONG, place)
        return BitFitting(
            embedder,
            as_generator(self.random_state),
            check_share("validation_fraction", self.validation_fraction),
            epoch_callback(Reporter(self.verbose), self.embedder),
            checkpoint_path(self.embedder, self.random_state),
        )
