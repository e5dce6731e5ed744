"""Several views of an item when it is embedded; the network's outputs are averaged.

A network that was trained on images mirrored and moved knows most of each view, and something else
of every one: their mean is nearer to what the item is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

VIEWS: dict[int, tuple[tuple[bool, int, int], ...]] = {
    1: ((False, 0, 0),),
    2: ((False, 0, 0), (True, 0, 0)),
    3: ((False, 0, 0), (False, -1, -1), (False, 1, 1)),
    6: tuple((mirrored, step, step) for step in (0, -1, 1) for mirrored in (False, True)),
}
"""By how many there are: mirrored or not, and moved by so many pixels down and to the right. Two
are for images that may be mirrored, three for those that may not, six for both."""


def refuse_views(n_views: int, item_shape: tuple[int, ...]) -> None:
    """Only images can be mirrored and moved."""
    if n_views > 1 and len(item_shape) != 3:
        raise ValueError(
            f"views={n_views} only works for images of shape (channels, height, width), but items "
            f"have shape {item_shape}. Leave views out."
        )


def view_of(images: Tensor, mirrored: bool, down: int, right: int) -> Tensor:
    """Return images mirrored left to right, then moved; edges are repeated."""
    seen = images.flip(-1) if mirrored else images
    for axis, step in ((-2, down), (-1, right)):
        if step:
            size = images.shape[axis]
            places = (torch.arange(size, device=images.device) - step).clamp(0, size - 1)
            seen = seen.index_select(axis, places)
    return seen


def averaged_views(
    read: Callable[[Tensor], Mapping[str, Tensor]], images: Tensor, n_views: int
) -> dict[str, Tensor]:
    """Return what is read of images, averaged over views."""
    if n_views == 1:
        return dict(read(images))
    seen = [read(view_of(images, *view)) for view in VIEWS[n_views]]
    return {name: torch.stack([one[name] for one in seen]).mean(dim=0) for name in seen[0]}
