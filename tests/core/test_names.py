"""Names of columns as a user joins them by commas."""

import pytest

from twofold._core.names import separate_names


@pytest.mark.parametrize(
    ("asked", "known", "names"),
    [
        (["a,b"], ["a", "b", "c"], ("a", "b")),
        (["a", "b"], ["a", "b", "c"], ("a", "b")),
        ([" a , b ,"], ["a", "b"], ("a", "b")),
        (["b,a", "a"], ["a", "b"], ("b", "a")),
        (["weight, kg"], ["weight, kg", "weight"], ("weight, kg",)),
        (["a,weight, kg,b"], ["a", "weight, kg", "b"], ("a", "weight, kg", "b")),
        (["a,b,c"], ["a,b", "b,c", "a", "c"], ("a,b", "c")),
        (["a,colour"], ["a"], ("a", "colour")),
        ([","], ["a"], (",",)),
        ([""], ["a"], ("",)),
        ([], ["a"], ()),
    ],
)
def test_commas_separate_names_but_for_those_that_hold_one(asked, known, names):
    assert separate_names(asked, known) == names
