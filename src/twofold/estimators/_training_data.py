"""A learner's training data: kept with it, extended by updates, saved to continue later."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold.feedback import Projections
from twofold.regression import (
    DATA_ERRORS,
    append_rows,
    load_features,
    n_rows,
    refuse_other_rows,
    save_features,
)
from twofold.relations import Statements, refuse_one_sided, statement_arrays, statements_of

STATEMENTS = "statements.npz"


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Features, statements about their rows, and their targets: NaN for rows in no statement.

    `projections` are those of the features that were made before.
    """

    X: Any
    relation: Statements
    targets: NDArray[np.float32]
    projections: Projections = field(default_factory=Projections)

    def extended(
        self, relation: Statements | None, X_new: Any, withdrawn: ArrayLike | None
    ) -> TrainingData:
        """Return the same with statements and rows added, and statements taken back."""
        if relation is None and withdrawn is None:
            raise ValueError("There is nothing to update: pass relation, withdrawn, or both.")
        X = self.X if X_new is None else append_rows(self.X, X_new)
        known = self.relation if withdrawn is None else self.relation.without(withdrawn)
        if relation is not None:
            _refuse_other_statements(relation, known, n_rows(X))
            known = known.merge(relation)  # type: ignore[arg-type]
        known = known.over(n_rows(X))
        refuse_one_sided(known)
        same = self.projections if X_new is None else Projections()
        return TrainingData(X, known, self.targets, same)

    def save(self, folder: Path) -> None:
        """Write the data into a folder."""
        save_features(self.X, folder)
        np.savez(folder / STATEMENTS, targets=self.targets, **statement_arrays(self.relation))

    @classmethod
    def open(cls, folder: Path, n_features: int | None) -> TrainingData:
        """Read what `save` wrote."""
        try:
            X = load_features(folder)
            # Opened here: NumPy leaves the file open where it is of a later version.
            with (folder / STATEMENTS).open("rb") as file, np.load(file) as archive:
                arrays = {name: archive[name] for name in archive.files}
            targets, relation = arrays.pop("targets"), statements_of(arrays)
            refuse_other_rows(X, n_features, relation.n_items, targets)
            return cls(X, relation, targets)
        except DATA_ERRORS as error:
            raise ValueError(f"The training data in {folder} cannot be read: {error}.") from error


def _refuse_other_statements(new: Statements, known: Statements, n_items: int) -> None:
    if type(new) is not type(known):
        raise TypeError(
            f"relation must be a {type(known).__name__}, as it was in fit, got "
            f"{type(new).__name__}."
        )
    if new.n_items > n_items:
        raise ValueError(
            f"The relation is about {new.n_items} items, but there are {n_items} rows, those of "
            "fit and of X_new together."
        )
