"""Twofold: metric learning from pairs at the price of plain regression."""

__version__ = "0.1.0"
