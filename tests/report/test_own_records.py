"""Records of one's own sets and methods: the page, and the tables as Markdown and LaTeX."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from stored_records import record, stored_records

from twofold.report import latex_table, latex_tables, markdown_table, paper_page, paper_tables
from twofold.report._curve_figure import lines_of
from twofold.report._latex import ESCAPED

NASTY = r"100% {my}_$et & #1 ~^\input{x} <b> [x] é"


def own(method: str, seed: int, **changes):
    known = record("mnist", method, seed, device="cpu", **changes)
    return replace(known, data_set="our wine", configuration={"learner": "Mine"})


OWN = [
    *(own("mine", seed, auroc=(0.9, 0.95, 0.96), neighbours=0.97) for seed in (0, 1, 2)),
    *(own("siamese", seed, auroc=(0.9, 0.92, 0.94), neighbours=0.99) for seed in (0, 1, 2)),
]


def test_the_page_leads_with_the_best_on_one_s_own_set_and_says_nothing_of_the_paper():
    page = paper_page(OWN)
    assert "<h1>Methods compared</h1>" in page
    assert (
        "On our wine, 3 seeds: mine has the highest AUROC, 0.9610 ± 0.0010, before Siamese with "
        "0.9410; Siamese has the highest 5-NN accuracy, 0.9910 ± 0.0010, before mine with 0.9710."
    ) in page
    assert "a learner of the class Mine" in page
    assert "the paper" not in page.lower().replace("what the paper is compared with", "")


def test_one_s_own_set_beside_the_paper_s_has_a_sentence_of_its_own():
    tables = paper_tables([*OWN, *stored_records()])
    assert tables.startswith("# Fast metric learning, run again")
    assert "On our wine, 3 seeds: mine has the highest AUROC" in tables


def test_methods_of_one_s_own_have_lines_that_can_be_told_apart():
    lines = lines_of(["mine", "yours", "theirs", "twofold", "mine"])
    assert len(set(lines.values())) == 4
    assert lines == lines_of(["yours", "theirs", "mine", "twofold"])


def test_the_markdown_table_has_means_spreads_and_the_best_in_bold():
    table = markdown_table(OWN)
    assert "| mine | **0.9610** ± 0.0010 | 0.9710 ± 0.0010 |" in table
    assert "| Siamese | 0.9410 ± 0.0010 | **0.9910** ± 0.0010 |" in table
    assert table.count("| method |") == 1


def test_the_latex_table_has_the_same_figures():
    table = latex_table(OWN)
    assert r"mine & \textbf{0.9610} $\pm$ 0.0010 & 0.9710 $\pm$ 0.0010 &" in table
    assert r"\usepackage{booktabs}" in table
    for rule in ("toprule", "midrule", "bottomrule", r"begin{table}", r"end{table}"):
        assert table.count(f"\\{rule}") == 1
    rows = re.search(r"\\midrule\n(.*)\\bottomrule", table, re.DOTALL)[1].splitlines()
    columns = re.search(r"begin{tabular}{(.*?)}", table)[1]
    assert all(row.count(" & ") == len(columns) - 1 and row.endswith(r"\\") for row in rows)


def test_every_table_of_the_report_is_written_as_latex():
    tables = latex_tables(stored_records())
    assert tables.count(r"\begin{table}") == paper_tables(stored_records()).count("\n### ") - 3
    assert r"$\uparrow$ +0.00" in tables
    assert r"\multicolumn{5}{l}{\emph{MNIST}}" in tables


def test_names_are_text_in_latex_whoever_wrote_them():
    hostile = [replace(one, data_set=NASTY, method=NASTY) for one in OWN[:1]]
    table = latex_table(hostile)
    written = (
        r"100\% \{my\}\_\$et \& \#1 \textasciitilde{}\textasciicircum{}\textbackslash{}input\{x\} "
        r"\textless{}b\textgreater{} [x] é"
    )
    assert table.count(written) == 4  # thrice in the caption, and in its row
    assert r"\input" not in table
    unescaped = re.sub(r"\\[a-zA-Z]+(\{\})?|\\.", "", table)
    assert unescaped.count("{") == unescaped.count("}")


def test_signs_of_the_report_that_fonts_lack_are_replaced():
    assert "±×−→▲▼".translate(ESCAPED).isascii()


@pytest.mark.parametrize("make", [markdown_table, latex_table])
def test_no_record_with_scores_makes_no_table(make):
    with pytest.raises(ValueError, match="no run record with scores"):
        make([])
