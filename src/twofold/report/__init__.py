"""Reports: records in, one self-contained page out."""

from twofold.report._demo_page import demo_page
from twofold.report._gallery import read_galleries
from twofold.report._markdown import paper_tables
from twofold.report._paper_page import paper_page

__all__ = ["demo_page", "paper_page", "paper_tables", "read_galleries"]
