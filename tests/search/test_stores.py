"""Every store returns what our own folder returns, which is what a loop over all points says."""

from __future__ import annotations

import json
from datetime import date
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from twofold.search import NeighbourIndex
from twofold.search.stores import Card, Condition, create_store, open_store, write_faiss

PACKAGES = {"faiss": "faiss", "lance": "lancedb", "qdrant": "qdrant_client"}
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((40, 3)).astype(np.float32)
QUERIES = RNG.standard_normal((3, 3)).astype(np.float32)
MAKERS = ["acme", "it's", "bolt", None]
COLUMNS = pa.table({"maker": [MAKERS[n % 4] for n in range(40)], "price": np.arange(40) / 2})


def needs(store: str):
    package = PACKAGES.get(store, "numpy")
    reason = f"needs {package}: pip install 'twofold[{store}]'"
    return pytest.param(store, marks=pytest.mark.skipif(not find_spec(package), reason=reason))


STORES = [needs(store) for store in ("folder", *PACKAGES)]
# What the packages of others do at their import, and to files when they end, is theirs.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def card(store, metric="euclidean", **more):
    return Card(store=store, model="m" * 64, metric=metric, dim=3, **more)


def filled(folder, store, metric="euclidean", ids=range(40)):
    made = create_store(folder, card(store, metric, columns=("maker", "price")))
    made.upsert(list(ids), POINTS, COLUMNS)
    made.flush()
    return made


def by_hand(metric, query, rows=range(40)):
    """Return rows, most similar first, and their similarities."""
    points = POINTS[list(rows)].astype(np.float64)
    similarity = {
        "euclidean": -np.linalg.norm(points - query, axis=1),
        "dot": points @ query,
        "cosine": points @ query / np.linalg.norm(points, axis=1) / np.linalg.norm(query),
    }[metric]
    order = np.argsort(-similarity)
    return [list(rows)[n] for n in order], similarity[order]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_neighbours_are_those_of_a_loop(tmp_path, store, metric):
    made = filled(tmp_path / "index", store, metric)
    for query, hits in zip(QUERIES, made.query(QUERIES, 5), strict=True):
        rows, similarity = by_hand(metric, query)
        assert [hit.id for hit in hits] == rows[:5]
        np.testing.assert_allclose([hit.similarity for hit in hits], similarity[:5], atol=1e-4)
        for hit in hits:
            expected = -hit.similarity if metric == "euclidean" else 1 - hit.similarity
            assert hit.distance == pytest.approx(expected, abs=1e-5)
            assert hit.fields == {"maker": MAKERS[hit.id % 4], "price": hit.id / 2}
    made.close()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        (["price <= 3"], range(7)),
        (["price>3", "price<5"], (7, 8, 9)),
        (["maker = acme"], range(0, 40, 4)),
        (["maker = 'it''s'".replace("''", "'")], range(1, 40, 4)),
        (["price >= 100"], ()),
        (["price = 3.5"], (7,)),
        (["price = 3"], (6,)),
        (["id = 9"], (9,)),
    ],
)
def test_only_what_meets_the_conditions_is_returned(tmp_path, store, conditions, rows):
    made = filled(tmp_path / "index", store)
    hits = made.query(QUERIES[:1], 4, list(map(Condition.parse, conditions)))[0]
    expected, _ = by_hand("euclidean", QUERIES[0], rows) if rows else ([], [])
    assert [hit.id for hit in hits] == expected[:4]
    with pytest.raises(ValueError, match="has no column 'colour'"):
        made.query(QUERIES, 2, [Condition("colour", "=", "red")])
    made.close()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("ids", [range(40), [f"r{n}'s" for n in range(40)]], ids=["int", "text"])
