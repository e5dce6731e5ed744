"""What a learner tells while it learns: lines of the logger, and the user's callback."""

from __future__ import annotations

import itertools
import logging
import time

import numpy as np
import pytest
from little_problems import PAIRS, TRIPLETS, X, Y, quick_learner

from twofold import MetricLearner, Network, Targets


@pytest.fixture
def logger():
    """Give the library's logger, and leave it as it was."""
    logger = logging.getLogger("twofold")
    handlers, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.fixture
def slow_clock(monkeypatch):
    """Have the clock go on by two seconds whenever it is looked at."""
    monkeypatch.setattr(time, "monotonic", itertools.count(0.0, 2.0).__next__)


@pytest.fixture
def lines(caplog, logger):
    """Return what fits a learner and gives the lines it logged."""

    def of(learner: MetricLearner, **given) -> list[str]:
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="twofold"):
            learner.fit(X, **given)
        return [record.getMessage() for record in caplog.records if record.name == "twofold"]

    return of


def test_labels_give_a_line_an_epoch_and_one_of_targets(lines):
    said = lines(quick_learner(verbose=True, validation_fraction=0.25), y=Y)
    assert said[0] == "targets of 60 items"
    epochs = [line for line in said if line.startswith("epoch ")]
    assert [line.partition(":")[0] for line in epochs] == ["epoch 1/2", "epoch 2/2"]
    assert all(", validation " in line and line.endswith(" s") for line in epochs)
    plain = lines(quick_learner(verbose=True), y=Y)
    assert "epoch 2/2" in plain[-2]
    assert plain[-1].startswith("there are fewer than 4 classes: points are the output")
    assert "validation" not in "".join(plain)


def test_phase_1_by_adam_tells_of_its_epochs(lines, slow_clock):
    for given in ({"relation": PAIRS}, {"relation": TRIPLETS}, {"y": Y}):
        said = lines(quick_learner(verbose=True, targets="fml-c"), **given)
        assert sum(line.startswith("targets: epoch ") for line in said) > 1


def test_feedback_tells_of_candidates_folds_and_rounds(lines, slow_clock):
    said = lines(quick_learner(verbose=True, feedback=3), relation=PAIRS)
    for start in ("features as given", "ridge map, 4 directions", "network: "):
        assert any(line.startswith(start) and "fold 1" in line for line in said)
    assert any("round 3" in line for line in said)
    assert "epoch 2/2" in said[-1]
    without = lines(quick_learner(verbose=True, embedder="auto", feedback=3), relation=PAIRS)
    assert without[-1].startswith("fitting ridge map")


@pytest.mark.parametrize("given", [{"y": Y}, {"relation": PAIRS}], ids=["labels", "feedback"])
def test_nothing_is_said_unless_asked_and_then_not_too_much(lines, given):
    assert lines(quick_learner(), **given) == []
    assert 1 <= len(lines(quick_learner(verbose=True), **given)) < 20


def test_verbose_is_heard_where_no_logging_was_set_up(logger, monkeypatch, capsys):
    monkeypatch.setattr(logger, "propagate", False)
    logger.handlers[:] = []
    logger.setLevel(logging.WARNING)
    for _ in range(2):
        quick_learner(verbose=True).fit(X, Y)
        assert "epoch 2/2" in capsys.readouterr().err
    assert len(logger.handlers) == 1


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ({}, {"y": Y}),
        ({"targets": Targets("contrastive"), "verbose": True}, {"y": Y}),
        ({"feedback": 0}, {"relation": PAIRS}),
        ({"validation_fraction": 0}, {"relation": PAIRS}),
        ({"feedback": 2}, {"relation": PAIRS}),
    ],
    ids=["labels", "contrastive", "statements", "feedback", "selected"],
)
def test_a_callback_embeds_by_the_network_as_it_is_and_changes_nothing(parameters, given, logger):
    seen = []
    network = Network(max_epochs=2, callback=lambda epoch: seen.append(epoch.embed(X)))
    points = quick_learner(embedder=network, **parameters).fit(X, **given).transform(X)
    assert len(seen) == 2  # trials on what is held out are not told of
    assert not np.array_equal(seen[0], seen[1])
    np.testing.assert_allclose(seen[1], points, atol=1e-5)
    assert quick_learner(**parameters).fit(X, **given).transform(X).tobytes() == points.tobytes()
