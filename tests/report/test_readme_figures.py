"""Figures of the paper's protocol, wherever they are told, are those of `results/runs`."""

import re
from pathlib import Path

import pytest

from twofold.experiments import read_records
from twofold.report import _wording as wording
from twofold.report._arrivals import arrivals
from twofold.report._sentences import leading_groups
from twofold.report._summaries import RunGroup, summarise

ROOT = Path(__file__).parents[2]
METHODS = {
    "Twofold": "twofold",
    "FML-C, as published": "fml-c",
    "FML-DP, as published": "fml-dp",
    "Siamese network": "siamese",
    "Siamese network, cosine loss": "siamese-cosine",
    "triplet network": "triplet",
    "nonlinear NCA": "nonlinear-nca",
    "regression to one-hot labels": "one-hot",
}
PAPER_SETS = {"MNIST": "mnist", "CIFAR-10": "cifar10", "PubFig83": "pubfig83"}


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def groups() -> dict[str, RunGroup]:
    records = read_records(ROOT / "results" / "runs")
    return {group.data_set: group for group in leading_groups(summarise(records))}


def table_below(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table whose first line starts so, that line first."""
    lines = text[text.index(heading) :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def shown(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


def scores(group: RunGroup, method: str) -> tuple[str, str]:
    summary = group.find(method)
    assert summary is not None
    assert summary.auroc is not None
    assert summary.neighbours is not None
    return shown(summary.auroc.mean), shown(summary.neighbours.mean)


def test_the_table_of_several_labels_has_the_records_means_and_the_best_of_a_column_bold(
    groups: dict[str, RunGroup],
) -> None:
    text = page("docs/results/multilabel.md")
    (_, *sets), *rows = table_below(text, "| | yeast | scene |")
    assert [row[0] for row in rows] == list(METHODS)
    for column, data_set in enumerate(sets, start=1):
        cells = [row[column].split(" / ") for row in rows]
        for measure in (0, 1):
            figures = [cell[measure].strip("*") for cell in cells]
            assert figures == [scores(groups[data_set], m)[measure] for m in METHODS.values()]
            bold = [cell[measure].strip("*") for cell in cells if "**" in cell[measure]]
            assert set(bold) == {max(figures)}
            assert len(bold) == figures.count(max(figures))


@pytest.mark.parametrize("name", ["README.md", "docs/results/paper.md"])
def test_the_table_of_five_neighbours_has_the_records_means(
    name: str, groups: dict[str, RunGroup]
) -> None:
    _, *rows = table_below(page(name), "| 5-NN accuracy; seconds are Twofold's |")
    for title, *figures in rows:
        group = groups[PAPER_SETS[title.split(",")[0]]]
        methods = ("fml-c", "fml-dp", "twofold", "siamese")
        assert [f.strip("*") for f in figures[:4]] == [scores(group, m)[1] for m in methods]
        ours = group.find("twofold")
        assert ours is not None
        seconds = re.search(r"([\d.]+) s$", title)
        assert seconds is not None
        digits = len(seconds[1].partition(".")[2])
        assert f"{ours.seconds.mean:.{digits}f}" == seconds[1]


def test_the_shares_of_the_siamese_network_s_time_are_the_records(
    groups: dict[str, RunGroup],
) -> None:
    text, readme = (" ".join(page(name).split()) for name in ("docs/results/paper.md", "README.md"))
    share = {
        (method, data_set): next(
            None if a.of_whole is None else wording.share(a.of_whole)
            for a in arrivals(groups[data_set])
            if a.method == method
        )
        for method in ("twofold", "fml-dp", "fml-c")
        for data_set in PAPER_SETS.values()
    }
    ours, dot = ([share[m, s] for s in PAPER_SETS.values()] for m in ("twofold", "fml-dp"))
    for told in (text, readme):
        assert f"after {ours[0]}, {ours[1]} and {ours[2]} of its time" in told
    assert f"FML-DP after {dot[0]}, {dot[1]} and {dot[2]}" in text
    assert share["fml-c", "cifar10"] is None
    assert (
        f"FML-C after {share['fml-c', 'mnist']} on MNIST, {share['fml-c', 'pubfig83']} on "
        "PubFig83, and not on CIFAR-10"
    ) in text


@pytest.mark.parametrize(
    ("row", "device"), [("phase 1 of FML as published", "cpu"), ("the same on an H200", "cuda")]
)
def test_the_speed_of_phase_1_is_the_records(row: str, device: str) -> None:
    every = [
        summary
        for group in summarise(read_records(ROOT / "results" / "runs"))
        for summary in group.methods
        if group.machine.device == device and summary.speed_up is not None
    ]
    speeds = [summary.speed_up for summary in every if summary.speed_up is not None]
    (line,) = re.findall(rf"^\| {row}.*$", page("docs/results/speed.md"), flags=re.MULTILINE)
    assert f"{wording.times(min(speeds))} to {wording.times(max(speeds))} times faster" in line
    assert {f"{s.targets_seconds.n} runs each" for s in every if s.targets_seconds} == {
        re.search(r"\d+ runs each", line)[0]  # type: ignore[index]
    }
