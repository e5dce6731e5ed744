"""Read-only arrays that nobody else can write to: what frozen types consist of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def frozen_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy in C order; what is one already, as `freeze` made it, is shared.

    What was checked once then stays valid, whatever a caller does with the array that was given.
    """
    return array if _is_frozen(array) else freeze(np.array(array, order="C"))


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only that the caller has just made and keeps no other view of.

    Returns a view: its flag cannot be set back, because what it looks at is read-only too.
    """
    array.flags.writeable = False
    return array.view()


def _is_frozen(array: NDArray[Any]) -> bool:
    base = array.base
    return (
        type(array) is np.ndarray
        and type(base) is np.ndarray
        and base.flags.owndata
        and not (array.flags.writeable or base.flags.writeable)
        and array.flags.c_contiguous
    )
