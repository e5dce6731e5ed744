"""What a learner tells while it learns: lines of the logger, and the user's callback."""

from __future__ import annotations

import itertools
import logging
import time

import numpy as np
import pytest
from little_problems import beside_loud_noise, pairs_within, quick_learner, triplets_within

from twofold import MetricLearner, Network, Targets

X, Y = beside_loud_noise()
PAIRS = pairs_within(Y)


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
    assert "epoch 2/2" in plain[-1]
    assert not any("validation" in line for line in plain)


def test_phase_1_by_adam_tells_of_its_epochs(lines, slow_clock):
    for given in ({"relation": PAIRS}, {"relation": triplets_within(Y)}):
        said = lines(quick_learner(verbose=True, targets="fml-c"), **given)
        assert sum(line.startswith("targets: epoch ") for line in said) > 1
    said = lines(quick_learner(verbose=True, targets=Targets(pairs="sampled")), y=Y)
    assert any("targets: epoch" in line for line in said)


def test_feedback_tells_of_candidates_folds_and_rounds(lines, slow_clock):
    said = lines(quick_learner(verbose=True, feedback=3), relation=PAIRS)
    assert any(line.startswith("ridge map, 4 directions") and "round 3" in line for line in said)
    assert any(line.startswith("features as given") and "fold 1" in line for line in said)
    assert any(line.startswith("network: fold 1") for line in said)
    assert "epoch 2/2" in said[-1]
    without = lines(quick_learner(verbose=True, embedder="auto", feedback=3), relation=PAIRS)
    assert without[-1].startswith("fitting ridge map")


def test_lines_are_not_more_than_one_a_second_but_for_epochs(lines):
    said = lines(quick_learner(verbose=True, embedder="auto", feedback=3), relation=PAIRS)
    assert 1 <= len(said) < 10


@pytest.mark.parametrize(
    "given", [{"y": Y}, {"relation": PAIRS}, {"relation": triplets_within(Y)}], ids=lambda _: ""
)
def test_nothing_is_said_unless_asked(lines, given):
    assert lines(quick_learner(feedback=2 if "relation" in given else 0), **given) == []


def test_verbose_is_heard_where_no_logging_was_set_up(logger, monkeypatch, capsys):
    monkeypatch.setattr(logger, "propagate", False)
    logger.handlers[:] = []
    logger.setLevel(logging.WARNING)
    for _ in range(2):
        quick_learner(verbose=True).fit(X, Y)
        assert "epoch 2/2" in capsys.readouterr().err
    assert len(logger.handlers) == 1


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ({}, {"y": Y}),
        ({"targets": Targets("contrastive")}, {"y": Y}),
        ({"feedback": 0}, {"relation": PAIRS}),
        ({"validation_fraction": 0}, {"relation": PAIRS}),
        ({"feedback": 2}, {"relation": PAIRS}),
    ],
    ids=["labels", "contrastive", "statements", "feedback", "selected"],
)
def test_a_callback_embeds_by_the_network_as_it_stands(parameters, given, verbose, logger):
    seen = []
    network = Network(max_epochs=2, callback=lambda epoch: seen.append(epoch.embed(X)))
    learner = quick_learner(embedder=network, verbose=verbose, **parameters).fit(X, **given)
    assert len(seen) == 2  # trials on what is held out are not told of
    assert seen[0].shape == (60, 4)
    assert not np.array_equal(seen[0], seen[1])
    np.testing.assert_allclose(seen[1], learner.transform(X), atol=1e-5)


def test_what_a_callback_embeds_changes_nothing():
    network = Network(max_epochs=2, callback=lambda epoch: epoch.embed(X[:7]) is None)
    watched = quick_learner(embedder=network).fit(X, Y)
    assert watched.transform(X).tobytes() == quick_learner().fit(X, Y).transform(X).tobytes()


def test_a_callback_that_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="callback must be callable, got 3"):
        quick_learner(embedder=Network(callback=3)).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "given"),
    [({}, {"y": Y}), ({"validation_fraction": 0}, {"relation": PAIRS})],
    ids=["labels", "feedback"],
)
def test_an_interrupted_training_goes_on_from_its_checkpoint(parameters, given, tmp_path):
    def at(epoch, stop):
        seen.append(epoch.number)
        if stop and epoch.number == 3:
            raise KeyboardInterrupt

    def learner(stop, checkpoint):
        network = Network(
            max_epochs=4, callback=lambda epoch: at(epoch, stop), checkpoint=checkpoint
        )
        return quick_learner(embedder=network, **parameters)

    seen: list[int] = []
    whole = learner(False, None).fit(X, **given)
    seen.clear()
    kept = tmp_path / "training"
    with pytest.raises(KeyboardInterrupt):
        learner(True, kept).fit(X, **given)
    resumed = learner(False, kept).fit(X, **given)
    assert seen[:3] == [1, 2, 3]
    assert seen[3] > 1
    assert seen[-1] == 4
    np.testing.assert_allclose(resumed.transform(X), whole.transform(X), atol=1e-5)
    assert not kept.exists()


def test_a_checkpoint_needs_a_number_as_the_seed(tmp_path):
    network = Network(checkpoint=tmp_path / "training")
    with pytest.raises(ValueError, match="checkpoint needs random_state to be a number, got None"):
        quick_learner(embedder=network, random_state=None).fit(X, Y)
    nowhere = Network(checkpoint=tmp_path / "nowhere" / "training")
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        quick_learner(embedder=nowhere).fit(X, Y)
