"""What a learner tells while it trains."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from little_problems import FAST, three_blobs

from twofold import MetricLearner, SiameseLearner, TripletLearner

X, Y = three_blobs()
SEVERAL_LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])[Y]


@pytest.fixture
def logger():
    """Give the library's logger as it was before, and leave it so."""
    logger = logging.getLogger("twofold")
    handlers, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:], logger.level = handlers, level
    logger.setLevel(level)


def test_verbose_logs_a_line_an_epoch(caplog, logger):
    with caplog.at_level(logging.INFO, logger="twofold"):
        MetricLearner(verbose=True, validation_fraction=0.25, **FAST).fit(X, Y)
    lines = [record.getMessage() for record in caplog.records if record.name == "twofold"]
    assert len(lines) == 2
    assert lines[0].startswith("epoch 1/2: loss ")
    assert ", validation " in lines[1]
    assert lines[1].endswith(" s")


def test_without_a_validation_part_the_line_does_not_speak_of_it(caplog, logger):
    with caplog.at_level(logging.INFO, logger="twofold"):
        MetricLearner(verbose=True, **FAST).fit(X, Y)
    assert "validation" not in caplog.text


def test_nothing_is_said_unless_asked(caplog, logger):
    with caplog.at_level(logging.INFO, logger="twofold"):
        MetricLearner(**FAST).fit(X, Y)
    assert not caplog.records


def test_verbose_is_heard_where_no_logging_was_set_up(logger, monkeypatch, capsys):
    monkeypatch.setattr(logger, "propagate", False)
    logger.handlers[:] = []
    logger.setLevel(logging.WARNING)
    MetricLearner(verbose=True, **FAST).fit(X, Y)
    assert "epoch 2/2" in capsys.readouterr().err
    MetricLearner(verbose=True, **FAST).fit(X, Y)
    assert len(logger.handlers) == 1


def test_a_callback_is_told_of_every_epoch_and_stops_with_true():
    seen = []
    learner = MetricLearner(callback=seen.append, **FAST).fit(X, Y)
    assert [(epoch.number, epoch.n_epochs) for epoch in seen] == [(1, 2), (2, 2)]
    assert [epoch.loss for epoch in seen] == learner.history_["regression"]
    stopped = MetricLearner(callback=lambda _: True, **FAST).fit(X, Y)
    assert len(stopped.history_["regression"]) == 1
    assert stopped.history_["best_epoch"] == 1


@pytest.mark.parametrize(
    "learner",
    [
        MetricLearner(**FAST),
        MetricLearner(loss="contrastive", **FAST),
        SiameseLearner(**FAST),
        SiameseLearner(loss="cosine", **FAST),
        TripletLearner(**FAST),
    ],
)
def test_a_callback_can_embed_by_the_network_as_it_stands(learner):
    seen = []
    learner.set_params(callback=lambda epoch: seen.append(epoch.embed(X))).fit(X, Y)
    assert seen[0].shape == (60, 4)
    assert not np.array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[1], learner.transform(X))


def test_what_a_callback_embeds_changes_nothing():
    watched = MetricLearner(callback=lambda epoch: epoch.embed(X[:7]) is None, **FAST).fit(X, Y)
    plain = MetricLearner(**FAST).fit(X, Y)
    assert watched.transform(X).tobytes() == plain.transform(X).tobytes()


def test_a_callback_works_when_verbose_too(logger):
    seen = []
    MetricLearner(verbose=True, callback=seen.append, **FAST).fit(X, Y)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("parameters", "labels", "decay"),
    [
        ({}, Y, 0.03),
        ({}, SEVERAL_LABELS, 1.0),
        ({"embedder": "mnist"}, Y, 0.0),
        ({"weight_decay": 0.25}, Y, 0.25),
        ({"weight_decay": 0}, Y, 0.0),
    ],
)
def test_weight_decay_is_for_the_default_network_unless_said(
    parameters, labels, decay, monkeypatch
):
    import torch

    seen = []

    class Watched(torch.optim.AdamW):
        def __init__(self, *args, **kwargs):
            seen.append(kwargs)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(torch.optim, "AdamW", Watched)
    MetricLearner(learning_rate=0.125, **parameters, **FAST).fit(X, labels)
    assert seen[0]["weight_decay"] == decay
    assert seen[0]["lr"] == 0.125
