"""Two tables of articles that describe the same things in other words, made here."""

from __future__ import annotations

import numpy as np

MAKERS = ("adobe", "intuit", "apple", "sony", "corel")
NAMES = ("writer", "studio", "painter", "mixer", "planner", "reader", "tuner", "editor")


def two_tables(n_articles: int = 40, seed: int = 0) -> tuple[dict, dict, np.ndarray, np.ndarray]:
    """Return a left and a right table, pairs of their rows, and which are alike."""
    rng = np.random.default_rng(seed)
    makers, names = rng.choice(MAKERS, n_articles), rng.choice(NAMES, n_articles)
    versions = rng.permutation(n_articles) + 10
    prices = np.round(rng.uniform(10, 500, n_articles), 2)
    left = {
        "title": [f"{a} {n} {v}" for a, n, v in zip(makers, names, versions, strict=True)],
        "price": [None if i % 9 == 0 else price for i, price in enumerate(prices)],
    }
    right = {
        "title": [f"{n} v{v} software" for n, v in zip(names, versions, strict=True)],
        "price": list(prices * 1.02),
    }
    others = rng.integers(n_articles, size=(4 * n_articles, 2))
    others = others[others[:, 0] != others[:, 1]]
    same = np.arange(n_articles)
    pairs = np.vstack([np.column_stack([same, same]), others])
    return left, right, pairs, (pairs[:, 0] == pairs[:, 1]).astype(int)
