"""A model on files: points, matches, groups, neighbours, scores."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from twofold.datasets import read_records
from twofold.matching import embedding_evidence
from twofold.tasks import (
    EmbedRequest,
    EvaluateRequest,
    FitRequest,
    MatchRequest,
    PreparedModel,
    SearchRequest,
    embed_file,
    evaluate_files,
    fit_files,
    match_files,
    search_files,
)
from twofold.tasks._evaluate import _first_fields


@pytest.fixture(scope="module")
def model(products: Path, matched) -> Path:
    return products / "model"


def test_points_are_those_of_the_model_with_their_ids(products, model, tmp_path):
    expected = PreparedModel.open(model).embed(read_records(products / "left.csv"))
    for name in ("points.parquet", "points.npy"):
        request = EmbedRequest(model=model, data=products / "left.csv", out=tmp_path / name)
        result = embed_file(request)
        assert (result.n_items, result.n_components) == expected.shape
    table = parquet.read_table(tmp_path / "points.parquet")
    np.testing.assert_allclose(np.stack(table["point"].to_pylist()), expected, atol=1e-5)
    assert table["id"].to_pylist() == [f"a{number}" for number in range(60)]
    np.testing.assert_allclose(np.load(tmp_path / "points.npy"), expected, atol=1e-5)
    assert csv.read_csv(tmp_path / "points-ids.csv")["id"].to_pylist()[:2] == ["a0", "a1"]


def test_matches_are_the_pairs_that_reach_the_threshold(products, model, tmp_path, matched):
    request = MatchRequest(
        model=model,
        left=products / "left.csv",
        right=products / "right.csv",
        out=tmp_path / "m.csv",
        columns=("title",),
    )
    result = match_files(request)
    table = csv.read_csv(tmp_path / "m.csv")
    assert table.num_rows == result.n_matches
    score = "probability" if matched.decision.by == "pair model" else "similarity"
    assert table.column_names == ["left", "right", score, "left_title", "right_title"]
    every = np.stack(np.divmod(np.arange(3600), 60), axis=1)
    left, right = (read_records(products / f"{side}.csv") for side in ("left", "right"))
    scores = PreparedModel.open(model).pair_scores(left, right, every)
    reach = every[scores >= matched.decision.threshold]
    found = zip(*(table[side].to_pylist() for side in ("left", "right")), strict=True)
    expected = {(f"a{i}", f"b{j}") for i, j in reach}
    assert set(found) == expected
    assert sum((f"a{k}", f"b{k}") in expected for k in range(60)) >= 50


def test_the_pair_model_is_told_what_the_saved_embedding_says(tmp_path):
    files = Path(__file__).parents[2] / "examples" / "data" / "products"
    request = FitRequest(
        data=files / "left.csv",
        right=files / "right.csv",
        pairs=files / "train.csv",
        valid=files / "valid.csv",
        out=tmp_path / "model",
    )
    assert fit_files(request).decision.by == "pair model"
    opened = PreparedModel.open(tmp_path / "model")
    left, right = (read_records(files / f"{side}.csv") for side in ("left", "right"))
    pairs = np.column_stack([np.arange(90), np.roll(np.arange(90), 1)])
    points = opened.embed_both(left, right)
    evidence = embedding_evidence(
        *points, pairs, metric=opened.learner.metric_, scale=opened.embedding_scale
    )
    said = opened.pair_classifier.predict_proba(
        pairs, records=left.table, right_records=right.table, similarity=evidence
    )[:, 1]
    np.testing.assert_allclose(opened.pair_scores(left, right, pairs), said)
    np.testing.assert_allclose(opened.pair_scores(left, right, pairs, points), said)
    told = opened.explain(left, right, pairs)
    assert {"title", "*", "embedding", "base"} <= set(told)
    assert np.abs(told["embedding"]).max() > 0.01
    log_odds = np.log(said / (1 - said))
    np.testing.assert_allclose(np.sum([*told.values()], axis=0), log_odds, rtol=1e-6, atol=1e-6)


def test_one_to_one_takes_every_row_once(products, model, tmp_path):
    request = MatchRequest(
        model=model,
        left=products / "left.csv",
        right=products / "right.csv",
        out=tmp_path / "m.parquet",
        one_to_one=True,
        threshold=0.0,
    )
    match_files(request)
    table = parquet.read_table(tmp_path / "m.parquet")
    for side in ("left", "right"):
        assert len(set(table[side].to_pylist())) == table.num_rows


def test_groups_keep_their_names_when_rows_are_added(products, model, tmp_path):
    lines = (products / "left.csv").read_text().splitlines()
    heading, rows = lines[0], lines[1:21]
    copies = [row.replace("a", "c", 1) for row in rows[:5]]
    (tmp_path / "small.csv").write_text("\n".join([heading, *rows, *copies]) + "\n")
    first = MatchRequest(
        model=model, left=tmp_path / "small.csv", out=tmp_path / "groups.csv", clusters=True
    )
    result = match_files(first)
    assert result.n_groups >= 5
    before = csv.read_csv(tmp_path / "groups.csv")
    called = dict(zip(*(before[name].to_pylist() for name in ("id", "group")), strict=True))
    assert all(called[f"c{number}"] == called[f"a{number}"] for number in range(5))

    # The first row of a group goes, and new ones come in front.
    more = [row.replace("a", "d", 1) for row in rows[3:6]]
    (tmp_path / "later.csv").write_text("\n".join([heading, *more, *rows[1:], *copies]) + "\n")
    second = MatchRequest(
        model=model,
        left=tmp_path / "later.csv",
        out=tmp_path / "groups2.csv",
        clusters=True,
        previous=tmp_path / "groups.csv",
    )
    match_files(second)
    after = csv.read_csv(tmp_path / "groups2.csv")
    now = dict(zip(*(after[name].to_pylist() for name in ("id", "group")), strict=True))
    assert {name: now[name] for name in called if name in now} == {
        name: group for name, group in called.items() if name in now
    }
    assert now["d3"] == called["a3"]


def test_an_item_is_its_own_neighbour_no_more_and_the_index_is_kept(products, model, tmp_path):
    request = SearchRequest(
        model=model,
        index=products / "right.csv",
        query=products / "left.csv",
        k=3,
        store=tmp_path / "kept",
        columns=("title",),
    )
    result = search_files(request)
    assert result.n_embedded == 60
    assert result.neighbours.ids.shape == (60, 3)
    hits = sum(f"b{number}" in result.neighbours.ids[number] for number in range(60))
    assert hits >= 50
    assert len(result.fields["title"][0]) == 3

    again = search_files(request)
    assert again.n_embedded == 0
    np.testing.assert_array_equal(again.neighbours.ids, result.neighbours.ids)


def test_only_rows_that_changed_are_embedded_again(products, model, tmp_path):
    lines = (products / "right.csv").read_text().splitlines()
    table = tmp_path / "right.csv"

    def search(rows: list[str]):
        table.write_text("\n".join(rows) + "\n")
        return search_files(SearchRequest(model=model, index=table, query=products / "left.csv"))

    assert search(lines[:41]).n_embedded == 40
    changed = [lines[0], lines[1] + "9", *lines[3:46]]
    result = search(changed)
    assert result.n_embedded == 6
    assert result.n_items == 44
    fresh = tmp_path / "fresh"
    whole = search_files(
        SearchRequest(model=model, index=table, query=products / "left.csv", store=fresh)
    )
    np.testing.assert_array_equal(np.sort(whole.neighbours.ids), np.sort(result.neighbours.ids))


def test_an_evaluation_counts_what_is_wrong(products, model):
    request = EvaluateRequest(
        model=model,
        data=products / "left.csv",
        right=products / "right.csv",
        pairs=products / "test.csv",
    )
    evaluation = evaluate_files(request)
    scores = evaluation.decisions
    assert scores.n_similar + scores.n_dissimilar == 60
    assert scores.auroc > 0.9
    assert evaluation.n_misses == round((1 - scores.recall) * scores.n_similar)
    low = evaluate_files(EvaluateRequest(**{**_fields(request), "threshold": -1e9}))
    assert low.n_false_alarms == scores.n_dissimilar
    assert low.n_misses == 0
    wrong = low.false_alarms[0]
    assert set(wrong.left) == {"title", "maker", "price"}
    assert wrong.left_id.startswith("a")
    assert [one.score for one in low.false_alarms] == sorted(
        (one.score for one in low.false_alarms), reverse=True
    )


def test_classes_are_retrieved(flowers, classified):
    request = EvaluateRequest(model=flowers / "model", data=flowers / "test.csv", labels="species")
    evaluation = evaluate_files(request)
    assert evaluation.retrieval.recall_at[1] > 0.85
    assert evaluation.decisions.n_similar + evaluation.decisions.n_dissimilar == 50 * 49 // 2


def test_rows_of_another_kind_are_refused(products, model, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"fitted on a table, but .* is an array of numbers"):
        embed_file(EmbedRequest(model=model, data=tmp_path / "x.npy", out=tmp_path / "p.npy"))
    assert not (tmp_path / "p.npy").exists()


@pytest.mark.parametrize(
    ("task", "request_type", "options", "sentence"),
    [
        (embed_file, EmbedRequest, {"data": "left.csv", "out": "p.txt"}, "must end in one of"),
        (match_files, MatchRequest, {"left": "left.csv", "out": "m.txt"}, "must end in one of"),
        (
            match_files,
            MatchRequest,
            {"left": "left.csv", "right": "right.csv", "out": "m.csv", "clusters": True},
            "--clusters groups the rows of one table",
        ),
        (match_files, MatchRequest, {"left": "left.csv", "out": "pairs.csv"}, "add --overwrite"),
        (
            evaluate_files,
            EvaluateRequest,
            {"data": "left.csv", "pairs": "pairs.csv", "labels": "maker"},
            "with either --pairs FILE or --labels COLUMN",
        ),
    ],
)
def test_a_users_mistake_is_one_sentence(products, model, task, request_type, options, sentence):
    places = ("data", "left", "right", "out", "pairs")
    options = {
        name: products / value if name in places else value for name, value in options.items()
    }
    with pytest.raises((ValueError, OSError), match=sentence):
        task(request_type(model=model, **options))


def _fields(request) -> dict:
    return {name: getattr(request, name) for name in type(request).__dataclass_fields__}


def test_of_a_wide_row_the_first_fields_are_shown_and_the_rest_is_counted():
    wide = {f"column {n}": "1" for n in range(520)}
    shown = _first_fields(wide)
    assert (len(shown), shown["…"]) == (21, "500 more")
    assert _first_fields({"title": "a lamp"}) == {"title": "a lamp"}
