"""What comes after a network's outputs, so that taking signs loses little."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from twofold.regression._joint_signs import JointSigns
from twofold.regression._network_embedder import NetworkEmbedder


class BitLayer(nn.Linear):
    """o ↦ (s · o + m) M + c: outputs in the targets' own coordinates, rotated or refitted."""


def with_bit_layer(
    embedder: NetworkEmbedder,
    matrix: NDArray[np.floating],
    offset: NDArray[np.floating] | None = None,
) -> NetworkEmbedder:
    """Return an embedder whose points are those of another, times a matrix, moved.

    Parameters
    ----------
    embedder : NetworkEmbedder
        Trained; left as it is.
    matrix : ndarray of float, shape (dim, n_bits)
        M.
    offset : ndarray of float, shape (n_bits,), optional
        c, added after it; 0 by default.
    """
    scale, dim = embedder.output_scale, matrix.shape[0]
    mean = np.zeros(dim, dtype=np.float32) if scale is None else scale.mean
    size = 1.0 if scale is None else float(scale.scale)
    bias = mean @ matrix + (0 if offset is None else offset)
    head = BitLayer(dim, matrix.shape[1])
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(np.asarray(size * matrix.T, dtype=np.float32)))
        head.bias.copy_(torch.from_numpy(np.asarray(bias, dtype=np.float32)))
    assert isinstance(embedder.network, nn.Sequential)
    network = nn.Sequential(*copy.deepcopy(embedder.network), head.to(embedder.device)).eval()
    return NetworkEmbedder(
        network, embedder.input_shape, embedder.device, embedder.name, None, embedder.n_views
    )


def with_joint_signs(embedder: NetworkEmbedder, agreement: NDArray[np.float32]) -> NetworkEmbedder:
    """Return an embedder of expected bits whose bits are rounded together; see `JointSigns`.

    Parameters
    ----------
    embedder : NetworkEmbedder
        Trained, of one view an item; left as it is.
    agreement : ndarray of float32, shape (n_bits, n_bits)
        Of the training items' codes, from `code_agreement`.
    """
    turned = with_bit_layer(embedder, np.eye(len(agreement)))
    assert isinstance(turned.network, nn.Sequential)
    turned.network.append(JointSigns(torch.from_numpy(agreement).to(embedder.device)))
    return turned
