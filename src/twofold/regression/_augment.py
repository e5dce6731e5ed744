"""Training images changed a little each time they are seen, so that a network learns what stays.

All on the device and a batch at a time: one gather mirrors and shifts, bilinear sampling turns.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from sklearn.base import BaseEstimator
from torch import Tensor
from torch.nn import functional

from twofold._core.checks import check_choice, check_count, check_number
from twofold.regression._shares import drawn_rows

AugmentName = Literal["flips", "photographs", "characters"]


@dataclass(repr=False, eq=False)
class Augment(BaseEstimator):  # type: ignore[misc]
    """How training images are changed.

    Parameters
    ----------
    flips : bool
        Whether images are mirrored left to right, half of them in one epoch and the other half in
        the next, so that each is seen both ways equally often.
    shift : int
        Largest random shift in pixels, vertically and horizontally; edges are filled with the
        mirrored image.
    rotation : float
        Largest random rotation in degrees.
    cutout : int
        Side in pixels of a square, anywhere in the image, that is filled with its mean colour; 0
        for none.

    Examples
    --------
    >>> Augment(shift=2, rotation=10)
    Augment(rotation=10, shift=2)
    """

    _: KW_ONLY
    flips: bool = False
    shift: int = 0
    rotation: float = 0.0
    cutout: int = 0

    @property
    def changes_nothing(self) -> bool:
        """Whether images stay as they are."""
        return not (self.flips or self.shift or self.rotation or self.cutout)


AUGMENTS: dict[str, Augment] = {
    "flips": Augment(flips=True),
    "photographs": Augment(flips=True, shift=2),
    "characters": Augment(shift=2, rotation=10.0),
}
"""By name: characters are others when they are mirrored."""


def resolve_augment(augment: object) -> Augment | None:
    """Return what a network's `augment` stands for, checked; None if images stay as they are."""
    if augment is None:
        return None
    if not isinstance(augment, Augment):
        check_choice("augment", augment, tuple(AUGMENTS))
        return AUGMENTS[str(augment)]
    if not isinstance(augment.flips, bool):
        raise TypeError(f"augment.flips must be True or False, got {augment.flips!r}.")
    checked = Augment(
        flips=augment.flips,
        shift=check_count("augment.shift", augment.shift, 0),
        rotation=check_number("augment.rotation", augment.rotation, 0),
        cutout=check_count("augment.cutout", augment.cutout, 0),
    )
    if checked.rotation > 180:
        raise ValueError(
            "augment.rotation must be at most 180 degrees, which covers all directions, got "
            f"{checked.rotation:g}."
        )
    return None if checked.changes_nothing else checked


def refuse_augmented(augment: Augment | None, item_shape: tuple[int, ...]) -> None:
    """Only images can be augmented, and only by less than their size."""
    if augment is None:
        return
    if len(item_shape) != 3:
        raise ValueError(
            "augment changes images of shape (channels, height, width), but items have shape "
            f"{item_shape}. Leave augment out."
        )
    side = min(item_shape[1:])
    for name, size in (("shift", augment.shift), ("cutout", augment.cutout)):
        if size >= side:
            raise ValueError(
                f"augment.{name} must be less than the side of the images, {side} pixels, got "
                f"{size}."
            )


