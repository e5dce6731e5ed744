"""The weighted relation of distinct label vectors on a GPU: the twin of `LabelMatrix`."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

HELD_SHARE = 0.4
"""The most of a device's free memory that the relation may take, while it is made twice that."""


class TorchLabelMatrix:
    """diag(w) R diag(w) as one dense matrix; see `LabelMatrix` for the parameters."""

    def __init__(
        self,
        indicator: sparse.csr_array,
        counts: NDArray[np.float64],
        grade: Literal["overlap", "jaccard"],
        device: str,
    ) -> None:
        self.device = device
        labels = torch.from_numpy(indicator.toarray()).to(device)
        roots = torch.from_numpy(np.sqrt(counts).astype(np.float32)).to(device)
        shared = labels @ labels.T
        if grade == "overlap":
            relation = shared.clamp_(max=1)
        else:
            sizes = labels.sum(dim=1)
            relation = shared / (sizes[:, None] + sizes[None] - shared)
        self._matrix = relation.mul_(roots[:, None]).mul_(roots)

    @staticmethod
    def fits(n: int, device: str) -> bool:
        """Whether a device has room for n label vectors."""
        return 4 * n**2 <= HELD_SHARE * torch.cuda.mem_get_info(torch.device(device))[0]

    @property
    def n(self) -> int:
        """Number of rows and of columns."""
        return len(self._matrix)

    def block(self, columns: NDArray[np.float32]) -> Tensor:
        """Return columns as what it multiplies."""
        return torch.from_numpy(columns).to(self._matrix.device)

    def __matmul__(self, other: Tensor) -> Tensor:
        """Multiply by a matrix of shape (n, m)."""
        return self._matrix @ other

    def sum_of_squares(self) -> float:
        """Return the sum of the squares of all entries."""
        rows = torch.linalg.vector_norm(self._matrix, dim=1)
        return float(rows.double().square().sum())

    def toarray(self) -> NDArray[np.float64]:
        """Return the whole matrix, for small ones."""
        whole: NDArray[np.float64] = self._matrix.double().cpu().numpy()
        return whole
