"""`Targets`: how phase 1 is asked for, by name or by its parameters."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from twofold import Targets
from twofold.targets import as_targets


def test_it_is_cloned_compared_and_shown_like_an_estimator():
    targets = Targets("contrastive", pairs="sampled", margin=2.0)
    again = clone(targets)
    assert again is not targets
    assert again.get_params() == targets.get_params()
    assert repr(targets) == "Targets(loss='contrastive', margin=2.0, pairs='sampled')"
    assert targets.set_params(margin=3.0).margin == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto", Targets()),
        ("fml-c", Targets("contrastive", pairs="sampled", init="random")),
        ("fml-dp", Targets("dot", pairs="sampled", init="random")),
    ],
)
def test_names_stand_for_parameters(name, expected):
    assert as_targets(name).get_params() == expected.get_params()
    assert (expected.n_similar, expected.n_dissimilar, expected.margin) == (10, 10, 1.0)


def test_what_is_given_is_used_as_it_is():
    targets = Targets("dot", n_similar=0)
    assert as_targets(targets) is targets


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"loss": "triplet"}, ValueError, "loss must be one of 'auto', 'contrastive', 'dot', got"),
        ({"pairs": "some"}, ValueError, "pairs must be one of 'all', 'sampled', got 'some'"),
        ({"grade": "dice"}, ValueError, "grade must be one of .* got 'dice'"),
        ({"init": "zeros"}, ValueError, "init must be one of 'auto', 'random', got 'zeros'"),
        ({"n_similar": -1}, ValueError, "n_similar must be at least 0, got -1"),
        ({"n_dissimilar": 2.5}, TypeError, r"n_dissimilar must be an integer, got 2\.5"),
        ({"margin": 0}, ValueError, "margin must be finite and above 0, got 0"),
        ({"margin": "wide"}, TypeError, "margin must be a number, got 'wide'"),
    ],
)
def test_a_wrong_parameter_is_refused_when_it_is_used(given, error, sentence):
    targets = Targets(**given)  # like any estimator, it takes what it is given
    with pytest.raises(error, match=sentence):
        as_targets(targets)


@pytest.mark.parametrize("wrong", ["fml", 3, None])
def test_what_is_no_targets_is_refused_with_its_value(wrong):
    with pytest.raises(ValueError, match=f"targets must be 'auto', .* got {wrong!r}"):
        as_targets(wrong)
