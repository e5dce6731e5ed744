from __future__ import annotations

import json

import numpy as np
import pytest

from twofold.search import IndexStore, NeighbourIndex, row_digest


def index_of(ids, metric="cosine"):
    index = NeighbourIndex(metric, backend="numpy")
    points = np.random.default_rng(0).standard_normal((len(ids), 3))
    index.add(ids, points)
    return index


@pytest.mark.parametrize(
    "ids", [[5, -7, 2**40], ["a", "ü", ""], [("a", 1), ("a", (2, None)), 1.5], [2**80, True, "x"]]
)
def test_an_index_that_is_opened_again_is_the_same(tmp_path, ids):
    index = index_of(ids, "euclidean")
    assert index.save(tmp_path / "index") == tmp_path / "index"
    opened = NeighbourIndex.open(tmp_path / "index", backend="numpy")
    assert opened.ids.tolist() == ids
    assert opened.metric == "euclidean"
    np.testing.assert_array_equal(opened.points, index.points)
    queries = np.ones((2, 3))
    np.testing.assert_array_equal(opened.query(queries, 2).rows, index.query(queries, 2).rows)


def test_points_stay_in_their_file_until_they_change(tmp_path):
    index_of([1, 2, 3]).save(tmp_path / "index")
    opened = NeighbourIndex.open(tmp_path / "index", backend="numpy")
    base = opened.points
    while getattr(base, "base", None) is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    opened.add([3, 4], np.ones((2, 3)), replace=True)
    opened.remove([1])
    assert opened.ids.tolist() == [2, 3, 4]
    opened.save(tmp_path / "index")  # over the file that it was mapped from
    assert NeighbourIndex.open(tmp_path / "index").ids.tolist() == [2, 3, 4]


def test_an_empty_index_is_saved_too(tmp_path):
    NeighbourIndex("dot").save(tmp_path / "index")
    opened = NeighbourIndex.open(tmp_path / "index", backend="numpy")
    assert opened.n_items == 0
    opened.add(["a"], [[1.0, 2.0]])
    assert opened.dim == 2


def test_an_id_that_a_file_would_not_give_back_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(TypeError, match="The id b'x' cannot be saved"):
        index_of([b"x"]).save(tmp_path / "index")
    assert not list(tmp_path.iterdir())


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(FileExistsError, match="contains other files and was left alone"):
        index_of([1]).save(tmp_path)


def damage_card(**entries):
    def damage(folder):
        card = json.loads((folder / "index.json").read_text())
        (folder / "index.json").write_text(json.dumps(card | entries))

    return damage


def damage_array(name, array):
    return lambda folder: np.save(folder / name, array, allow_pickle=True)


def damage_text(name, text):
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (damage_card(format="tar"), "does not say 'twofold-index'"),
        (damage_card(format_version=3), "format version 3, but this Twofold reads 1 and 2"),
        (damage_card(metric="__import__"), "its metric is '__import__'"),
        (damage_card(n_items=-1), "its n_items is '-1'"),
        (damage_card(dim=True), "its dim is 'True'"),
        (damage_card(ids="../../etc/passwd"), "its ids is '../../etc/passwd'"),
        (damage_card(n_items=4), r"points.npy holds float32 of shape \(3, 3\)"),
        (damage_text("index.json", "[" * 100_000), "nested too deeply"),
        (damage_text("index.json", "[1]"), "is not part of an index"),
        (damage_array("points.npy", np.full((3, 3), np.nan, np.float32)), "row 0 has nan"),
        (damage_array("points.npy", np.zeros((3, 3))), "points.npy holds float64"),
        (damage_array("points.npy", np.array([object()])), "pickled objects"),
        (damage_text("points.npy", "no numbers"), "points.npy cannot be read"),
        (damage_array("ids.npy", np.array([1, 1, 2])), "must be different for every item"),
        (damage_array("ids.npy", np.array([1, 2])), "it has 2 ids for 3 points"),
        (damage_array("ids.npy", np.array(["a", "b", "c"])), "ids.npy holds <U1"),
        (damage_array("ids.npy", np.array([object()] * 3)), "pickled objects"),
        (damage_array("ids.npy", np.zeros((3, 1), np.int64)), "ids must have one dimension"),
    ],
)
def test_a_folder_that_was_tampered_with_is_a_sentence(tmp_path, damage, sentence):
    folder = index_of([1, 2, 3]).save(tmp_path / "index")
    damage(folder)
    with pytest.raises(ValueError, match=sentence):
        NeighbourIndex.open(folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('["a", "b"]', "it has 2 ids for 3 points"),
        ('["a", {"b": 1}, "c"]', "an id is an object"),
        ('{"a": 1}', "ids are not a list"),
        ('["a", NaN, "c"]', "holds NaN"),
        ('["a", 1e999, "c"]', "not a finite number"),
    ],
)
def test_ids_that_were_tampered_with_are_a_sentence(tmp_path, text, sentence):
    folder = index_of(["a", "b", "c"]).save(tmp_path / "index")
    (folder / "ids.json").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        NeighbourIndex.open(folder)


