"""A map after a network's outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from twofold.regression import NetworkEmbedder, OutputScale, with_bit_layer

RNG = np.random.default_rng
X = RNG(0).standard_normal((9, 3)).astype(np.float32)
MATRIX, OFFSET = RNG(1).standard_normal((4, 6)), RNG(2).standard_normal(6)


def embedder(scale: OutputScale | None) -> NetworkEmbedder:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(3, 4)).eval()
    return NetworkEmbedder(network, (3,), "cpu", "mlp", scale, n_views=1)


@pytest.mark.parametrize("scale", [None, OutputScale(np.arange(4, dtype=np.float32), 2.5)])
@pytest.mark.parametrize("offset", [None, OFFSET])
def test_points_are_those_of_the_network_times_the_matrix_and_moved(scale, offset):
    given = embedder(scale)
    before = given.predict(X)
    wanted = before @ MATRIX + (0 if offset is None else offset)
    np.testing.assert_allclose(with_bit_layer(given, MATRIX, offset).predict(X), wanted, atol=1e-5)
    np.testing.assert_array_equal(given.predict(X), before)  # left as it is


def test_what_is_known_of_the_network_is_kept():
    mapped = with_bit_layer(embedder(None), MATRIX)
    assert (mapped.name, mapped.input_shape, mapped.output_scale) == ("mlp", (3,), None)
    several = embedder(None)
    several.n_views = 2
    assert with_bit_layer(several, MATRIX).n_views == 2
