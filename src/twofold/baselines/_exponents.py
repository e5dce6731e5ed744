"""log(1 + Σ exp) over what counts of a matrix: how losses over pairs add up."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

FAR = -1e4
"""An exponent whose power is 0, of what does not count; its gradient is 0, too."""


def log_one_more(exponents: Tensor, counted: Tensor) -> Tensor:
    """Return log(1 + Σ exp) of each row's exponents that count."""
    some = functional.pad(exponents.masked_fill(~counted, FAR), (0, 1))
    return some.logsumexp(dim=1)
