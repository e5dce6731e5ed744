"""What `twofold fit` writes: a learner, how rows become its features, and how a pair is decided.

The folder is the learner's own, which `twofold.load` opens, with `prepared.json` and a folder for
each further part beside it. Reading it runs nothing.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_folder
from twofold._core.model_card import CARD, damage_said, read_json_file
from twofold.datasets import Records
from twofold.estimators import EmbeddingLearner, load
from twofold.evaluation import pair_similarity
from twofold.matching import EMBEDDING_NAMES, GIVEN, PairClassifier, embedding_evidence
from twofold.preparation import ImagePreparation, TablePreparation
from twofold.tasks._prepared_card import (
    FORMAT,
    FORMAT_VERSION,
    PAIR_MODEL,
    PREPARATION,
    PREPARED,
    Source,
    check_card,
    check_digests,
    file_digests,
)

Points = NDArray[np.float32]
Preparation = TablePreparation | ImagePreparation
KINDS: dict[Source, type[TablePreparation] | type[ImagePreparation] | None] = {
    "table": TablePreparation,
    "images": ImagePreparation,
    "features": None,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """When a pair is called alike.

    Attributes
    ----------
    by : {"embedding", "pair model"}
        What the threshold is compared with: the similarity of two points, or the probability that
        the pair model gives.
    threshold : float or None
        None if there were no statements to choose it on, as with triplets.
    """

    by: Literal["embedding", "pair model"]
    threshold: float | None

    def threshold_or(self, asked: float | None, model: Path) -> float:
        """Return the threshold that the user asked for, otherwise the one from fitting."""
        if asked is not None and not math.isfinite(asked):
            raise ValueError(f"--threshold must be a finite number, got {asked}.")
        threshold = self.threshold if asked is None else asked
        if threshold is None:
            raise ValueError(
                f"{model} has no threshold for when a pair is alike: add --threshold, or fit it "
                "again with pairs to choose one on."
            )
        return threshold


@dataclass(frozen=True, slots=True, eq=False)
class PreparedModel:
    """A fitted learner that takes rows as they are in your files.

    Attributes
    ----------
    learner : EmbeddingLearner
        From features to points.
    source : {"table", "images", "features"}
        What it was fitted on.
    preparation : TablePreparation, ImagePreparation or None
        From rows to features; None where the files hold features.
    decision : Decision
        How a pair is decided.
    image_column : str or None
        The column of a table that names the images.
    pair_classifier : PairClassifier or None
        For records, if it is better than the embedding on held-out pairs.
    embedding_scale : float or None
        What the embedding's similarity is divided by for the pair model, if that uses it.
    """

    learner: EmbeddingLearner
    source: Source
    preparation: Preparation | None
    decision: Decision
    image_column: str | None = None
    pair_classifier: PairClassifier | None = None
    embedding_scale: float | None = None

    def check(self, records: Records) -> None:
        """Refuse rows of another kind, or without a column that was used for fitting."""
        if self.source == "features":
            if records.features is None:
                raise ValueError(
                    f"This model was fitted on arrays of numbers, but {records.path} is not a "
                    ".npy or .npz file."
                )
            n_fitted = getattr(self.learner, "n_features_in_", None)
            if n_fitted is not None and records.features.shape[1] != n_fitted:
                raise ValueError(
                    f"{records.path} is {shape_of(records.features)}, but the model was fitted on "
                    f"rows of {n_fitted}: use a file with the same features."
                )
            return
        if records.table is None:
            raise ValueError(
                f"This model was fitted on {'a table' if self.source == 'table' else 'images'}, "
                f"but {records.path} is an array of numbers."
            )
        records.require(self.column_names, ", which the model was fitted on")

    @property
    def column_names(self) -> list[str]:
        """The columns that a table needs; none for a matrix."""
        if self.preparation is None:
            return []
        if isinstance(self.preparation, ImagePreparation):
            return [self.image_column or "image"]
        fitted = [plan.name for plan in self.preparation.columns_ if plan.n_features]
        compared = () if self.pair_classifier is None else self.pair_classifier.comparison_.columns
        return list(dict.fromkeys([*fitted, *compared]))

    def features(self, records: Records) -> Any:
        """Return the features of rows, for the learner."""
        self.check(records)
        if self.preparation is None:
            return records.features
        if isinstance(self.preparation, ImagePreparation):
            column = self.image_column or "image"
            contents = records.image_bytes(column)
            if contents is not None:
                return self.preparation.decode_bytes(contents)
            return self.preparation.transform(records.image_paths(column))
        return self.preparation.transform(records.table)

    def embed(self, records: Records) -> Points:
        """Return the points of rows, shape (n_items, n_components)."""
        return self.learner.transform(self.features(records))

    def embed_both(self, left: Records, right: Records) -> tuple[Points, Points]:
        """Return the points of the rows of two tables, which may be the same."""
        points = self.embed(left)
        return points, points if right is left else self.embed(right)

    def pair_scores(
        self,
        left: Records,
        right: Records,
        pairs: NDArray[np.int64],
        points: tuple[Points, Points] | None = None,
    ) -> NDArray[np.float64]:
        """Return what the threshold is compared with, for pairs of rows of two tables.

        `points` are those of `embed_both`, if they are known already.
        """
        if self.pair_classifier is None:
            return self._similarity(pairs, points or self.embed_both(left, right))
        evidence = self._evidence(left, right, pairs, points)
        return np.asarray(self.pair_classifier.predict_proba(pairs, **evidence)[:, 1])

    def explain(
        self, left: Records, right: Records, pairs: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return what each column, and the embedding, adds to the log-odds of the pair model."""
        if self.pair_classifier is None:
            return {}
        told = self.pair_classifier.explain(pairs, **self._evidence(left, right, pairs, None))
        names = {GIVEN: "embedding"}
        return {names.get(name, name): added for name, added in told.items()}

    def _evidence(
        self,
        left: Records,
        right: Records,
        pairs: NDArray[np.int64],
        points: tuple[Points, Points] | None,
    ) -> dict[str, Any]:
        """Return what the pair model is given beside the pairs."""
        tables = {"records": left.table, "right_records": None if right is left else right.table}
        if self.embedding_scale is None:
            return tables
        one, other = points or self.embed_both(left, right)
        similarity = embedding_evidence(
            one,
            None if right is left else other,
            pairs,
            metric=self.learner.metric_,
            scale=self.embedding_scale,
        )
        return tables | {"similarity": similarity}

    def _similarity(
        self, pairs: NDArray[np.int64], points: tuple[Points, Points]
    ) -> NDArray[np.float64]:
        """Return the similarity of the points of pairs of rows."""
        right = pairs[:, 1] + len(points[0])
        both = np.concatenate(points)
        return pair_similarity(both, pairs[:, 0], right, self.learner.metric_).astype(np.float64)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Save the model to a folder, completely or not at all; return the folder."""
        with new_folder(folder, CARD) as place:
            self.learner.save(place)
            card = {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "source": self.source,
                "image_column": self.image_column,
                "decision": {"by": self.decision.by, "threshold": self.decision.threshold},
                "preparation": _save_part(self.preparation, place / PREPARATION),
                "pair_model": _save_part(self.pair_classifier, place / PAIR_MODEL),
                "embedding_scale": self.embedding_scale,
                "sha256": file_digests(place),
            }
            text = json.dumps(card, indent=2, allow_nan=False) + "\n"
            (place / PREPARED).write_text(text, encoding="utf-8")
        return Path(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, device: str = "auto") -> PreparedModel:
        """Open a model written by `twofold fit`; no code from the folder is run."""
        place = Path(folder)
        learner = load(place, device=device)
        file = place / PREPARED
        if not file.is_file():
            return cls(learner, "features", None, Decision("embedding", _threshold(learner)))
        card = read_json_file(file)
        check_card(file, card)
        check_digests(place, card["sha256"])
        with damage_said(place, "what prepares its rows"):
            kind = KINDS[card["source"]]
            preparation = (
                None if kind is None else kind.open(card["preparation"], place / PREPARATION)
            )
            classifier = None
            if card["pair_model"] is not None:
                classifier = PairClassifier.open(card["pair_model"], place / PAIR_MODEL)
            scale = card.get("embedding_scale")  # a model of before has none
            _refuse_other_similarities(classifier, scale)
            _refuse_other_widths(file, learner, preparation)
            decision = Decision(**card["decision"])
        return cls(
            learner, card["source"], preparation, decision, card["image_column"], classifier, scale
        )


def shape_of(features: Any) -> str:
    """Return how large a matrix is, in words."""
    return f"a matrix of {features.shape[0]:,} rows with {features.shape[1]:,} features"


def _threshold(learner: EmbeddingLearner) -> float | None:
    return getattr(learner, "threshold_", None)


def _save_part(part: Any, place: Path) -> dict[str, Any] | None:
    """Write a part of the model into a folder of its own; return its description."""
    if part is None:
        return None
    place.mkdir()
    description: dict[str, Any] = part.save(place)
    return description


def _refuse_other_widths(
    file: Path, learner: EmbeddingLearner, preparation: Preparation | None
) -> None:
    """Refuse features of which the learner does not take as many."""
    n_taken = getattr(learner, "n_features_in_", None)
    n_made = getattr(preparation, "n_features_out_", n_taken)
    if n_made != n_taken:
        raise ValueError(
            f"{file} is damaged: it makes {n_made} features, but the model takes {n_taken}. Fit "
            "it again."
        )


def _refuse_other_similarities(classifier: PairClassifier | None, scale: float | None) -> None:
    """Refuse a pair model that asks for more, or less, than the embedding's own similarity."""
    n_given = 0 if scale is None else len(EMBEDDING_NAMES)
    n_wanted = 0 if classifier is None else classifier.n_given_
    if n_wanted != n_given:
        raise ValueError(
            f"its pair model needs {n_wanted} similarities besides those of columns, but the "
            f"embedding gives {n_given}"
        )
