"""What `twofold fit` writes: a learner, how rows become its features, and how a pair is decided.

The folder is the learner's own, which `twofold.load` opens, with `prepared.json` and a folder for
each further part beside it. Reading it runs nothing.
"""

from __future__ import annotations

import hashlib
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
from twofold.matching import PairClassifier
from twofold.preparation import ImagePreparation, TablePreparation

PREPARED, FORMAT, FORMAT_VERSION = "prepared.json", "twofold-prepared", 1
PREPARATION, PAIR_MODEL = "preparation", "pair_model"
LARGEST_THRESHOLD = 1e30
"""Of a similarity: float32 ends at 1e38."""
Source = Literal["table", "images", "features"]
Preparation = TablePreparation | ImagePreparation
KINDS: dict[Source, type[TablePreparation] | type[ImagePreparation] | None] = {
    "table": TablePreparation,
    "images": ImagePreparation,
    "features": None,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """From when on a pair is called alike.

    Attributes
    ----------
    by : {"embedding", "pair model"}
        What the threshold is compared with: the similarity of two points, or the probability that
        the pair model gives.
    threshold : float or None
        None where nothing was said that a threshold could be chosen on, as of triplets.
    """

    by: Literal["embedding", "pair model"]
    threshold: float | None

    def threshold_or(self, asked: float | None, model: Path) -> float:
        """Return the threshold that a user asked for, else the one that was chosen by fitting."""
        if asked is not None and not math.isfinite(asked):
            raise ValueError(f"--threshold must be a finite number, got {asked}.")
        threshold = self.threshold if asked is None else asked
        if threshold is None:
            raise ValueError(
                f"{model} has no threshold, from which on a pair is alike: add --threshold."
            )
        return threshold


@dataclass(frozen=True, slots=True, eq=False)
class PreparedModel:
    """A fitted learner that takes rows as they stand in a user's files.

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
        For records, where held-out pairs prefer it to the embedding.
    """

    learner: EmbeddingLearner
    source: Source
    preparation: Preparation | None
    decision: Decision
    image_column: str | None = None
    pair_classifier: PairClassifier | None = None

    def check(self, records: Records) -> None:
        """Refuse rows of another kind, or without a column that was fitted on."""
        if self.source == "features":
            if records.features is None:
                raise ValueError(
                    f"This model was fitted on arrays of numbers, and {records.path} is no .npy or "
                    ".npz file."
                )
            n_fitted = getattr(self.learner, "n_features_in_", None)
            if n_fitted is not None and records.features.shape[1] != n_fitted:
                raise ValueError(
                    f"{records.path} is {shape_of(records.features)}, and the model was fitted on "
                    f"rows of {n_fitted}: take a file with the same features."
                )
            return
        if records.table is None:
            raise ValueError(
                f"This model was fitted on {'a table' if self.source == 'table' else 'images'}, "
                f"and {records.path} is an array of numbers."
            )
        records.require(self._columns)

    @property
    def _columns(self) -> list[str]:
        """The columns of a table that are needed."""
        if isinstance(self.preparation, ImagePreparation):
            return [self.image_column or "image"]
        assert self.preparation is not None
        fitted = [plan.name for plan in self.preparation.columns_ if plan.n_features]
        compared = () if self.pair_classifier is None else self.pair_classifier.comparison_.columns
        return list(dict.fromkeys([*fitted, *compared]))

    def features(self, records: Records) -> Any:
        """Return the features of rows, for the learner."""
        self.check(records)
        if self.preparation is None:
            return records.features
        if self.source == "images":
            return self.preparation.transform(records.image_paths(self.image_column or "image"))
        return self.preparation.transform(records.table)

    def embed(self, records: Records) -> NDArray[np.float32]:
        """Return the points of rows, shape (n_items, n_components)."""
        return self.learner.transform(self.features(records))

    def pair_scores(
        self, left: Records, right: Records, pairs: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return what the threshold is compared with, for pairs of rows of two tables."""
        if self.pair_classifier is not None:
            proba = self.pair_classifier.predict_proba(
                pairs, records=left.table, right_records=None if right is left else right.table
            )
            return np.asarray(proba[:, 1], dtype=np.float64)
        points = self.embed(left)
        others = points if right is left else self.embed(right)
        both = np.concatenate([points, others])
        similarity = pair_similarity(
            both, pairs[:, 0], pairs[:, 1] + len(points), self.learner.metric_
        )
        return similarity.astype(np.float64)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model to a folder, whole or not at all; return the folder."""
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
                "sha256": _digests(place),
            }
            text = json.dumps(card, indent=2, allow_nan=False) + "\n"
            (place / PREPARED).write_text(text, encoding="utf-8")
        return Path(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, device: str = "auto") -> PreparedModel:
        """Read a model that `twofold fit` wrote; nothing in the folder is run."""
        place = Path(folder)
        learner = load(place, device=device)
        file = place / PREPARED
        if not file.is_file():
            return cls(learner, "features", None, Decision("embedding", _threshold(learner)))
        card = read_json_file(file)
        _check_card(file, card)
        _check_digests(place, card["sha256"])
        with damage_said(place, "what prepares its rows"):
            kind = KINDS[card["source"]]
            preparation = (
                None if kind is None else kind.open(card["preparation"], place / PREPARATION)
            )
            classifier = None
            if card["pair_model"] is not None:
                classifier = PairClassifier.open(card["pair_model"], place / PAIR_MODEL)
                if classifier.n_given_:
                    raise ValueError("its pair model asks for similarities of one's own")
            _refuse_other_widths(file, learner, preparation)
            decision = Decision(**card["decision"])
        return cls(learner, card["source"], preparation, decision, card["image_column"], classifier)


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


def _digests(place: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the further parts, by its path in the model's folder."""
    return {
        file.relative_to(place).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for part in (PREPARATION, PAIR_MODEL)
        for file in sorted((place / part).glob("*"))
        if file.is_file()
    }


def _check_digests(place: Path, noted: dict[str, Any]) -> None:
    there = _digests(place)
    names = sorted(noted.keys() | there.keys())
    changed = next((name for name in names if noted.get(name) != there.get(name)), None)
    if changed is not None:
        what = "is not there" if changed not in there else "is not as it was saved"
        raise ValueError(
            f"{place} is damaged or was changed: {changed[:80]!r} {what}. Get the model "
            "again, or fit it again."
        )


def _refuse_other_widths(
    file: Path, learner: EmbeddingLearner, preparation: Preparation | None
) -> None:
    """Refuse features of which the learner does not take as many."""
    n_taken = getattr(learner, "n_features_in_", None)
    n_made = getattr(preparation, "n_features_out_", n_taken)
    if n_made != n_taken:
        raise ValueError(
            f"{file} is damaged: it makes {n_made} features, and the model takes {n_taken}. Fit it "
            "again."
        )


def _check_card(file: Path, card: Any) -> None:
    """Refuse a description that is not whole."""
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{file} is damaged: it does not say {FORMAT!r}.")
    if card.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{file} has format version {card.get('format_version')!r}, and this Twofold reads "
            f"version {FORMAT_VERSION}: fit the model again, or update Twofold."
        )
    keys = {"source", "image_column", "decision", "preparation", "pair_model", "sha256"}
    missing = sorted(keys - card.keys())
    if missing:
        raise ValueError(f"{file} is damaged: it lacks {', '.join(missing)}.")
    decision = card["decision"]
    is_whole = (
        isinstance(card["source"], str)
        and card["source"] in KINDS
        and isinstance(card["image_column"], str | None)
        and isinstance(decision, dict)
        and decision.keys() == {"by", "threshold"}
        and decision["by"] in ("embedding", "pair model")
        and isinstance(decision["threshold"], float | int | None)
        and not isinstance(decision["threshold"], bool)
        # JSON has no infinity, but 1e999 is read as one.
        and (decision["threshold"] is None or abs(decision["threshold"]) <= LARGEST_THRESHOLD)
        and isinstance(card["pair_model"], dict | None)
        and (card["pair_model"] is None) == (decision["by"] == "embedding")
        and isinstance(card["sha256"], dict)
        and isinstance(card["preparation"], dict) == (card["source"] != "features")
    )
    if not is_whole:
        raise ValueError(f"{file} is damaged: its entries do not fit together. Fit it again.")
