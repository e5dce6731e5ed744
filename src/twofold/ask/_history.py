"""How good the metric was after how many looks: the curve, kept with the answers."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from twofold.ask._advice import Advice, advice
from twofold.ask._store import AnswerStore
from twofold.asking import Quality

FACT = "history"
MOST_POINTS = 400
"""Of the curve: then every other one is dropped."""


class QualityHistory:
    """Estimates of the quality in the order of looks; the store has them for the next day."""

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._points: list[tuple[int, Quality]] = [
            (n_looks, Quality(**kept)) for n_looks, kept in json.loads(store.noted(FACT) or "[]")
        ]

    def note(self, n_looks: int, quality: Quality) -> None:
        """Take in an estimate; those of more looks, which were taken back since, are dropped."""
        before = [(n, one) for n, one in self._points if n < n_looks]
        self._points = [*before, (n_looks, quality)]
        if len(self._points) > MOST_POINTS:
            self._points = self._points[::-2][::-1]
        plain = [(n, asdict(one)) for n, one in self._points]
        self._store.note(FACT, json.dumps(plain))

    def advice(self) -> Advice:
        """Say whether to go on."""
        return advice(self._points)

    def plain(self) -> list[dict[str, Any]]:
        """Return the curve as the page draws it."""
        return [
            {"answers": n_looks, "auroc": one.auroc, "low": one.low, "high": one.high}
            for n_looks, one in self._points
        ]
