"""Networks that are trained once and used again: what is solved after a training is compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from scipy.sparse import issparse

from twofold.estimators._fitting import Fit, Fitting


@contextmanager
def remembering() -> Iterator[None]:
    """Have a fit of the same plan's network to the same rows give what the first one gave.

    The generator is left as the first one left it. Only for learners that differ in nothing but
    what comes after the training.
    """
    plain = Fitting.fit
    memory: dict[bytes, tuple[Fit, dict[str, Any]]] = {}

    def fit(self: Fitting, X: Any, relation: Any) -> Fit:
        parts = (X.data, X.indices, X.indptr) if issparse(X) else (X,)
        key = hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()
        if key not in memory:
            memory[key] = plain(self, X, relation), self.rng.bit_generator.state
        fitted, state = memory[key]
        self.rng.bit_generator.state = state
        return fitted

    with patch.object(Fitting, "fit", fit):
        yield
