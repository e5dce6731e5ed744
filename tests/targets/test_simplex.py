"""The regular simplex by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.targets import simplex_vertices


@pytest.mark.parametrize("n_vertices", [2, 3, 10, 83])
def test_vertices_are_all_one_apart_and_about_the_origin(n_vertices):
    vertices = simplex_vertices(n_vertices)
    assert vertices.shape == (n_vertices, n_vertices - 1)
    assert vertices.dtype == np.float32
    distances = np.linalg.norm(vertices[:, None] - vertices, axis=2)
    np.testing.assert_allclose(distances, 1 - np.eye(n_vertices), atol=1e-6)
    np.testing.assert_allclose(vertices.sum(axis=0), 0, atol=1e-5)


def test_a_simplex_of_one_vertex_is_refused():
    with pytest.raises(ValueError, match="n_vertices must be at least 2, got 1"):
        simplex_vertices(1)
