"""The regular simplex: as many points as there are, all equally far apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from twofold._core.checks import check_count


def simplex_vertices(n_vertices: int) -> NDArray[np.float32]:
    """Return the vertices of a regular simplex about the origin, all at a distance of 1.

    They are the one-hot vectors, projected on the space in which components sum to 0 and divided
    by √2.

    Parameters
    ----------
    n_vertices : int
        At least 2.

    Returns
    -------
    vertices : ndarray of float32, shape (n_vertices, n_vertices − 1)
    """
    check_count("n_vertices", n_vertices, minimum=2)
    return np.ascontiguousarray(helmert(n_vertices).T / np.sqrt(2), dtype=np.float32)
