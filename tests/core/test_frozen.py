"""What frozen types consist of: copies that nobody else can write to."""

from __future__ import annotations

import numpy as np
import pytest

from twofold._core.frozen import freeze, frozen_copy


def test_a_frozen_copy_cannot_be_written_to_and_leaves_its_array_alone():
    array = np.zeros(2)
    copy = frozen_copy(array)
    with pytest.raises(ValueError, match="read-only"):
        copy[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        copy.flags.writeable = True
    array[0] = 1
    assert copy.tolist() == [0, 0]


def test_what_is_frozen_already_is_shared():
    copy = frozen_copy(np.arange(6))
    assert frozen_copy(copy) is copy
    made = freeze(np.arange(6))
    assert frozen_copy(made) is made


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6)[::2],
        np.zeros((6, 2), dtype=np.int64)[:, 0],
        np.frombuffer(bytearray(48), dtype=np.int64),
        np.ma.masked_array(np.arange(6)),
    ],
    ids=["strided", "column", "buffer", "masked"],
)
def test_a_copy_is_plain_and_in_c_order(array):
    copy = frozen_copy(array)
    assert type(copy) is np.ndarray
    assert copy.flags.c_contiguous
    assert not np.shares_memory(copy, array)


def test_a_read_only_view_of_an_array_that_can_be_written_to_is_copied():
    array = np.zeros(3)
    view = array.view()
    view.flags.writeable = False
    copy = frozen_copy(view)
    array[0] = 1
    assert copy.tolist() == [0, 0, 0]
