"""What a learner was fitted to: kept beside it, extended by updates, saved so that work goes on."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from torch.utils.data import Dataset

from twofold.regression import append_rows, n_rows
from twofold.relations import PairRelation, Statements, TripletRelation, refuse_one_sided

FEATURES, SPARSE_FEATURES, STATEMENTS = "features.npy", "features.npz", "statements.npz"


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Features, statements about their rows, and the targets that came of them.

    Attributes
    ----------
    X : n_items rows
        Features, checked.
    relation : PairRelation or TripletRelation
        Statements about their rows.
    targets : ndarray of float32, shape (n_items, dim)
        NaN for items in no statement.
    """

    X: Any
    relation: Statements
    targets: NDArray[np.float32]

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
        return TrainingData(X, known, self.targets)

    def save(self, folder: Path) -> None:
        """Write the data into a folder."""
        if sparse.issparse(self.X):
            sparse.save_npz(folder / SPARSE_FEATURES, sparse.csr_array(self.X))
        else:
            np.save(folder / FEATURES, _as_array(self.X), allow_pickle=False)
        relation = self.relation
        names = ["left", "right", "similar"]
        if isinstance(relation, TripletRelation):
            names = ["anchor", "positive", "negative"]
        elif relation.weight is not None:
            names.append("weight")
        arrays = {name: getattr(relation, name) for name in names}
        np.savez(folder / STATEMENTS, n_items=relation.n_items, targets=self.targets, **arrays)

    @classmethod
    def open(cls, folder: Path) -> TrainingData:
        """Read what `save` wrote."""
        try:
            if (folder / SPARSE_FEATURES).exists():
                X: Any = sparse.csr_array(sparse.load_npz(folder / SPARSE_FEATURES))
            else:
                X = np.load(folder / FEATURES, allow_pickle=False)
            with np.load(folder / STATEMENTS, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            targets, n_items = arrays.pop("targets"), int(arrays.pop("n_items"))
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(f"The training data in {folder} cannot be read: {error}.") from error
        kind = TripletRelation if "anchor" in arrays else PairRelation
        return cls(X, kind(**arrays, n_items=n_items), targets)


def _refuse_other_statements(new: Statements, known: Statements, n_items: int) -> None:
    if type(new) is not type(known):
        raise TypeError(
            f"relation must be a {type(known).__name__}, as it was in fit, got "
            f"{type(new).__name__}."
        )
    if new.n_items > n_items:
        raise ValueError(
            f"The relation is about {new.n_items} items, but there are {n_items} rows: those of "
            "fit and those of X_new."
        )


def _as_array(X: Any) -> NDArray[Any]:
    """Return features as one array, or say why they cannot be saved."""
    if isinstance(X, Dataset):
        raise TypeError(
            "with_data=True saves arrays; this model was fitted to a torch Dataset, which stays "
            "where it is. Save without it, and fit again to go on."
        )
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            "with_data=True saves numbers; this model was fitted to columns of other types "
            f"({array.dtype}). Save without it, and fit again to go on."
        )
    return array
