"""The demo's record and the page that is made of it."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from twofold.experiments import DEMO_METHODS, Demo, run_demo
from twofold.report import demo_page
from twofold.report._demo_page import demo_rows, seconds_to_reach

EPOCHS = 3


@pytest.fixture(scope="module")
def seen() -> list[tuple[str, int, float]]:
    return []


@pytest.fixture(scope="module")
def record(seen: list[tuple[str, int, float]]) -> Demo:
    digits = load_digits()
    few = Bunch(**{name: digits[name][:600] for name in ("data", "target", "images")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("twofold.experiments._demo.load_digits", lambda: few)
        return run_demo(
            seed=0,
            watch=lambda method, epoch, auroc: seen.append((method.name, epoch.number, auroc)),
            max_epochs=EPOCHS,
        )


def test_every_method_learns_the_digits(record: Demo) -> None:
    assert [run.method for run in record.runs] == list(DEMO_METHODS)
    for run in record.runs:
        assert run.auroc[-1] > 0.9
        assert run.accuracy > 0.9
        assert run.points.shape == (len(record.test_classes), 16)


def test_the_curve_counts_phase_one_in_and_grows(record: Demo) -> None:
    for run in record.runs:
        assert len(run.seconds) == len(run.auroc) == EPOCHS
        assert (np.diff(run.seconds) > 0).all()
        assert run.seconds[0] > run.phase_seconds["targets"]
    assert record.runs[-1].phase_seconds["targets"] == 0


def test_every_epoch_of_every_method_is_told(
    record: Demo, seen: list[tuple[str, int, float]]
) -> None:
    told = [(name, number) for name, number, _ in seen]
    assert told == [(m.name, n) for m in DEMO_METHODS for n in range(1, EPOCHS + 1)]
    assert [auroc for *_, auroc in seen] == [a for run in record.runs for a in run.auroc]


def test_neighbours_are_the_nearest_training_digits_and_mostly_right(record: Demo) -> None:
    ours = record.runs[0]
    assert ours.neighbours.shape == (len(record.test_classes), 5)
    right = record.train_classes[ours.neighbours] == record.test_classes[:, None]
    assert right.mean() > 0.9


def test_the_page_is_a_pure_function_of_the_record(record: Demo) -> None:
    page = demo_page(record)
    assert page == demo_page(record)
    for run in record.runs:
        assert run.method.explanation in html.unescape(page)
        assert f"{run.accuracy:.4f}" in page
        assert f"{run.auroc[-1]:.4f}" in page
    assert record.machine["torch"] in page


def test_the_page_needs_no_network_and_marks_exactly_the_wrong_neighbours(record: Demo) -> None:
    page = demo_page(record)
    assert len(page) < 3_000_000
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 12 * 6
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "<link" not in page
    assert "<script" not in page
    wrong = record.train_classes[record.runs[0].neighbours] != record.test_classes[:, None]
    hardest = np.sort(wrong.sum(axis=1))[-6:].sum()
    assert page.count('class="wrong"') >= hardest


def test_a_figure_is_bold_only_where_it_is_the_best_of_its_column(record: Demo) -> None:
    seconds = [
        {"targets": 0.0004, "training": 2.0},
        {"targets": 0.02, "training": 1.81},
        {"targets": 0.04, "training": 1.79},
        {"targets": 0.0, "training": 20.0},
    ]
    runs = tuple(
        replace(run, accuracy=accuracy, auroc=np.array([0.5, auroc]), phase_seconds=phases)
        for run, accuracy, auroc, phases in zip(
            record.runs,
            (0.98, 0.99, 0.9, 0.99001),
            (0.991, 0.99, 0.999, 0.98),
            seconds,
            strict=True,
        )
    )
    changed = replace(record, runs=runs)
    assert [[(c.text, c.is_best) for c in row.cells] for row in demo_rows(changed)] == [
        [("0.9800", False), ("0.9910", False), ("0.4 ms", True), ("2.0 s", False)],
        [("0.9900", True), ("0.9900", False), ("20.0 ms", False), ("1.8 s", True)],
        [("0.9000", False), ("0.9990", True), ("40.0 ms", False), ("1.8 s", True)],
        [("0.9900", True), ("0.9800", False), ("none", False), ("20.0 s", False)],
    ]
    page = demo_page(replace(record, runs=tuple(replace(r, seconds=r.seconds[:2]) for r in runs)))
    assert page.count("<strong>") == 6


def test_the_curves_are_drawn_for_a_screen_and_for_a_phone(record: Demo) -> None:
    page = demo_page(record)
    assert re.findall(r'<div class="(\w+)"><svg', page) == ["wide", "narrow"]
    for table in re.findall(r"(.{120})<table>", page, flags=re.DOTALL):
        assert '<div class="scroll"' in table


def test_a_run_reaches_an_auroc_at_the_first_epoch_that_has_it(record: Demo) -> None:
    run = record.runs[0]
    best = int(np.argmax(run.auroc))
    assert seconds_to_reach(run, float(run.auroc.max())) == run.seconds[best]
    assert seconds_to_reach(run, 0.0) == run.seconds[0]
    assert seconds_to_reach(run, 1.1) is None