def test_new_rows_are_taken_in_and_old_ones_replaced_and_all_is_there_again(tmp_path, store, ids):
    ids = list(ids)
    filled(tmp_path / "index", store, ids=ids).close()
    again, said = open_store(tmp_path / "index", model="m" * 64)
    assert (said.store, again.metric, again.n_items) == (store, "euclidean", 40)
    new = 99 if isinstance(ids[0], int) else "new"
    more = pa.table({"maker": ["delta", "emko"], "price": [7.0, 8.0]})
    again.upsert([ids[3], new], QUERIES[:2], more)
    again.flush()
    again.close()
    third, _ = open_store(tmp_path / "index")
    assert third.n_items == 41
    first, second = (hits[0] for hits in third.query(QUERIES[:2], 1))
    assert (first.id, first.fields["maker"]) == (ids[3], "delta")
    assert (second.id, second.fields["price"], second.similarity) == (new, 8.0, pytest.approx(0))
    assert third.query(POINTS[3:4], 1)[0][0].id != ids[3]
    third.close()


# A file for FAISS


@pytest.mark.skipif(not find_spec("faiss"), reason="needs FAISS: pip install 'twofold[faiss]'")
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_faiss_alone_opens_its_file(tmp_path, metric):
    import faiss

    filled(tmp_path / "index", "faiss", metric, ids=range(100, 140))
    opened = faiss.read_index(str(tmp_path / "index" / "points.faiss"))
    queries = QUERIES.copy()
    if metric == "cosine":
        faiss.normalize_L2(queries)
    _, found = opened.search(queries, 5)
    assert found.tolist() == [[100 + n for n in by_hand(metric, one)[0][:5]] for one in QUERIES]
    assert opened.ntotal == 40


@pytest.mark.skipif(not find_spec("faiss"), reason="needs FAISS: pip install 'twofold[faiss]'")
def test_faiss_makes_what_it_is_told_to(tmp_path):
    import faiss

    index = NeighbourIndex("euclidean")
    index.add([f"r{n}" for n in range(300)], RNG.standard_normal((300, 4)))
    write_faiss(index, tmp_path / "ivf.faiss", "IVF4,Flat")
    opened = faiss.read_index(str(tmp_path / "ivf.faiss"))
    assert faiss.downcast_index(opened.index).nlist == 4
    _, found = opened.search(index.points[7:8], 1)
    assert found.tolist() == [[7]]
    with pytest.raises(ValueError, match="FAISS cannot make 'PQ3'"):
        write_faiss(index, tmp_path / "other.faiss", "PQ3")


@pytest.mark.skipif(not find_spec("faiss"), reason="needs FAISS: pip install 'twofold[faiss]'")
@pytest.mark.parametrize("factory", [None, "BIVF2"])
def test_faiss_alone_opens_its_file_of_codes(tmp_path, factory):
    import faiss

    codes = RNG.integers(0, 256, size=(90, 3), dtype=np.uint8)
    said = Card(store="faiss", model="m" * 64, metric="hamming", dim=20, factory=factory)
    made = create_store(tmp_path / "index", said)
    made.upsert(range(100, 190), codes, None)
    made.flush()
    opened = faiss.read_index_binary(str(tmp_path / "index" / "points.faiss"))
    assert (opened.ntotal, opened.d) == (90, 24)
    if factory is not None:
        faiss.downcast_IndexBinary(opened.index).nprobe = 2
    distances, found = opened.search(codes[:5], 90)
    bits = np.unpackbits(codes, axis=1)
    apart = (bits[:5, None] != bits[None]).sum(axis=2)
    np.testing.assert_array_equal(distances, np.sort(apart, axis=1))
    np.testing.assert_array_equal(np.take_along_axis(apart, found - 100, axis=1), distances)
    assert [hit.distance for hit in made.query(codes[:1], 90)[0]] == distances[0].tolist()


# Columns and their kinds


