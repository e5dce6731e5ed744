"""Shards in, shards out: the same points as of one file, gone on with, and failures listed."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
import uuid
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, dataset, parquet
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

from twofold import MetricLearner, Network
from twofold.cli import app
from twofold.datasets import read_records
from twofold.preparation import ImagePreparation, TablePreparation
from twofold.tasks import (
    Decision,
    EmbedShardsRequest,
    PreparedModel,
    embed_shards,
)
from twofold.tasks._embed_shard import ShardEmbedder

NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model of four columns."""
    X, y = load_iris(return_X_y=True)
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    preparation = TablePreparation().fit(table)
    learner = MetricLearner(2, embedder=Ridge(), random_state=0)
    learner.fit(preparation.transform(table), y)
    folder = tmp_path_factory.mktemp("shards") / "model"
    return PreparedModel(learner, "table", preparation, Decision("embedding", None)).save(folder)


@pytest.fixture
def shards(tmp_path) -> Path:
    """Five shards of thirty rows with ids."""
    X = load_iris().data
    (tmp_path / "in").mkdir()
    for number in range(5):
        write_shard(tmp_path / "in" / f"{number}.parquet", X[number::5], number * 30)
    return tmp_path / "in"


def write_shard(file: Path, rows: np.ndarray, first_id: int | None, names=NAMES) -> None:
    columns = dict(zip(names, rows.T, strict=True))
    if first_id is not None:
        columns["id"] = np.arange(first_id, first_id + len(rows))
    parquet.write_table(pa.table(columns), file)


def embed(model, shards, **options):
    request = EmbedShardsRequest(
        model=model, data=(shards / "*.parquet",), out=shards.with_name("out"), **options
    )
    return embed_shards(request)


def points_in(folder: Path) -> dict:
    table = dataset.dataset(folder).to_table()
    return dict(zip(table["id"].to_pylist(), map(tuple, table["point"].to_pylist()), strict=True))


def test_every_row_has_the_point_that_the_model_gives(model, shards):
    result = embed(model, shards)
    assert (result.n_items, result.n_shards, result.failures) == (150, 5, ())
    there = points_in(shards.with_name("out"))
    opened = PreparedModel.open(model)
    for file in shards.iterdir():
        records = read_records(file)
        said = [there[one] for one in records.ids.tolist()]
        np.testing.assert_allclose(said, opened.embed(records), atol=1e-6)


def test_what_is_done_is_not_done_again_but_for_what_has_changed(model, shards):
    embed(model, shards)
    out = shards.with_name("out")
    before = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    (out / "3.parquet").unlink()
    write_shard(shards / "1.parquet", np.ones((2, 4)), 30)
    result = embed(model, shards)
    assert (result.n_items, result.n_done_before) == (32, 3)
    after = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    assert [name for name in sorted(after) if after[name] == before[name]] == [
        "0.parquet",
        "2.parquet",
        "4.parquet",
    ]


def test_rows_without_ids_are_called_by_their_shard_and_number(model, shards):
    for number, folder in enumerate(("x", "y")):
        (shards / folder).mkdir()
        write_shard(shards / folder / "part.parquet", np.ones((2, 4)) * number, None)
    request = EmbedShardsRequest(
        model=model, data=(shards / "*" / "part.parquet",), out=shards.with_name("out")
    )
    embed_shards(request)
    assert sorted(points_in(shards.with_name("out"))) == [
        "x/part:0",
        "x/part:1",
        "y/part:0",
        "y/part:1",
    ]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_shard_with_other_columns_fails_alone(model, shards):
    write_shard(shards / "2.parquet", np.ones((2, 4)), 60, ("a", "b", "c", "e"))
    out = shards.with_name("out")
    ended = run("embed", model, *sorted(shards.iterdir()), "--out", out)
    assert "120 points of 2 numbers, from 4 files" in ended.output
    assert isinstance(ended.exception, ValueError)
    assert "1 of 5 files failed" in str(ended.exception)
    assert "2.parquet has no column 'd'" in str(ended.exception)
    assert len(points_in(out)) == 120


def test_what_fails_by_chance_is_tried_again(model, shards, monkeypatch):
    seen, written = [], ShardEmbedder._written

    def fails_at_first(self, shard):
        seen.append(shard.name)
        if seen.count(shard.name) < (3 if shard.name == "1" else 9 if shard.name == "4" else 0):
            raise OSError(5, "Input/output error", str(shard.source))
        return written(self, shard)

    monkeypatch.setattr(ShardEmbedder, "_written", fails_at_first)
    result = embed(model, shards)
    assert [seen.count(name) for name in "01234"] == [1, 3, 1, 1, 3]
    assert "Input/output error" in result.why_incomplete
    assert sorted(points_in(shards.with_name("out"))) == list(range(120))


