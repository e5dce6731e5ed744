"""What torchrun starts: `worker.py FOLDER` fits what processes fit together, and keeps it."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fits
import numpy as np

RANK = int(os.environ["RANK"])


def others_data() -> dict[str, Callable[[], Any]]:
    """Return fits in which the second process is given something else than the first."""
    X, y = fits.X, fits.Y
    part = slice(None, 200) if RANK else slice(None)
    order = np.random.default_rng(0).permutation(len(X)) if RANK else np.arange(len(X))
    embedder = fits.network(batch_size=32 if RANK else 64)
    return {
        "a part of the data": lambda: fits.learner(fits.network()).fit(X[part], y[part]),
        "another order": lambda: fits.learner(fits.network()).fit(X[order], y[order]),
        "other labels": lambda: fits.learner(fits.network()).fit(X, y[order]),
        "another batch size": lambda: fits.learner(embedder).fit(X, y),
    }


def said_of(fit: Callable[[], Any]) -> str:
    """Return the sentence in which a fit ends."""
    try:
        fit()
    except ValueError as error:
        return str(error)
    return "nothing"


def break_off(epoch: Any) -> None:
    """End a training, in the only process that calls back."""
    raise ValueError(f"enough after {epoch.number}")


def main() -> None:
    """Fit everything; a pickle holds what each fit came to."""
    every = [fits.own_network, fits.unseeded, fits.called_back]
    found: dict[str, Any] = {name: fit() for name, fit in fits.EQUAL.items()}
    found |= {fit.__name__: fit() for fit in every}
    found["sentences"] = {name: said_of(fit) for name, fit in others_data().items()}
    embedder = fits.network(callback=break_off)
    found["broken off"] = said_of(lambda: fits.learner(embedder).fit(fits.X, fits.Y))
    fitted = fits.fitted_to_pairs()
    if RANK == 0:
        found["suggested"] = len(fitted.suggest_pairs(3, random_state=0).left)
    (Path(sys.argv[1]) / f"{RANK}.pickle").write_bytes(pickle.dumps(found))


main()
