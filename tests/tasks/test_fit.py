"""From files to a model: what is learnt, what is held out, and what a user is told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twofold import load
from twofold._core.warnings import gathered
from twofold.datasets import read_records
from twofold.estimators import MetricLearner
from twofold.evaluation import decision_scores
from twofold.matching import PairClassifier
from twofold.relations import LabelRelation, PairRelation
from twofold.tasks import (
    Candidate,
    Decision,
    EvaluateRequest,
    FitRequest,
    PreparedModel,
    evaluate_files,
    fit_files,
)
from twofold.tasks._fit import REFIT_SHARE, _doubts, _is_worth_refitting
from twofold.tasks._held_out import given_validation, hold_out
from twofold.tasks._statements import read_pair_relation


def test_what_was_stated_is_counted(matched):
    assert matched.n_items == (60, 60)
    assert set(matched.stated) == {"alike", "not alike"}
    assert sum(matched.stated.values()) == 180
    assert {column.name: column.kind for column in matched.columns}["title"] == "text"


def test_every_candidate_is_scored_on_the_pairs_held_out(matched):
    assert [one.name for one in matched.candidates] == [
        "features as given",
        "embedding",
        "pair model",
    ]
    sizes = {(one.scores.n_similar, one.scores.n_dissimilar) for one in matched.candidates}
    assert len(sizes) == 1
    by_name = {one.name: one.scores for one in matched.candidates}
    best = max(("embedding", "pair model"), key=lambda name: by_name[name].average_precision)
    assert matched.decision.by == best
    assert matched.decision.threshold == by_name[best].threshold
    assert by_name[best].auroc > 0.9


def test_where_columns_suffice_the_embedding_is_not_asked_and_that_is_said(products, tmp_path):
    rows = [line.split(",", 1)[0] for line in (products / "left.csv").read_text().splitlines()[1:]]
    for side in ("left", "right"):
        lines = [f"{row},thing number {number}" for number, row in enumerate(rows)]
        (tmp_path / f"{side}.csv").write_text("\n".join(["id,title", *lines]) + "\n")
    lines = [f"{a},{b},{int(a == b)}" for k, a in enumerate(rows) for b in (a, rows[k - 1])]
    (tmp_path / "pairs.csv").write_text("\n".join(["left,right,similar", *lines]) + "\n")
    result = fit_files(
        FitRequest(
            data=tmp_path / "left.csv",
            right=tmp_path / "right.csv",
            pairs=tmp_path / "pairs.csv",
            out=tmp_path / "model",
        )
    )
    sentence = (
        "The columns alone leave nothing to gain (average precision 1.0000 on held-out pairs), "
        "so the pair model does not use the embedding's similarity."
    )
    assert sentence in result.notes


def test_the_folder_is_a_learner_and_takes_rows_as_they_stand(products, matched):
    learner, model = load(products / "model"), PreparedModel.open(products / "model")
    records = read_records(products / "left.csv")
    points = model.embed(records)
    assert points.shape == (60, matched.n_components)
    np.testing.assert_allclose(learner.transform(model.features(records)), points, atol=1e-5)
    assert model.decision == matched.decision


def test_classes_are_learnt_from_a_column_which_is_no_feature(classified):
    assert classified.stated == {"classes": 3, "items with one": 100}
    assert "species" not in {column.name for column in classified.columns}
    assert classified.decision.by == "embedding"
    assert classified.candidates[1].scores.auroc > 0.9


def test_several_labels_stand_between_semicolons(flowers, tmp_path):
    text = (flowers / "train.csv").read_text().replace("setosa", "wild; small")
    (tmp_path / "several.csv").write_text(text.replace("virginica", "wild;large"))
    result = fit_files(
        FitRequest(
            data=tmp_path / "several.csv", labels="species", out=tmp_path / "model", max_epochs=2
        )
    )
    assert result.stated == {"labels": 4, "items with one": 100}


def test_arrays_are_taken_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(40, 3)))
    lines = [f"{i},{j},{int((i < 20) == (j < 20))}" for i, j in rng.permutation(40).reshape(-1, 2)]
    (tmp_path / "pairs.csv").write_text("\n".join(["left,right,similar", *lines]) + "\n")
    result = fit_files(
        FitRequest(data=tmp_path / "x.npy", pairs=tmp_path / "pairs.csv", out=tmp_path / "model")
    )
    assert result.columns == ()
    assert result.n_features == 3


def of_triplets(flowers, folder, **more) -> FitRequest:
    return FitRequest(
        data=flowers / "train.csv",
        columns=("petal length", "petal width"),
        triplets=folder / "t.csv",
        out=folder / "model",
        **more,
    )


def test_triplets_have_no_threshold_and_that_is_said(flowers, tmp_path):
    ids = [line.split(",")[0] for line in (flowers / "train.csv").read_text().splitlines()[1:]]
    rows = [f"{ids[k]},{ids[k + 1]},{ids[k + 2]}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["anchor,positive,negative", *rows]) + "\n")
    result = fit_files(of_triplets(flowers, tmp_path))
    assert result.decision.threshold is None
    assert any("no threshold" in note for note in result.notes)


def test_with_pairs_beside_them_triplets_have_scores_and_a_threshold(flowers, tmp_path):
    lines = (flowers / "train.csv").read_text().splitlines()[1:]
    ids, kinds = zip(*((line.split(",")[0], line.split(",")[-1]) for line in lines), strict=True)
    said = [
        (kinds[k] == kinds[k + 1], kinds[k] == kinds[k + 2], ids[k], ids[k + 1], ids[k + 2])
        for k in range(98)
    ]
    rows = [
        f"{a},{b},{c}" if near else f"{a},{c},{b}" for near, far, a, b, c in said if near != far
    ]
    (tmp_path / "t.csv").write_text("\n".join(["anchor,positive,negative", *rows]) + "\n")
    pairs = [f"{a},{b},{int(near)}" for near, _, a, b, _ in said]
    (tmp_path / "p.csv").write_text("\n".join(["left,right,similar", *pairs]) + "\n")
    result = fit_files(of_triplets(flowers, tmp_path, valid=tmp_path / "p.csv"))
    assert [one.name for one in result.candidates] == ["features as given", "embedding"]
    assert result.candidates[1].scores.n_similar == sum(near for near, *_ in said)
    assert result.candidates[1].scores.auroc > 0.9
    assert PreparedModel.open(tmp_path / "model").decision == result.decision
    assert np.isfinite(result.decision.threshold)


def test_a_text_and_a_numbered_topic_are_enough(tmp_path):
    words = ("parcel late", "refund card")
    rows = [f"{words[k % 2]} {k},{k % 2}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["text,topic", *rows]) + "\n")
    result = fit_files(FitRequest(data=tmp_path / "t.csv", labels="topic", out=tmp_path / "model"))
    assert [(column.name, column.kind) for column in result.columns] == [("text", "text")]
    assert result.candidates[1].scores.auroc > 0.9
    assert result.notes == ()


@pytest.mark.parametrize(
    ("name", "is_said"),
    [(lambda k: f"A-{k:03}", True), (lambda k: k + 7, True), (lambda k: 2 * k, False),
     (lambda k: f"chair {k}", False), (lambda k: f"A-{k // 2}", False)],
)  # fmt: skip
def test_columns_that_look_like_ids_are_pointed_out(tmp_path, name, is_said):
    rows = [f"{name(k)},{k % 2 + k / 1000},{'ab'[k % 2]}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["sku,x,kind", *rows]) + "\n")
    request = FitRequest(data=tmp_path / "t.csv", labels="kind", out=tmp_path / "model")
    result = fit_files(request)
    assert any("'sku' comes twice" in note and "--id" in note for note in result.notes) == is_said
    if is_said:
        named = fit_files(replace(request, id_column="sku", overwrite=True))
        assert named.notes == ()


def test_pairs_say_which_column_has_the_ids(tmp_path):
    rows = [f"item {k},{k % 2 + k / 1000}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["name,x", *rows]) + "\n")
    said = [f"item {k},item {k + step},{int(step == 2)}" for k in range(38) for step in (1, 2)]
    (tmp_path / "p.csv").write_text("\n".join(["left,right,similar", *said]) + "\n")
    request = FitRequest(data=tmp_path / "t.csv", pairs=tmp_path / "p.csv", out=tmp_path / "model")
    result = fit_files(request)
    assert [column.name for column in result.columns] == ["x"]
    assert any("are those in its column 'name'" in note for note in result.notes)
    scored = evaluate_files(
        EvaluateRequest(model=request.out, data=request.data, pairs=request.pairs)
    )
    assert scored.decisions.auroc > 0.9


def test_a_table_of_nothing_but_labels_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("id,kind\n" + "".join(f"{k},{k % 2}\n" for k in range(9)))
    with pytest.raises(ValueError, match=r"t\.csv has no column besides 'kind' and its ids"):
        fit_files(FitRequest(data=tmp_path / "t.csv", labels="kind", out=tmp_path / "model"))


def test_images_side_by_side_are_asked_into_subfolders(tmp_path):
    (tmp_path / "flat").mkdir()
    for name in "ab":
        Image.new("L", (8, 8)).save(tmp_path / "flat" / f"{name}.png")
    with pytest.raises(ValueError, match=r"flat has its images side by side: .* one subfolder per"):
        fit_files(FitRequest(data=tmp_path / "flat", out=tmp_path / "model"))


def test_an_embedding_that_is_no_better_than_guessing_is_not_praised(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{kind}" for x, kind in zip(rng.normal(size=80), "ab" * 40, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["x,kind", *rows]) + "\n")
    result = fit_files(FitRequest(data=tmp_path / "t.csv", labels="kind", out=tmp_path / "model"))
    assert any("may be no better than guessing (AUROC" in note for note in result.notes)


def test_features_that_do_better_than_the_embedding_are_pointed_out():
    def scored(name, good):
        similar = np.arange(400) % 2 == 0
        similarity = similar + np.random.default_rng(0).normal(size=400) / good
        return Candidate(name, decision_scores(similar, similarity, 0.5, random_state=0))

    decision = Decision("embedding", 0.5)
    worse = (scored("features as given", 3), scored("embedding", 1))
    (note,) = _doubts(worse, decision)
    assert "the features as given do better than the embedding" in note
    assert _doubts((scored("features as given", 1), scored("embedding", 3)), decision) == []


def test_validation_pairs_of_the_users_own_are_scored_on(products, tmp_path):
    result = fit_files(
        FitRequest(
            data=products / "left.csv",
            right=products / "right.csv",
            pairs=products / "pairs.csv",
            valid=products / "test.csv",
            out=tmp_path / "model",
        )
    )
    scores = result.candidates[0].scores
    assert scores.n_similar + scores.n_dissimilar == 60


REQUEST = FitRequest(data=Path("left.csv"), out=Path("new"), pairs=Path("pairs.csv"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"labels": "maker"},
            "with exactly one of --labels COLUMN, --pairs FILE and --triplets FILE; 2",
        ),
        ({"pairs": None}, "with exactly one of .* 0 were given"),
        ({"pairs": None, "labels": "makers"}, "no column 'makers'.*maker"),
        ({"pairs": None, "labels": "maker", "right": "right.csv"}, "--labels is for one table"),
        ({"data": "nowhere.csv"}, "nowhere.csv does not exist"),
        ({"data": "pictures", "pairs": None}, "pictures does not exist"),
        ({"out": "model"}, "already exists: choose another folder, or add --overwrite"),
        ({"out": "left.csv"}, "is a file: give a folder"),
        ({"columns": ("titel",), "right": "right.csv"}, "titel.*title"),
    ],
)
def test_a_users_mistake_is_one_sentence(products, matched, changes, sentence):
    places = {"data", "out", "right", "pairs"}
    request = replace(REQUEST, **changes)
    named = {
        name: products / value for name in places if (value := getattr(request, name)) is not None
    }
    with pytest.raises((ValueError, OSError), match=sentence) as caught:
        fit_files(replace(request, **named))
    assert "\n" not in str(caught.value)


def test_a_contradiction_is_told_once_by_the_names_of_the_rows(tmp_path):
    ids = {name: [f"{name}{row}" for row in range(3)] for name in "ab"}
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("id,n\n" + "".join(f"{i},1\n" for i in ids[name]))
    said = tmp_path / "said.csv"
    said.write_text("left,right,similar\na0,b0,1\na1,b2,0\na1,b2,1\na2,b1,0\n")
    left, right = (read_records(tmp_path / f"{name}.csv") for name in "ab")
    with gathered() as sentences:
        relation = read_pair_relation(said, left, right)
        given_validation(relation, relation)
    (sentence,) = sentences
    assert "said.csv: 1 pair(s) are stated both" in sentence
    assert "first a1 and b2" in sentence
    assert (relation.left.tolist(), relation.right.tolist()) == ([0, 1, 1, 2], [3, 5, 5, 4])


def test_no_left_item_of_pairs_held_out_is_learnt_from():
    rng = np.random.default_rng(0)
    left, right = np.divmod(rng.permutation(900)[:200], 30)
    relation = PairRelation(left, 30 + right, rng.integers(2, size=200), 60)
    held = hold_out(relation, 0)
    assert not set(held.pairs[:, 0]) & set(held.known.left)
    assert len(held.pairs) + held.known.n_pairs == 200
    assert 30 < len(held.pairs) < 50
    np.testing.assert_array_equal(relation.left[held.places], held.pairs[:, 0])
    np.testing.assert_array_equal(relation.similar[held.places] > 0.5, held.similar)


def test_items_with_labels_are_held_out_with_all_their_pairs():
    held = hold_out(LabelRelation(np.arange(100) % 4), 0)
    assert len(held.rows) == 80
    assert held.known.n_items == 80
    assert len(held.pairs) == 20 * 19 // 2
    assert not set(held.pairs.ravel()) & set(held.rows)
    np.testing.assert_array_equal(held.similar, np.ptp(held.pairs % 4, axis=1) == 0)


@pytest.mark.parametrize("n_items", [2000, 2030, 7501])
def test_of_many_images_so_few_are_held_out_that_no_second_fit_is_worth_it(n_items):
    labels = np.arange(n_items) % 4
    labels[::7] = -1  # unknown
    relation = LabelRelation(labels)
    few, fifth = (hold_out(relation, 0, share) for share in (REFIT_SHARE, 0.2))
    assert not _is_worth_refitting(few)
    assert _is_worth_refitting(fifth)
    assert len(few.pairs) > 3000


def test_what_is_too_little_to_hold_out_is_not():
    assert hold_out(LabelRelation([0, 0, 1, 1]), 0) is None
    assert hold_out(PairRelation([0, 1], [1, 2], [1, 0], 3), 0) is None


def test_what_was_not_as_usual_in_a_file_of_pairs_is_said(products, tmp_path):
    (tmp_path / "rows.csv").write_text("left,right,similar\n0,1,1\n0,2,0\n")
    with gathered() as notes:
        relation = read_pair_relation(
            tmp_path / "rows.csv", read_records(products / "left.csv"), None
        )
    assert (relation.left.tolist(), relation.right.tolist()) == ([0, 0], [1, 2])
    assert ["contains row numbers of" in note for note in notes] == [True, True]


def product_request(products, folder):
    """Return a request for a model of the two tables, in a folder."""
    return FitRequest(
        data=products / "left.csv",
        right=products / "right.csv",
        pairs=products / "pairs.csv",
        out=folder / "model",
    )


def test_where_learning_fails_the_pair_model_beside_it_does_not_wait_for_ever(
    products, tmp_path, monkeypatch
):
    def fail(*given, **named):
        raise FloatingPointError("the embedding has come to nothing")

    monkeypatch.setattr(MetricLearner, "fit", fail)
    with pytest.raises(FloatingPointError, match="come to nothing"):
        fit_files(product_request(products, tmp_path))


def test_where_the_pair_model_fails_that_is_said(products, tmp_path, monkeypatch):
    def fail(*given, **named):
        raise FloatingPointError("the pair model has come to nothing")

    monkeypatch.setattr(PairClassifier, "fit", fail)
    with pytest.raises(FloatingPointError, match="pair model has come to nothing"):
        fit_files(product_request(products, tmp_path))


def test_an_embedding_that_is_dear_to_refit_is_not_asked_for_evidence(
    products, tmp_path, monkeypatch
):
    monkeypatch.setattr("twofold.matching._cross_validated.COLUMNS_SUFFICE", 2)
    asked = []
    fit_parts = MetricLearner.fit_parts
    monkeypatch.setattr(
        MetricLearner,
        "fit_parts",
        lambda *given, **named: asked.append(None) or fit_parts(*given, **named),
    )
    fit_files(product_request(products, tmp_path))
    assert len(asked) == 1  # for all folds
    monkeypatch.setattr("twofold.tasks._pair_model._is_quick_to_refit", lambda learner: False)
    result = fit_files(replace(product_request(products, tmp_path), overwrite=True))
    assert len(asked) == 1
    assert "pair model" in [one.name for one in result.candidates]
    assert not any("columns alone" in note for note in result.notes)