@pytest.mark.parametrize("name", ["points.npy", "ids.npy"])
def test_a_file_that_is_gone_or_cut_off_is_named(tmp_path, name):
    folder = index_of([1, 2, 3]).save(tmp_path / "index")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=f"{name} cannot be read"):
        NeighbourIndex.open(folder)
    (folder / name).unlink()
    with pytest.raises((ValueError, FileNotFoundError), match=name):
        NeighbourIndex.open(folder)


def test_what_is_no_index_is_said_to_be_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a Twofold index"):
        NeighbourIndex.open(tmp_path / "nowhere")


# The store


def digests(*contents):
    return [row_digest(content) for content in contents]


def store_of(ids, contents, model="m"):
    store = IndexStore("euclidean", model=model, backend="numpy")
    store.add(np.zeros((store.update(ids, digests(*contents)).to_embed.size, 1)))
    return store


def test_only_new_and_changed_rows_are_embedded_and_vanished_ones_removed(tmp_path):
    store_of(["a", "b", "c"], ["1", "2", "3"]).save(tmp_path / "kept")
    store = IndexStore.open(tmp_path / "kept", model="m", backend="numpy")
    update = store.update(["d", "c", "b"], digests("4", "3", "changed"))
    assert update.to_embed.tolist() == [0, 2]
    assert (update.n_new, update.n_changed, update.n_kept, update.n_gone) == (1, 1, 1, 1)
    store.add([[7.0]])  # in parts
    store.add([[8.0]])
    assert store.index.ids.tolist() == ["b", "c", "d"]
    assert store.index.points.ravel().tolist() == [8, 0, 7]
    store.save(tmp_path / "kept")
    again = IndexStore.open(tmp_path / "kept", model="m").update(
        ["b", "c", "d"], digests("changed", "3", "4")
    )
    assert again.to_embed.size == 0


def test_a_row_that_was_never_embedded_is_asked_for_again(tmp_path):
    store = IndexStore("dot", model="m", backend="numpy")
    store.update([1, 2], digests("x", "y"))
    store.add([[1.0]])
    store.save(tmp_path / "kept")
    opened = IndexStore.open(tmp_path / "kept", model="m")
    assert opened.update([1, 2], digests("x", "y")).to_embed.tolist() == [1]


def test_points_of_another_model_are_refused(tmp_path):
    store_of(["a"], ["1"], model="old").save(tmp_path / "kept")
    with pytest.raises(ValueError, match="points of another model \\('old', not 'new'\\)"):
        IndexStore.open(tmp_path / "kept", model="new")


def test_points_that_nobody_asked_for_are_refused():
    with pytest.raises(ValueError, match="1 points came for 0 rows"):
        store_of(["a"], ["1"]).add([[1.0]])
    with pytest.raises(ValueError, match="There are 1 ids for 2 digests"):
        store_of(["a"], ["1"]).update(["a"], digests("1", "2"))
    with pytest.raises(TypeError, match="first wrong at row 1"):
        store_of(["a"], ["1"]).update(["a", "b"], [row_digest(1), b"short"])


def test_rows_of_different_content_have_different_digests():
    rows = [("ab", "c"), ("a", "bc"), (1,), ("1",), (np.zeros(2),), (np.zeros((2, 1)),), ()]
    assert len({row_digest(*row) for row in rows}) == len(rows)
    assert row_digest("a", 1) == row_digest("a", 1)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (damage_array("digests.npy", np.zeros((3, 16), np.uint8)), "digests.npy holds uint8"),
        (damage_text("store.json", '{"format": "x"}'), "does not say 'twofold-index-store'"),
        (
            damage_text("store.json", '{"format": "twofold-index-store", "format_version": 1}'),
            "does not say which model made it",
        ),
    ],
)
def test_a_store_that_was_tampered_with_is_a_sentence(tmp_path, damage, sentence):
    folder = store_of(["a", "b"], ["1", "2"]).save(tmp_path / "kept")
    damage(folder)
    with pytest.raises(ValueError, match=sentence):
        IndexStore.open(folder, model="m")
    (folder / "store.json").unlink()
    with pytest.raises(FileNotFoundError, match="is not a stored index"):
        IndexStore.open(folder, model="m")
