"""Checks at the boundary: what passes, and the sentence for what does not."""

from __future__ import annotations

import numpy as np
import pytest

from twofold._core.checks import (
    MAX_ITEMS,
    check_choice,
    check_count,
    check_equal_lengths,
    check_item_ids,
    check_n_items,
    check_number,
)


@pytest.mark.parametrize("value", [1, 7, np.int32(7), np.uint8(1)])
def test_a_count_comes_back_as_an_int(value):
    count = check_count("dim", value)
    assert type(count) is int
    assert count == value


@pytest.mark.parametrize("value", [True, np.True_, 2.0, np.float64(3), "4", None, [1]])
def test_a_count_that_is_no_integer_is_refused(value):
    with pytest.raises(TypeError, match=r"dim must be an integer, got .*\(\w+\)") as caught:
        check_count("dim", value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(("value", "minimum"), [(0, 1), (-1, 1), (2, 3), (-1, 0)])
def test_a_count_below_the_minimum_is_refused(value, minimum):
    with pytest.raises(ValueError, match=f"dim must be at least {minimum}, got {value}"):
        check_count("dim", value, minimum=minimum)


def test_a_count_may_be_the_minimum_itself():
    assert check_count("dim", 0, minimum=0) == 0


@pytest.mark.parametrize("value", [0, 2, 0.5, np.float32(0.5), np.int64(3)])
def test_a_number_comes_back_as_a_float(value):
    number = check_number("margin", value, 0)
    assert type(number) is float
    assert number == value


@pytest.mark.parametrize("value", [True, "1", None, 1j])
def test_a_number_that_is_none_is_refused(value):
    with pytest.raises(TypeError, match="margin must be a number, got") as caught:
        check_number("margin", value, 0)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_too_small_or_not_finite_is_refused(value):
    with pytest.raises(ValueError, match=f"margin must be finite and at least 0, got {value:g}"):
        check_number("margin", value, 0)


def test_the_minimum_itself_passes_unless_the_check_is_strict():
    assert check_number("margin", 0.25, 0.25) == 0.25
    with pytest.raises(ValueError, match=r"margin must be finite and above 0\.25, got 0\.25"):
        check_number("margin", 0.25, 0.25, strict=True)


def test_a_choice_is_one_of_those_listed():
    check_choice("loss", "dot", ("contrastive", "dot"))
    for value in ("Dot", None, 3, ""):
        with pytest.raises(ValueError, match="loss must be one of 'contrastive', 'dot', got") as e:
            check_choice("loss", value, ("contrastive", "dot"))
        assert repr(value) in str(e.value)


def test_n_items_is_between_2_and_what_32_bits_address():
    assert check_n_items(2) == 2
    assert check_n_items(MAX_ITEMS) == MAX_ITEMS == 2**31 - 1
    with pytest.raises(ValueError, match="at least 2 to form a pair, got 1"):
        check_n_items(1)
    with pytest.raises(ValueError, match="at most 2147483647, got 2147483648"):
        check_n_items(MAX_ITEMS + 1)


def test_item_ids_come_back_as_int64():
    ids = check_item_ids("left", np.array([0, 4], dtype=np.uint16), 5)
    assert ids.dtype == np.int64
    assert ids.tolist() == [0, 4]


def test_item_ids_without_a_bound_reach_to_the_largest_number_of_items():
    assert check_item_ids("left", [MAX_ITEMS - 1]).tolist() == [MAX_ITEMS - 1]
    with pytest.raises(ValueError, match=r"outside 0 \.\. 2147483646, .* \(item 2147483647\)"):
        check_item_ids("left", [MAX_ITEMS])


def test_no_item_ids_are_fine_whatever_their_type():
    assert check_item_ids("left", []).dtype == np.int64
    assert check_item_ids("left", [], 3).shape == (0,)


def test_lengths_that_differ_are_listed():
    check_equal_lengths(a=np.zeros(2), b=np.zeros((2, 5)))
    with pytest.raises(ValueError, match="a has 2, b has 3"):
        check_equal_lengths(a=np.zeros(2), b=np.zeros(3))
