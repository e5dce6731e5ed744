"""A batch in parts, one for each process, and draws that come out as for the whole batch.

Every process has the same generator in the same state. What is drawn for a batch is drawn in all of
them, and each keeps what belongs to its own examples: the same numbers as one process would use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What one process does of a batch.

    Attributes
    ----------
    batch : Tensor of int64
        All examples, the same in every process.
    first, size : int
        Which of them are this process's: one at least, since some layers need it.
    n_counted : int
        How many of them count: 0 where the batch has fewer examples than there are processes.
    """

    batch: Tensor
    first: int
    size: int
    n_counted: int

    @property
    def examples(self) -> Tensor:
        """Those of this process."""
        return self.batch[self.first : self.first + self.size]

    def weight(self, n_processes: int) -> float:
        """Return what its mean loss counts, where the losses of all processes are averaged."""
        return self.n_counted * n_processes / len(self.batch)


def share_of(batch: Tensor, rank: int, n_processes: int) -> Share:
    """Return the part of a batch that belongs to one process: parts differ by one at most."""
    first, end = (place * len(batch) // n_processes for place in (rank, rank + 1))
    if first == end:
        return Share(batch, 0, 1, 0)
    return Share(batch, first, end - first, end - first)


class SharedGenerator(torch.Generator):
    """A generator that is in the same state in all processes.

    Attributes
    ----------
    share : Share or None
        Of the batch that it draws for.
    """

    share: Share | None = None


def drawn_rows(
    draw: Callable[[int], Tensor], n_rows: int, generator: torch.Generator, dim: int = 0
) -> Tensor:
    """Return what is drawn for some rows of a batch.

    Parameters
    ----------
    draw : callable (n_rows) -> Tensor
        Draws for as many rows, by `generator`.
    n_rows : int
        This process's: its examples, or more of them one after another, as both sides of pairs.
    generator : torch.Generator
        If it is shared, `draw` draws for the whole batch.
    dim : int
        Of the result, along which rows stand.
    """
    share = _share_of(generator)
    if share is None:
        return draw(n_rows)
    n_roles = n_rows // share.size
    every = draw(n_roles * len(share.batch))
    before, after = every.shape[:dim], every.shape[dim + 1 :]
    by_role = every.reshape(*before, n_roles, len(share.batch), *after)
    own = by_role.narrow(dim + 1, share.first, share.size)
    return own.reshape(*before, n_rows, *after)


def batch_of(generator: torch.Generator | None) -> Tensor | None:
    """Return all examples of the batch that is drawn for, if processes share it."""
    share = _share_of(generator)
    return None if share is None else share.batch


def _share_of(generator: torch.Generator | None) -> Share | None:
    return generator.share if isinstance(generator, SharedGenerator) else None
