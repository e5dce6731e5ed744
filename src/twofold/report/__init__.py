"""Reports: records in, one self-contained page out."""

from twofold.report._demo_page import demo_page

__all__ = ["demo_page"]
