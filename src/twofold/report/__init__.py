"""Reports: records in, one self-contained page out."""

from twofold.report._demo_page import demo_page
from twofold.report._evaluation_page import evaluation_page
from twofold.report._gallery import read_galleries
from twofold.report._inspect_page import (
    count_rows,
    inspect_page,
    shown_chain,
    side_by_side_fields,
    stated,
)
from twofold.report._latex import latex_table, latex_tables
from twofold.report._markdown import markdown_table, paper_tables
from twofold.report._paper_page import paper_page
from twofold.report._search_page import search_page

__all__ = [
    "count_rows",
    "demo_page",
    "evaluation_page",
    "inspect_page",
    "latex_table",
    "latex_tables",
    "markdown_table",
    "paper_page",
    "paper_tables",
    "read_galleries",
    "search_page",
    "shown_chain",
    "side_by_side_fields",
    "stated",
]
