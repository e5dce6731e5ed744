"""Gathering an item's gradient on a GPU, in Triton: the twin of the Numba sweeps.

One program an item reads its links and its partners' rows once, and writes one row; nothing the
size of the pairs is ever written.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from twofold.targets._losses import TINY

LINKS_AT_ONCE = 16
DOT = tl.constexpr(0)
DISTANCE = tl.constexpr(1)
SUM = tl.constexpr(2)


def gather(
    kind: Any,
    starts: Tensor,
    neighbour: Tensor,
    similar: Tensor,
    weight: Tensor | None,
    points: Tensor,
    margin: float,
) -> tuple[Tensor, Tensor]:
    """Sum over each item's links.

    Parameters
    ----------
    kind : DOT, DISTANCE or SUM
        The dot-product loss and its gradient, the contrastive loss and its gradient, or no loss
        and the partners' points times `similar`.
    starts, neighbour, similar, weight : Tensor
        Links by item, as `PairLinks` has them.
    points : Tensor of float32, shape (n_items, dim)
        Where the items are.
    margin : float
        Of the contrastive loss.

    Returns
    -------
    loss : Tensor of float32, shape (n_items,)
        Each item's, so that a pair is counted with both its items.
    rows : Tensor of float32, shape (n_items, dim)
        Gradients or sums.
    """
    n_items, dim = points.shape
    points = points.contiguous()
    rows, loss = torch.empty_like(points), torch.empty_like(points[:, 0])
    _gather[(n_items,)](
        starts,
        neighbour,
        similar,
        similar if weight is None else weight,
        points,
        rows,
        loss,
        margin,
        TINY,
        dim,
        KIND=kind,
        WEIGHTED=weight is not None,
        WIDTH=triton.next_power_of_2(dim),
        LINKS=LINKS_AT_ONCE,
        num_warps=1,
    )
    return loss, rows


# Triton reads annotations as code: only its own may stand here.
@triton.jit
def _gather(
    starts,
    neighbours,
    similars,
    weights,
    points,
    rows,
    row_loss,
    margin,
    tiny,
    dim,
    KIND: tl.constexpr,
    WEIGHTED: tl.constexpr,
    WIDTH: tl.constexpr,
    LINKS: tl.constexpr,
):
    item = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, WIDTH)
    inside = k < dim
    own = tl.load(points + item * dim + k, mask=inside, other=0.0)
    row = tl.zeros([WIDTH], tl.float32)
    loss = tl.zeros([LINKS], tl.float32)
    last = tl.load(starts + item + 1)
    for first in range(tl.load(starts + item), last, LINKS):
        e = first + tl.arange(0, LINKS)
        live = e < last
        j = tl.load(neighbours + e, mask=live, other=0).to(tl.int64)
        y = tl.load(similars + e, mask=live, other=0.0)
        w = live.to(tl.float32)
        if WEIGHTED:
            w = tl.load(weights + e, mask=live, other=0.0)
        other = tl.load(
            points + j[:, None] * dim + k[None, :],
            mask=live[:, None] & inside[None, :],
            other=0.0,
        )
        if KIND == DISTANCE:
            away = own[None, :] - other
            square = tl.sum(away * away, 1)
            distance = tl.sqrt(square)
            gap = tl.maximum(margin - distance, 0.0)
            loss += w * (y * square + (1 - y) * gap * gap)
            slope = 2 * w * (y - (1 - y) * gap / tl.maximum(distance, tiny))
            row += tl.sum(slope[:, None] * away, 0)
        elif KIND == DOT:
            error = tl.sum(own[None, :] * other, 1) - y
            loss += 0.5 * w * error * error
            row += tl.sum((w * error)[:, None] * other, 0)
        else:
            row += tl.sum(y[:, None] * other, 0)
    tl.store(rows + item * dim + k, row, mask=inside)
    tl.store(row_loss + item, tl.sum(loss, 0))
