"""Statements as plain arrays, and back."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.relations import (
    PairRelation,
    TripletRelation,
    alike_by_sign,
    statement_arrays,
    statements_of,
)

PAIRS = PairRelation([0, 1], [1, 2], [1, 0.25], 4)
WEIGHTED = PairRelation([0, 1], [1, 2], [1, 0.25], 4, weight=[1, 2])
TRIPLETS = TripletRelation([0, 1], [1, 2], [2, 3], 5)


@pytest.mark.parametrize("statements", [PAIRS, WEIGHTED, TRIPLETS])
def test_statements_are_saved_as_arrays_and_read_again(statements, tmp_path):
    np.savez(tmp_path / "statements.npz", **statement_arrays(statements))
    with np.load(tmp_path / "statements.npz", allow_pickle=False) as archive:
        again = statements_of(dict(archive))
    assert type(again) is type(statements)
    arrays, expected = statement_arrays(again), statement_arrays(statements)
    assert arrays.keys() == expected.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, expected[name])


def test_a_number_of_items_that_is_missing_is_missed():
    with pytest.raises(KeyError, match="n_items"):
        statements_of({"left": [0], "right": [1], "similar": [1]})


def test_signs_say_what_is_alike_and_other_values_are_refused():
    assert alike_by_sign([1, -1, 1], 3).tolist() == [True, False, True]
    with pytest.raises(ValueError, match=r"row 1 .*For \{0, 1\} pass 2 \* y - 1"):
        alike_by_sign([1, 0], 2)
    with pytest.raises(ValueError, match=r"shape \(3,\), got \(2,\)"):
        alike_by_sign([1, -1], 3)
