"""What every learner of codes shares: points whose signs are packed into bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from twofold._core.bits import pack_signs
from twofold.estimators._embedding_learner import EmbeddingLearner
from twofold.estimators._onnx_file import InputType, write_onnx
from twofold.estimators._pair_function import PairFunction
from twofold.regression import is_bit_classifier, survives_fork, trees


class CodeLearner(EmbeddingLearner):
    """Codes of `n_components_` bits, compared by the number of bits that differ."""

    @survives_fork
    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Return the codes of `X`.

        Parameters
        ----------
        X : array, memory-mapped array, sparse matrix or torch Dataset, n_items rows
            Features.

        Returns
        -------
        codes : ndarray of uint8, shape (n_items, ⌈n_bits / 8⌉)
            Bit r is ``np.unpackbits(codes, axis=1)[:, r]``: the first bit of a byte is its most
            significant, and unused bits of the last byte are 0. Compare them by `metric_`,
            "hamming".
        """
        check_is_fitted(self)
        return pack_signs(self._points(X))

    @survives_fork
    def bit_margins(self, X: Any) -> NDArray[np.float32]:
        """Return the numbers whose signs are the bits, float32 of shape (n_items, n_bits).

        A bit is set if its number is at least 0. Used as points, these numbers are better than the
        codes, at 32 times the memory: see `twofold.search.Rerank`.
        """
        check_is_fitted(self)
        return self._points(X)

    def get_metric(self) -> PairFunction:
        """Return the number of bits that differ as a function of two vectors of features."""
        check_is_fitted(self)
        source = self._point_source()
        return PairFunction(lambda X: pack_signs(self._embed(X)), self.metric_, source.shape)

    def to_onnx(self, path: str | os.PathLike[str], *, input_type: InputType = "float32") -> Path:
        """Write the codes as one ONNX file; see `MetricLearner.to_onnx`.

        Its output "points" is uint8 of shape (n_items, ⌈n_bits / 8⌉), as returned by `transform`:
        the file takes the signs and packs them.
        """
        check_is_fitted(self)
        return write_onnx(self.to_model(), path, input_type, self._has_unit_points)

    def check_embedder(self) -> None:
        """Refuse an `embedder` that cannot predict bits."""
        if not is_bit_classifier(self.embedder):
            super().check_embedder()
        elif isinstance(self.embedder, str):
            trees()  # says what to install

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return -(-self.n_components_ // 8)