def test_ids_that_repeat_are_refused_in_a_shard_and_across(model, shards):
    columns = dict(zip(NAMES, np.ones((4, 3)), strict=True))
    parquet.write_table(pa.table({"id": ["x", "y", "x"], **columns}), shards / "0.parquet")
    result = embed(model, shards)
    assert "1 row(s) with an id that occurs before, first 'x'" in result.why_incomplete
    write_shard(shards / "0.parquet", np.ones((3, 4)), 31)
    with pytest.raises(ValueError, match=r"3 id\(s\) occur in more than one file, first 31 in .*0"):
        embed(model, shards)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("in/*.csv",), "No file matches"),
        (("in/0.parquet", "in/none.parquet"), "none.parquet does not exist"),
        (("in/0.parquet", "in/0.parquet"), "is listed twice"),
        (("in/0.parquet", "in"), "in is a folder"),
        (("in/0.parquet", "in/0.csv"), "Two files would be written to"),
        (("in/0.parquet", "--engine", "ray"), "for several files"),
    ],
)
def test_a_mistake_is_a_sentence_before_the_work(model, shards, words, sentence):
    csv.write_csv(pa.table({"a": [1]}), shards / "0.csv")
    (shards / "0.csv").rename(shards / ("0.csv" if "in/0.csv" in words else "other.txt"))
    named = [shards.parent / word if word.startswith("in") else word for word in words]
    ended = run("embed", model, *named, "--out", shards.with_name("out"))
    assert sentence in str(ended.exception)
    assert not list(shards.with_name("out").glob("*"))


def test_points_of_others_are_not_written_over(model, shards, tmp_path):
    out = shards.with_name("out")
    out.mkdir()
    parquet.write_table(pa.table({"a": [1]}), out / "3.parquet")
    with pytest.raises(FileExistsError, match=r"3\.parquet already exists and not made by"):
        embed(model, shards)
    (out / "3.parquet").unlink()
    embed(model, shards)
    opened = PreparedModel.open(model)
    opened.learner.threshold_ = 0.25
    other = opened.save(tmp_path / "other")
    with pytest.raises(FileExistsError, match="already exists and of another model"):
        embed(other, shards)
    assert embed(other, shards, overwrite=True).n_items == 150
    with pytest.raises(ValueError, match="would overwrite it"):
        embed_shards(EmbedShardsRequest(model=model, data=(shards / "*",), out=shards))


def test_pictures_may_stand_in_shards_as_bytes(tmp_path):
    files = []
    rng = np.random.default_rng(0)
    for row in range(8):
        file = tmp_path / f"{row}.png"
        pixels = rng.integers(0, 90, size=(8, 8)) + 150 * (row % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(file)
        files.append(file)
    preparation = ImagePreparation(cache=False).fit(files)
    learner = MetricLearner(2, embedder=Network("mlp", max_epochs=1), random_state=0)
    learner.fit(preparation.transform(files), np.arange(8) % 2)
    model = PreparedModel(learner, "images", preparation, Decision("embedding", None), "image")
    model.save(tmp_path / "model")
    expected = learner.transform(preparation.transform(files))
    contents = [file.read_bytes() for file in files]
    for part in range(2):
        some = slice(4 * part, 4 * part + 4)
        table = {"id": np.arange(8)[some], "image": contents[some]}
        parquet.write_table(pa.table(table), tmp_path / f"part-{part}.parquet")
    request = EmbedShardsRequest(
        model=tmp_path / "model", data=(tmp_path / "part-*.parquet",), out=tmp_path / "out"
    )
    embed_shards(request)
    there = points_in(tmp_path / "out")
    np.testing.assert_allclose([there[row] for row in range(8)], expected, atol=1e-6)
    damaged = {"id": [8, 9], "image": [io.BytesIO(contents[0]).read(20), None]}
    parquet.write_table(pa.table(damaged), tmp_path / "part-2.parquet")
    assert "has no image in 'image' at row 1" in embed_shards(request).why_incomplete


# On Ray


def test_an_engine_that_is_not_there_is_named_with_its_line(model, shards, monkeypatch):
    monkeypatch.setattr("twofold.tasks._embed_ray.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs Ray: pip install 'twofold\[ray\]'"):
        embed(model, shards, engine="ray")


@pytest.mark.filterwarnings("default")  # Ray's own
@pytest.mark.skipif(not find_spec("ray"), reason="needs Ray: pip install 'twofold[ray]'")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds Ray's workers in /proc")
def test_ray_gives_the_same_points_though_a_worker_is_killed(model, shards, monkeypatch):
    mark = f"TWOFOLD_TEST={uuid.uuid4()}"
    monkeypatch.setenv(*mark.split("="))
    embed(model, shards)
    expected = points_in(shards.with_name("out"))
    for file in shards.with_name("out").iterdir():
        file.unlink()
    killed = []
    watching = threading.Thread(target=kill_a_worker, args=(mark.encode(), killed))
    watching.start()
    result = embed(model, shards, engine="ray")
    watching.join()
    assert len(killed) == 1
    assert (result.failures, result.n_items) == ((), 150)
    there = points_in(shards.with_name("out"))
    assert there.keys() == expected.keys()
    np.testing.assert_allclose([there[one] for one in expected], list(expected.values()), atol=1e-6)


def kill_a_worker(mark: bytes, killed: list[int]) -> None:
    """Kill the first process of a Ray that was started with a mark once it embeds."""
    while not killed:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                is_worker = (place / "cmdline").read_bytes().startswith(b"ray::RayShardEmbedder")
                if is_worker and mark in (place / "environ").read_bytes():
                    os.kill(int(place.name), signal.SIGKILL)
                    killed.append(int(place.name))
                    return
            except OSError:  # it has ended
                continue
        time.sleep(0.05)
