"""What a column holds: numbers where every value is written as one, and no value is lost."""

from __future__ import annotations

import pyarrow as pa
import pytest

from twofold.search.stores import as_kind, joined_kind, kind_of, written_kind


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "", "-20", "NA"], "whole numbers", [1, None, -20, None]),
        (["1", " 2.50 ", "1e3", ".5", "nan"], "numbers", [1.0, 2.5, 1000.0, 0.5, None]),
        (["0012", "12"], "text", ["0012", "12"]),
        (["12", "+5"], "text", ["12", "+5"]),
        (["1e999", "1"], "text", ["1e999", "1"]),
        (["9007199254740993"], "text", ["9007199254740993"]),
        (["1", "two"], "text", ["1", "two"]),
        (["", "NA"], "", ["", "NA"]),
    ],
)
def test_text_that_is_written_as_numbers_is_numbers(texts, kind, values):
    assert written_kind(pa.array(texts)) == kind
    kept, unfit = as_kind(pa.array(texts), kind or "text")
    assert (kept.to_pylist(), unfit.tolist()) == (values, [])


@pytest.mark.parametrize(
    ("values", "kind", "kept", "unfit"),
    [
        ([1.0, 2.5, float("nan")], "whole numbers", [1, None, None], [1]),
        ([1, 2**53 + 1], "numbers", [1.0, None], [1]),
        (["3.0", "4.5", "x", ""], "whole numbers", [3, None, None, None], [1, 2]),
        ([True, None], "numbers", [None, None], [0]),
        ([1, 2.5], "text", ["1", "2.5"], []),
        ([[1], [2]], "text", [None, None], [0, 1]),
        ([None, None], "date32[day]", [None, None], []),
    ],
)
def test_a_value_that_its_kind_does_not_keep_is_found(values, kind, kept, unfit):
    column, rows = as_kind(pa.chunked_array([values]), kind)
    assert (column.to_pylist(), rows.tolist()) == (kept, unfit)


def test_several_kinds_are_kept_as_one():
    assert joined_kind(["whole numbers", "", "numbers"]) == "numbers"
    assert joined_kind(["whole numbers", "text"]) == "text"
    assert joined_kind(["true or false", "whole numbers"]) == "text"
    assert joined_kind(["", "date32[day]"]) == "date32[day]"
    assert joined_kind([""]) == ""
    assert kind_of(pa.dictionary(pa.int8(), pa.string())) == "text"
    assert [kind_of(kind) for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.null())] == [
        "whole numbers",
        "uint64",
        "numbers",
        "",
    ]
