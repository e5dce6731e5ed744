"""`Engine`: from answers to what to ask next, and how good it is; no server, store or process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import RelationWarning, unsaid
from twofold.ask._given import GivenPoints
from twofold.ask._making import Scene, make_questions
from twofold.ask._presumed import Presumed, Statement
from twofold.ask._questions import Answer
from twofold.ask._snapshot import Review, Snapshot
from twofold.ask._tally import Pair, Tally, in_order, tally
from twofold.ask._testing import Tests
from twofold.asking import Askable, calibrate_similarity, first_guess
from twofold.estimators import MetricLearner
from twofold.evaluation import Metric, SimilarityCalibration
from twofold.regression import equal_rows
from twofold.relations import PairRelation

N_QUESTIONS = 120
"""Made ahead: more than a person answers while the next ones are made, on a busy machine too."""

N_FOLDS = 3
"""That the calibration is made by: it only orders questions and says what to guess."""


class Engine:
    """Learns from answers and makes questions ahead.

    Deterministic for a seed and a sequence of calls. Nothing is kept but what was learnt last, so
    that all answers are passed each time: those that were taken back are simply missing.

    Parameters
    ----------
    features : array of shape (n_items, n_features) or (n_items, c, h, w), or sparse matrix
        Of all items.
    n_left : int, optional
        Of two tables: the first so many rows are the left one, and only pairs between the tables
        are asked about.
    embedder : "auto", Network or regressor
        See `MetricLearner`.
    nines : bool
        Whether one item may be asked about beside nine others.
    random_state : int
        Seed of everything.
    """

    def __init__(
        self,
        features: Any,
        *,
        n_left: int | None = None,
        embedder: Any = "auto",
        nines: bool = True,
        random_state: int = 0,
    ) -> None:
        self._features, self._seed, self._nines = features, random_state, nines
        self._embedder = embedder
        self._given = GivenPoints(features)
        self._askable = Askable(self._given.n_items, n_left)
        self._group = equal_rows(features)
        self._unit = self._given.is_sparse
        self._tests = Tests(self._given.points(self._unit), self._askable, random_state)
        self._presumed = Presumed(self._given.points(self._unit), self._askable, random_state)
        self._learner: MetricLearner | None = None
        self._stated: dict[Pair, Statement] = {}

    def learn(self, answers: Sequence[Answer]) -> Snapshot:
        """Return what all answers that stand at present come to.

        Of several answers about one pair the majority counts; a pair with a tie is left out. With
        too few answers, or of one kind only, the snapshot is of the features as given.

        Parameters
        ----------
        answers : sequence of Answer
            All of them, but for those that were taken back.
        """
        counted = tally(answers)
        rng = np.random.default_rng([self._seed, len(answers)])
        self._learn_from(counted)
        points, metric = self._points()
        calibration = self._calibrate(counted, points, metric, rng)
        scene = Scene(points, metric, calibration, self._askable, self._group, counted)
        tests = self._tests.upcoming(N_QUESTIONS // 3, counted.asked)
        return Snapshot(
            points,
            metric,
            len(answers),
            make_questions(scene, tests, N_QUESTIONS, self._nines, rng),
            self._tests.quality(counted, points, metric, rng),
            self._learner,
            calibration,
        )

    def inspect(self, answers: Sequence[Answer]) -> Review:
        """Return what is only looked at now and then: how good the features are, and suspects.

        Takes about as long as `learn`, which has to have been called with the same answers.
        """
        rng = np.random.default_rng([self._seed, len(answers)])
        features = self._given.points(self._unit)
        quality = self._tests.quality(tally(answers), features, "euclidean", rng)
        if self._learner is None:
            return Review(quality, {})
        with unsaid(RelationWarning):
            pairs = self._learner.suspicious_pairs(random_state=rng)
        columns = (pairs.left.tolist(), pairs.right.tolist(), pairs.suspicion.tolist())
        suspicion = {in_order(a, b): value for a, b, value in zip(*columns, strict=True)}
        return Review(quality, suspicion)

    def _learn_from(self, counted: Tally) -> None:
        """Fit, or update, the learner to what the answers state, if that is of both kinds."""
        said = {pair: same for pair, same in counted.learnt.items() if self._tells(pair)}
        n_unlike = len(said) - sum(said.values())
        if n_unlike in (0, len(said)):
            self._learner, self._stated = None, {}
            return
        stated = {pair: (same, 1.0) for pair, same in said.items()}
        stated |= self._presumed.unlike(counted.asked, n_unlike)
        if stated == self._stated:
            return
        with unsaid(RelationWarning):  # that the features are best as given is no news here
            if self._learner is None:
                learner = MetricLearner(embedder=self._embedder, random_state=self._seed)
                self._learner = learner.fit(self._features, relation=self._relation(stated))
            else:
                self._update(stated)
        self._stated = stated

    def _update(self, stated: dict[Pair, Statement]) -> None:
        old = self._stated
        withdrawn = [pair for pair, what in old.items() if stated.get(pair) != what]
        new = {pair: what for pair, what in stated.items() if old.get(pair) != what}
        if len(withdrawn) == len(old):  # nothing remains to go on from
            learner = MetricLearner(embedder=self._embedder, random_state=self._seed)
            self._learner = learner.fit(self._features, relation=self._relation(stated))
            return
        assert self._learner is not None
        self._learner.update(
            self._relation(new) if new else None, withdrawn=withdrawn if withdrawn else None
        )

    def _tells(self, pair: Pair) -> bool:
        """Whether a pair is of items with different features: others can teach nothing."""
        return bool(self._group[pair[0]] != self._group[pair[1]])

    def _relation(self, stated: dict[Pair, Statement]) -> PairRelation:
        pairs = np.array([*stated], dtype=np.int64)
        same, weight = zip(*stated.values(), strict=True)
        return PairRelation.from_pairs(pairs, same, self._askable.n_items, weight)

    def _points(self) -> tuple[NDArray[np.float32], Metric]:
        """Return the points of all items, and how they are compared."""
        learner = self._learner
        if learner is None:
            return self._given.points(self._unit), "euclidean"
        if self._keeps_features():
            return self._given.points(learner.metric_ == "cosine"), "euclidean"
        return learner.transform(self._features), learner.metric_

    def _keeps_features(self) -> bool:
        """Whether the learner found nothing better than the features as given."""
        selection = None if self._learner is None else self._learner.selection_
        return selection is not None and selection.candidate == "features as given"

    def _calibrate(
        self,
        counted: Tally,
        points: NDArray[np.float32],
        metric: Metric,
        rng: np.random.Generator,
    ) -> SimilarityCalibration:
        if self._learner is None:
            said = {pair: (same, 1.0) for pair, same in counted.learnt.items()}
            known = self._relation(said) if said else None
            return first_guess(points, self._askable, known, rng)
        if self._keeps_features():
            return calibrate_similarity(self._relation(self._stated), points, metric, None, rng)
        with unsaid(RelationWarning):
            return self._learner.calibrate_similarity(points, rng, n_folds=N_FOLDS)