class Augmenter:
    """Changes batches of images as an `Augment` says.

    Parameters
    ----------
    augment : Augment or None
        None leaves them as they are.
    device : torch.device
        That trains.
    """

    def __init__(self, augment: Augment | None, device: torch.device) -> None:
        self.augment = augment
        # On the device, so that a recorded step reads the epoch of the moment.
        self._epoch = torch.zeros((), dtype=torch.int64, device=device)

    def begin_epoch(self, number: int) -> None:
        """Say which epoch the next batches belong to."""
        if self.augment is not None:
            self._epoch.fill_(number)

    def __call__(self, images: Tensor, items: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return images, shape (n, channels, height, width), changed if there is a generator.

        Parameters
        ----------
        images : Tensor
            Bytes or floats.
        items : Tensor of int64, shape (n,)
            Their numbers, by which they take turns in being mirrored.
        generator : torch.Generator, optional
            On the device of the images.
        """
        augment = self.augment
        if augment is None or generator is None:
            return images
        mirrored = torch.zeros(len(images), dtype=torch.bool, device=images.device)
        if augment.flips:
            mirrored = self._takes_turn(items.to(images.device, non_blocking=True))
        if augment.rotation:
            images = _turned(images, mirrored, augment, generator)
        elif augment.flips or augment.shift:
            images = _shifted(images, mirrored, augment.shift, generator)
        return _cut_out(images, augment.cutout, generator) if augment.cutout else images

    def _takes_turn(self, items: Tensor) -> Tensor:
        """Return which items are mirrored in this epoch: half of them, the others in the next."""
        # Fibonacci hashing: neighbours in the data begin differently.
        begins = (items * 0x9E3779B1) >> 16
        turn: Tensor = ((begins + self._epoch) & 1).bool()
        return turn


def _shifted(images: Tensor, mirrored: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return images moved by whole pixels, some of them mirrored, in one gather."""
    n_items, _, height, width = images.shape
    rows = torch.arange(height, device=images.device).expand(n_items, height)
    columns = torch.arange(width, device=images.device).expand(n_items, width)
    if most:
        down, right = drawn_rows(
            lambda n: torch.randint(
                -most, most + 1, (2, n, 1), device=images.device, generator=generator
            ),
            n_items,
            generator,
            dim=1,
        )
        rows, columns = _reflected(rows + down, height), _reflected(columns + right, width)
    columns = torch.where(mirrored[:, None], width - 1 - columns, columns)
    every = torch.arange(n_items, device=images.device)
    moved = images[every[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)


def _reflected(places: Tensor, size: int) -> Tensor:
    """Bring places beyond an edge back as in a mirror at the edge."""
    last = size - 1
    return last - (last - places.abs()).abs()


def _turned(
    images: Tensor, mirrored: Tensor, augment: Augment, generator: torch.Generator
) -> Tensor:
    """Return images turned, moved and mirrored, sampled bilinearly, as floats."""
    n_items, _, height, width = images.shape
    uniform = drawn_rows(
        lambda n: torch.rand((3, n), device=images.device, generator=generator),
        n_items,
        generator,
        dim=1,
    )
    drawn = 2 * uniform - 1
    angle = drawn[0] * math.radians(augment.rotation)
    cosine, sine = angle.cos(), angle.sin()
    sign = 1 - 2 * mirrored.float()
    # From places in the result to places in the image, both from −1 to 1 along each side.
    steepness = height / width
    along = torch.stack(
        [sign * cosine, -sign * sine * steepness, 2 * augment.shift / width * drawn[1]]
    )
    across = torch.stack([sine / steepness, cosine, 2 * augment.shift / height * drawn[2]])
    maps = torch.stack([along, across]).permute(2, 0, 1)
    with torch.autocast(images.device.type, enabled=False):
        places = functional.affine_grid(maps, list(images.shape), align_corners=False)
        return functional.grid_sample(
            images.float(), places, padding_mode="reflection", align_corners=False
        )


def _cut_out(images: Tensor, side: int, generator: torch.Generator) -> Tensor:
    """Return images with a square filled by their mean colour."""
    n_items, _, height, width = images.shape
    drawn = drawn_rows(
        lambda n: torch.rand((2, n, 1), device=images.device, generator=generator),
        n_items,
        generator,
        dim=1,
    )
    inside = [
        # The square may reach over the edge by half of its side, so that corners are cut out too.
        (torch.arange(size, device=images.device) - (first * size).floor() + side // 2) % (2 * size)
        < side
        for first, size in zip(drawn, (height, width), strict=True)
    ]
    square = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    colour = images.float().mean(dim=(2, 3), keepdim=True).to(images.dtype)
    return torch.where(square, colour, images)
