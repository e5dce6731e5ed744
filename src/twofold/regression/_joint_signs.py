"""Bits rounded together: not each to its likelier sign, but so that similarities stay.

A sign says which of two values is likelier and forgets by how much: of an item that may be of two
classes it keeps the likelier one, and the other class is then as far away as all the rest. With
expected bits e in [−1, 1] and the codes t_g of the training items, the bits z are instead chosen to
lower Σ_g (z·t_g − s e·t_g)² = n (z − s e)ᵀ G (z − s e), where G = Σ_g t_g t_gᵀ / n: from the signs
on, the bit is flipped that lowers it most, until none does. The length s does not change which
items are near; it is the one at which the signs fit best.

Held-out thirds of the training items, mAP / 5-NN of the signs and of bits rounded together. Scene,
trees, a label in common, 16 bits .826 / .769 and .840 / .779, 64 bits .845 / .783 and .852 / .786;
digits, network, 16 bits .9858 / .9839 and .9868 / .9844, 64 bits .9869 / .9848 and .9886 / .9853.
Fewer codes then differ in at most two bits: on digits, 32 bits, .028 of the items have none so near
instead of .010. Of codes solved from pairs, mAP was not better: digits, trees, 16 bits .973 and
.971, 64 bits .985 and .986, scene .823 and .825 (two thirds). See benchmarks/rounded_codes.py.

What is still lost is length. An expected code that is not sure is short, and by its dot products
comes after those that are sure; all codes of bits are equally long, and two that are unsure alike
are near. Of 12,000 images of CIFAR-10 (5-NN accuracy .74), mAP of expected codes was .6965; of the
same in 64 components at unit length, what they are short of drawn at random in the 55 that classes
leave free, .6898; of 64 bits rounded together .6847, of 256 bits .6896. Tried and dropped: s to the
power .8, which keeps a part of the length, gained .0001 to .003 and cost up to .06 of the precision
within two bits; a flip drawn from all that gain, .0001 to .003; flips of two bits at a time, and
probabilities made surer or less sure, nothing.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

RIDGE = 0.1
"""Added to the diagonal of G, which says nothing of directions that no two codes differ in."""
LEAST_GAIN = 1e-3
"""Of a flip, and of one over another before it: less may be a matter of how sums are rounded, as
it is where two bits are the same of all classes."""
SMALLEST = 1e-6
"""A margin of 0 has no sign."""
MOST_FLIPS = 4
"""One bit in so many: with one in two, no score above differs by more than .0001."""


def code_agreement(codes: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return G of codes of −1 and 1, each of which `counts` items have, with its ridge.

    Parameters
    ----------
    codes : ndarray of int, shape (n_codes, n_bits)
        That items are compared with.
    counts : ndarray of int, shape (n_codes,)
        Items of each.

    Returns
    -------
    agreement : ndarray of float32, shape (n_bits, n_bits)
        Σ_g t_g t_gᵀ / n + 0.1 · I.
    """
    signs = codes.astype(np.float64)
    mean = (signs * counts[:, None]).T @ signs / counts.sum()
    return np.asarray(mean + RIDGE * np.eye(codes.shape[1]), dtype=np.float32)


class JointSigns(nn.Module):
    """Expected bits e ↦ z · |e|: numbers whose signs are the bits rounded together.

    Costs n_bits numbers a flip, and n_bits² once, an item.

    Parameters
    ----------
    agreement : Tensor of float32, shape (n_bits, n_bits)
        G, from `code_agreement`.
    """

    agreement: Tensor

    def __init__(self, agreement: Tensor) -> None:
        super().__init__()
        self.register_buffer("agreement", agreement)

    @property
    def most_flips(self) -> int:
        """How many bits of an item may be flipped."""
        return -(-len(self.agreement) // MOST_FLIPS)

    def forward(self, expected: Tensor) -> Tensor:
        """Return numbers whose signs are the bits, shape (n_items, n_bits)."""
        return self.signs(expected) * expected.abs().clamp(min=SMALLEST)

    def signs(self, expected: Tensor) -> Tensor:
        """Return the bits, −1 and 1."""
        signs = torch.where(expected >= 0, 1.0, -1.0)
        asked, held = expected @ self.agreement, signs @ self.agreement
        along = (signs * asked).sum(dim=1, keepdim=True).clamp(min=SMALLEST)
        length = ((signs * held).sum(dim=1, keepdim=True) / along).clamp(min=1)
        pull = held - length * asked
        for _ in range(self.most_flips):
            gains = signs * pull - self.agreement.diagonal()
            best = gains.amax(dim=1, keepdim=True)
            which = (gains >= best - LEAST_GAIN).byte().argmax(dim=1, keepdim=True)
            change = torch.where(best > LEAST_GAIN, -2 * signs.gather(1, which), 0)
            if not change.any():
                break
            signs = signs.scatter_add(1, which, change)
            pull = pull + change * self.agreement[which[:, 0]]
        return signs
