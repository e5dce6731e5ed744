"""A record is what its schema says, and damaged ones are refused with a reason."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from twofold.experiments import (
    CurvePoint,
    KindScores,
    RunRecord,
    Scores,
    UnseenScores,
    read_record,
    read_records,
    write_record,
)


def a_record(**changes):
    return RunRecord(
        **{
            "data_set": "mnist",
            "method": "fml-c",
            "seed": 3,
            "configuration": {"protocol": {"dim": 16}, "parameters": {"loss": "contrastive"}},
            "data": {"n_train": 9, "n_validation": 1, "n_test": 5, "n_labels": 2, "n_pairs": 180},
            "score": "accuracy",
            "measured": "2026-11-16",
            "commit": "abc1234",
            "machine": {"processor": "x", "torch": "2.13.0"},
            "device": "cpu",
            "seconds": {"targets": 0.5, "training": 2.0},
            "targets_seconds": (0.4, 0.6),
            "curve": (CurvePoint(1, 0.9, 0.7, 0.8), CurvePoint(2, 1.5, 0.75, None)),
            "scores": Scores(0.75, 0.8, "euclidean", 1, 0.8, {"map_at_r": 0.4}),
        }
        | changes
    )


def kind_scores(metric="cosine", **changes):
    return KindScores(
        **{
            "metric": metric,
            "auroc": 0.9,
            "retrieval": {"recall_at_1": 0.8, "map_at_r": 0.5},
            "one_shot": None,
            "intervals": {"map_at_r": (0.4, 0.6)},
            "resampled": "classes",
        }
        | changes
    )


UNSEEN = UnseenScores("0 to 4", "5 to 9", (kind_scores(), kind_scores("dot", one_shot=0.7)))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scores": None, "curve": ()},
        {"device": "cuda:1"},
        {"scores": None, "unseen": UNSEEN},
        {"scores": None, "unseen": replace(UNSEEN, seen=(kind_scores(),))},
    ],
)
def test_a_record_comes_back_as_it_was(changes, tmp_path):
    record = a_record(**changes)
    path = write_record(tmp_path, record)
    assert path == tmp_path / "mnist" / "fml-c-seed3.json"
    assert read_record(path) == record
    assert read_records(tmp_path) == (record,)


def test_a_record_of_version_1_is_read_as_before(tmp_path):
    path = write_record(tmp_path, a_record())
    content = json.loads(path.read_text())
    assert content.pop("unseen") is None
    path.write_text(json.dumps(content | {"format_version": 1}))
    assert read_record(path) == a_record()


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("never_seen",), [], r"at unseen/never_seen, \[\] should be non-empty"),
        (("never_seen", 0, "auroc"), 1.5, "at unseen/never_seen/0/auroc, 1.5 is greater"),
        (("never_seen", 0, "metric"), "taxi", "at unseen/never_seen/0/metric, 'taxi'"),
        (("never_seen", 0, "retrieval"), {"map_at_r": 0.5}, "'recall_at_1' is a required"),
        (("never_seen", 0, "intervals"), {"map_at_r": [0.1]}, "at unseen/never_seen/0/intervals"),
        (("tested_on",), "", "at unseen/tested_on"),
    ],
)
def test_scores_of_kinds_never_seen_are_as_the_schema_says(place, value, sentence, tmp_path):
    path = write_record(tmp_path, a_record(scores=None, unseen=UNSEEN))
    content = json.loads(path.read_text())
    inner = content["unseen"]
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=sentence):
        read_record(path)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("seed",), -1, "at seed, -1 is less than the minimum of 0"),
        (("device",), "tpu", "at device, 'tpu' does not match"),
        (("score",), "f1", "at score, 'f1' is not one of"),
        (("curve", 0, "auroc"), 1.5, "at curve/0/auroc, 1.5 is greater than the maximum"),
        (("scores", "epoch"), 0, "at scores/epoch, 0 is less than the minimum of 1"),
        (("scores", "neighbour_metric"), "taxi", "at scores/neighbour_metric"),
        (("seconds",), {"targets": 1.0}, "at seconds, 'training' is a required property"),
        (("surplus",), 1, "at the record, Additional properties are not allowed"),
        (("format_version",), 4, "format version 4, newer than 3.*update Twofold"),
        (("format",), "other", "is not a run record"),
    ],
)
def test_what_is_not_as_the_schema_says_is_refused(place, value, sentence, tmp_path):
    path = write_record(tmp_path, a_record())
    content = json.loads(path.read_text())
    inner = content
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=sentence):
        read_record(path)


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    path = write_record(tmp_path, a_record())
    path.write_text(path.read_text()[:100])
    with pytest.raises(ValueError, match=r"fml-c-seed3.json cannot be read .* run it again"):
        read_records(tmp_path)


def test_a_number_that_json_has_not_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_record(tmp_path, a_record(seconds={"targets": float("nan"), "training": 0.0}))
    assert not list(tmp_path.rglob("*.json"))


def test_galleries_and_runs_on_their_way_are_no_records(tmp_path):
    record = a_record()
    write_record(tmp_path, record)
    (tmp_path / "mnist" / "fml-c-seed3.gallery.json").write_text("{}")
    (tmp_path / "mnist" / ".fml-c-seed4").mkdir()
    (tmp_path / "mnist" / ".fml-c-seed4" / "x-seed4.json").write_text("{}")
    assert read_records(tmp_path) == (record,)


def test_a_folder_without_records_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="contains no run records: `twofold reproduce SET"):
        read_records(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        read_records(tmp_path / "nowhere")