@pytest.mark.parametrize("store", STORES)
def test_new_rows_are_kept_in_the_kinds_of_the_first(tmp_path, store):
    filled(tmp_path / "index", store).close()
    again, said = open_store(tmp_path / "index")
    assert said.kinds == ("text", "numbers")
    again.upsert([50], QUERIES[:1], pa.table({"maker": [7], "price": ["8"]}))
    with pytest.raises(ValueError, match="'price' keeps numbers in this index, but row 1 has 'x'"):
        again.upsert([51, 52], QUERIES[:2], pa.table({"maker": ["a", "b"], "price": ["1", "x"]}))
    assert again.n_items == 41
    again.flush()
    again.close()
    third, _ = open_store(tmp_path / "index")
    assert third.query(QUERIES[:1], 1)[0][0].fields == {"maker": "7", "price": 8.0}
    third.close()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("maker < 3", "keeps the column 'maker' as text, .* 3: write maker < '3' to compare"),
        ("maker = true", "write maker = 'true'"),
        ("price < acme", "'price' holds numbers, which cannot be compared with 'acme'"),
        ("price = '3'", "'price' holds numbers, which cannot be compared with '3'"),
        ("price = true", "'price' holds numbers"),
        ("new = 1", "'new' holds true or false, .* write new = true"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(tmp_path, store, condition, sentence):
    made = create_store(tmp_path / "index", card(store, columns=("maker", "price", "new")))
    columns = COLUMNS.append_column("new", pa.array([False, True] * 20))
    made.upsert(list(range(40)), POINTS, columns)
    with pytest.raises(ValueError, match=sentence):
        made.query(QUERIES, 2, [Condition.parse(condition)])
    hits = made.query(QUERIES, 40, [Condition.parse("new = true")])[0]
    assert {hit.id % 2 for hit in hits} == {1}
    made.close()


def test_dates_are_compared_with_dates(tmp_path):
    made = create_store(tmp_path / "index", card("folder", columns=("day",)))
    days = pa.table({"day": [date(2024, 1, n + 1) for n in range(30)]})
    made.upsert(list(range(30)), POINTS[:30], days)
    hits = made.query(QUERIES, 40, [Condition.parse("day < 2024-01-04")])[0]
    assert {hit.id for hit in hits} == {0, 1, 2}
    with pytest.raises(
        ValueError, match=r"'day' holds date32.*, which cannot be compared with 'x'"
    ):
        made.query(QUERIES, 1, [Condition.parse("day < x")])


def test_ids_of_two_kinds_stay_what_they_are(tmp_path):
    made = filled(tmp_path / "index", "folder")
    made.upsert(["7", "x"], QUERIES[:2], COLUMNS[:2])
    made.flush()
    again, _ = open_store(tmp_path / "index")
    for text, expected in {"id = 7": {7}, "id = '7'": {"7"}, "id > 38": {39}}.items():
        assert {hit.id for hit in again.query(QUERIES, 9, [Condition.parse(text)])[0]} == expected


@pytest.mark.skipif(not find_spec("lancedb"), reason="needs pip install 'twofold[lance]'")
def test_lance_refuses_ids_of_another_kind(tmp_path):
    made = filled(tmp_path / "index", "lance", ids=[f"r{n}" for n in range(40)])
    with pytest.raises(ValueError, match="The ids in this index are text, but the new rows have 3"):
        made.upsert([3, 4], POINTS[:2], COLUMNS[:2])
    with pytest.raises(ValueError, match="LanceDB cannot compare these as `id` < 3 asks"):
        made.query(QUERIES, 1, [Condition("id", "<", 3)])


def test_an_index_of_before_is_searched_but_takes_in_no_columns(tmp_path):
    filled(tmp_path / "index", "folder")
    file = tmp_path / "index" / "vectors.json"
    said = json.loads(file.read_text())
    del said["kinds"]
    file.write_text(json.dumps(said))
    again, _ = open_store(tmp_path / "index")
    assert again.query(QUERIES[:1], 1, [Condition.parse("price = 3")])[0][0].id == 6
    with pytest.raises(ValueError, match=r"'maker' holds .*string, which cannot be compared"):
        again.query(QUERIES[:1], 1, [Condition.parse("maker < 3")])
    with pytest.raises(ValueError, match="an earlier Twofold wrote it: rebuild the index"):
        again.upsert([3], POINTS[:1], COLUMNS[:1])


# Mistakes


@pytest.mark.parametrize("text", ["price", "price != 3", "<= 3", ""])
def test_what_is_no_condition_is_named(text):
    with pytest.raises(ValueError, match="is not a condition"):
        Condition.parse(text)


def test_values_of_conditions_have_their_kinds():
    values = [Condition.parse(f"a={text}").value for text in ("3", "3.5", "True", "'3'", "x=y")]
    assert values == [3, 3.5, True, "3", "x=y"]
    texts = ("0012", "1_000", "nan", "inf", "1e999")
    assert [Condition.parse(f"a={text}").value for text in texts] == list(texts)
    assert Condition.parse("a=9007199254740993").value == 9007199254740993
    assert [type(value) for value in values[:3]] == [int, float, bool]


@pytest.mark.parametrize("store", ["faiss", "lance", "qdrant"])
def test_an_extra_that_is_not_there_is_named_with_its_line(tmp_path, monkeypatch, store):
    module = {"faiss": "_faiss_file"}.get(store, f"_{store}")
    monkeypatch.setattr(f"twofold.search.stores.{module}.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf"--store {store} needs .*'twofold\[{store}\]'"):
        create_store(tmp_path / "index", card(store))
    assert not (tmp_path / "index").exists()


@pytest.mark.skipif(not find_spec("qdrant_client"), reason="needs pip install 'twofold[qdrant]'")
def test_a_database_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(OSError, match=r"Qdrant does not answer at http://127\.0\.0\.1:9"):
        create_store(tmp_path / "index", card("qdrant", url="http://127.0.0.1:9"))


@pytest.mark.skipif(not find_spec("qdrant_client"), reason="needs pip install 'twofold[qdrant]'")
def test_a_folder_of_qdrant_s_that_is_in_use_is_a_sentence(tmp_path):
    made = filled(tmp_path / "index", "qdrant")
    with pytest.raises(OSError, match="is in use by another program"):
        open_store(tmp_path / "index")
    with pytest.raises(ValueError, match="only compares text with ="):
        made.query(QUERIES, 1, [Condition("maker", "<", "b")])
    made.close()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"columns": ("vector",)}, "'vector' is used by the index itself"),
        ({"url": "http://127.0.0.1:9"}, "--url is for a Qdrant server, but --store is folder"),
        ({"factory": "Flat"}, "--factory is for FAISS"),
        ({"store": "lance", "metric": "hamming"}, "LanceDB.* codes of bits: use --store folder"),
        ({"store": "qdrant", "metric": "hamming"}, "Qdrant compares numbers.* or --store faiss"),
    ],
)
def test_options_of_another_store_are_refused(tmp_path, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        create_store(tmp_path / "index", card(**{"store": "folder"} | options))
    assert not (tmp_path / "index").exists()


@pytest.mark.skipif(not find_spec("faiss"), reason="needs FAISS: pip install 'twofold[faiss]'")
@pytest.mark.parametrize(("metric", "factory"), [("hamming", "IVF4,Flat"), ("dot", "nonsense")])
def test_what_faiss_cannot_make_is_refused_before_the_work(tmp_path, metric, factory):
    with pytest.raises(ValueError, match=f"FAISS cannot make '{factory}'"):
        create_store(tmp_path / "index", card("faiss", metric, factory=factory))
    assert not (tmp_path / "index").exists()


def test_an_index_of_another_model_or_a_damaged_one_is_refused(tmp_path):
    filled(tmp_path / "index", "folder")
    with pytest.raises(ValueError, match="holds points of another model"):
        open_store(tmp_path / "index", model="n" * 64)
    file = tmp_path / "index" / "vectors.json"
    for change, sentence in (
        ('"dim": 3', "do not fit"),
        ('"format_version": 1', "format version 7"),
        ('"twofold-vectors"', "does not say"),
    ):
        said = file.read_text()
        file.write_text(
            said.replace(change, change.split(":")[0] + ": 7" if ":" in change else "7")
        )
        if "dim" in change:
            file.write_text(said.replace(change, '"dim": "x"'))
        with pytest.raises(ValueError, match=sentence):
            open_store(tmp_path / "index")
        file.write_text(said)
    with pytest.raises(FileNotFoundError, match="was not written by twofold index"):
        open_store(tmp_path)
