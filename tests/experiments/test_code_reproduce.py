"""Codes in miniature: every method on some of the digits, records, tables and page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from twofold import HashLearner
from twofold.evaluation import ranking_scores
from twofold.experiments import (
    CODE_METHODS,
    DEFAULT_CODE_METHODS,
    open_set,
    read_records,
    reproduce_codes,
)
from twofold.experiments import _code_reproduce as reproduce_module
from twofold.experiments._code_reproduce import code_protocol, code_title
from twofold.report import paper_page, paper_tables


@pytest.fixture(autouse=True)
def few_digits(monkeypatch):
    def opened(name, data_dir=None):
        whole = open_set(name, data_dir)
        return replace(whole, train=whole.train.take(slice(200)), test=whole.test.take(slice(60)))

    monkeypatch.setattr(reproduce_module, "open_set", opened)


def run(folder, **options):
    given = {"bits": (8,), "epochs": 1, "device": "cpu", "methods": ("codes", "lsh")} | options
    return list(reproduce_codes("digits", folder, **given))


def test_every_method_has_a_record_and_stands_on_the_page(tmp_path):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    records = run(tmp_path, methods=tuple(CODE_METHODS), bits=(8,), seeds=(0,))
    assert [record.method for record in records] == list(CODE_METHODS)
    assert read_records(tmp_path) == tuple(sorted(records, key=lambda one: f"{one.method}-seed"))
    for record in records:
        assert record.codes is not None
        assert record.data_set == "digits-8-bits"
        assert (record.codes.metric == "hamming") == (record.method != "real-valued")
        assert 0 < record.codes.mean_average_precision <= 1
    markdown, page = paper_tables(records), paper_page(records)
    for method in CODE_METHODS.values():
        assert method.title in markdown
        assert method.title in page
    assert "scikit-learn's digits, 8 bits" in markdown
    assert "60 items looked for among 200, 1 epochs" in markdown


def test_scores_are_of_test_items_among_training_items(tmp_path):
    (record,) = run(tmp_path, methods=("lsh",))
    data = reproduce_module.open_set("digits")
    learner = CODE_METHODS["lsh"].make(
        reproduce_module.RunConfig(code_protocol("digits", 8), 200, 0, "cpu")
    )
    learner.fit(data.train.features)
    wanted = ranking_scores(
        learner.transform(data.test.features),
        data.test.labels,
        gallery_points=learner.transform(data.train.features),
        gallery_labels=data.train.labels,
    )
    assert record.codes.precision_within_2 == pytest.approx(wanted.precision_within)
    # Ties come in another order.
    assert record.codes.mean_average_precision == pytest.approx(
        wanted.mean_average_precision, abs=0.02
    )


def test_a_run_that_is_done_is_read_and_one_with_other_settings_refused(tmp_path):
    first = run(tmp_path, most_items=150)
    assert [record.data["n_train"] for record in first] == [150, 150]
    assert run(tmp_path, most_items=150) == first
    with pytest.raises(ValueError, match="run with other settings"):
        run(tmp_path)


def test_a_method_of_another_grade_learns_from_what_has_a_label_in_common(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    assert "codes-trees-overlap" not in DEFAULT_CODE_METHODS
    grades = []

    def noted(learner, X, y=None, *, relation=None):
        grades.append(relation and relation.grade)
        return fit(learner, X, y, relation=relation)

    fit = HashLearner.fit
    monkeypatch.setattr(HashLearner, "fit", noted)
    records = run(tmp_path, methods=("codes-trees-overlap", "codes-trees"))
    assert grades == ["overlap", None]
    # Of classes it is the same.
    assert records[0].codes == records[1].codes


def test_titles_and_mistakes(tmp_path):
    assert code_title("mnist-64-bits") == "MNIST, 64 bits"
    assert code_title("mnist") is code_title("soup-8-bits") is None
    with pytest.raises(ValueError, match="no method 'sph' of codes; there are codes, "):
        run(tmp_path, methods=("sph",))
    with pytest.raises(ValueError, match="bits must be at least 1, got 0"):
        run(tmp_path, bits=(0,))
    with pytest.raises(ValueError, match=r"name must be one of .* got 'soup'"):
        list(reproduce_codes("soup", tmp_path))
