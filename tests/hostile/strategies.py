"""Relations and tables as Hypothesis draws them: good ones, and all that users have typed."""

from __future__ import annotations

from hypothesis import strategies as st

N_ITEMS = 12

item_ids = st.integers(0, N_ITEMS - 1)
odd_ids = st.one_of(
    item_ids,
    st.sampled_from([-1, N_ITEMS, 2**31, 2**63 - 1, -(2**63), 0.5, "a", None, True]),
)
grades = st.floats(0, 1, width=32)
odd_numbers = st.one_of(
    grades,
    st.sampled_from([-1, 2, float("nan"), float("inf"), 1e300, -1e-300, None, "1", 1e38]),
)


@st.composite
def statements(draw, ids=item_ids, numbers=grades):
    """Draw left, right, similar and weight (or None), of one length."""
    size = draw(st.integers(0, 8))
    columns = [draw(st.lists(kind, min_size=size, max_size=size)) for kind in (ids, ids, numbers)]
    weight = draw(st.none() | st.lists(numbers, min_size=size, max_size=size))
    return (*columns, weight)


fields = st.one_of(
    st.sampled_from(
        [
            "a",
            "b",
            " a",
            "b ",
            "c",
            "0",
            "1",
            "2",
            "0.5",
            "1.0",
            "-1",
            "nan",
            "inf",
            "1e39",
            "1e999",
        ]
    ),
    st.sampled_from(["", " ", '"a"', '"a,b"', '"', "é", "007", "9" * 20, "null", "true", "\u00a0"]),
    st.text(max_size=4),
)
headings = st.lists(
    st.sampled_from(["left", "right", "similar", "weight", " left", "similar ", "id", "x", ""]),
    min_size=1,
    max_size=5,
)


@st.composite
def tables(draw):
    """Draw the text of a file: often with the headings it needs, and rows of any length."""
    heading = draw(st.one_of(st.just(["left", "right", "similar"]), headings))
    width = st.sampled_from([len(heading)] * 5 + [1, 2, 4])
    rows = draw(st.lists(width.flatmap(lambda n: st.lists(fields, min_size=n, max_size=n))))
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    separator = draw(st.sampled_from([",", ",", ", ", ";"]))
    return end.join(separator.join(row) for row in [heading, *rows]) + end
