"""The edge solver beside an embedding table with autograd, to the same loss.

The rival is `torch.nn.Embedding` with torch's Adam. It starts from the same random points, and the
best of its batch sizes and learning rates is searched for it; seconds count neither its search
nor its evaluations. Then both are run in turn in one process. It is run with torch's own betas,
and once more with the betas that were chosen for Twofold, on this very relation: they serve it too.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from benchmarks.figures import Figure
from benchmarks.relations import MNIST, classes_of_sizes
from twofold import PairRelation, TargetSolution, solve_targets
from twofold._core.threads import Workers, allowed_threads
from twofold.evaluation import pair_auroc, pair_similarity
from twofold.targets import ContrastiveLoss, DotLoss
from twofold.targets._adam import KEEP_FIRST, KEEP_SECOND
from twofold.targets._engine import AdamStep, Objective
from twofold.targets._engine_cpu import CpuEngine
from twofold.targets._warm_start import random_points

TITLE = "FML-C and FML-DP on 60,000 items, 1.2 M sampled pairs, d = 16"
DIM = 16
PART_OF_START = 0.01
THREADS = 2
ROUNDS = 5
BATCHES = (2**10, 2**11, 2**12, 2**13, 2**14, 2**15, 2**16, None)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
LONGEST_SEARCH_SECONDS = 4.0
SETTING = {
    "threads": THREADS, "rounds": ROUNDS, "rival batches": [b or "full" for b in BATCHES],
    "rival rates": RATES, "statistic": "median of ratios, interleaved",
}  # fmt: skip

Loss = Literal["contrastive", "dot"]


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    torch.set_num_threads(THREADS)
    relation = classes_of_sizes(MNIST).sample_pairs(random_state=0)
    figures = []
    for name, loss in (("FML-C", "contrastive"), ("FML-DP", "dot")):
        figures += _compare(name, loss, relation)  # type: ignore[arg-type]
    return figures


def _compare(name: str, loss: Loss, relation: PairRelation) -> list[Figure]:
    rival = Rival(relation, loss)
    target = PART_OF_START * rival.loss_at_start
    solution = _ours(relation, loss, target)  # compiles
    metric: Literal["euclidean", "dot"] = "euclidean" if loss == "contrastive" else "dot"
    similarity = pair_similarity(solution.points, relation.left, relation.right, metric)
    epoch_ratios = _epoch_ratios(relation, loss, rival)
    return [
        _speed(f"{name}: times faster to 1 % of the start", relation, loss, rival, target, 10),
        _speed(
            f"{name}: the same, the rival with Twofold's betas",
            relation,
            loss,
            Rival(relation, loss, betas=(KEEP_FIRST, KEEP_SECOND)),
            target,
            None,
        ),
        Figure(
            f"{name}: loss reached / start",
            solution.loss / rival.loss_at_start,
            PART_OF_START,
            at_least=False,
        ),
        Figure(f"{name}: AUROC on its pairs", pair_auroc(relation.similar, similarity), 0.9999),
        Figure(
            f"{name}: times faster, full-batch epoch",
            float(np.median(epoch_ratios)),
            25,
            note=f"ratios {min(epoch_ratios):.1f} to {max(epoch_ratios):.1f}",
        ),
    ]


def _speed(
    name: str,
    relation: PairRelation,
    loss: Loss,
    rival: Rival,
    target: float,
    bar: float | None,
) -> Figure:
    batch, rate = rival.search(target)
    ratios, ours, theirs = [], [], []
    for _ in range(ROUNDS):
        ours.append(_ours(relation, loss, target).seconds)
        theirs.append(rival.seconds_to(target, batch, rate, longest=60.0))
        ratios.append(theirs[-1] / ours[-1])
    note = (
        f"{np.median(ours):.3f} s against {np.median(theirs):.2f} s at batch {batch or 'full'}, "
        f"rate {rate}, betas {rival.betas}; ratios {min(ratios):.1f} to {max(ratios):.1f}"
    )
    return Figure(name, float(np.median(ratios)), bar, note=note)


def _ours(relation: PairRelation, loss: Loss, target: float) -> TargetSolution:
    return solve_targets(
        relation, DIM, loss=loss, device="cpu", random_state=0,
        callback=lambda _, reached: reached <= target,
    )  # fmt: skip


def _epoch_ratios(relation: PairRelation, loss: Loss, rival: Rival) -> list[float]:
    objective = Objective(relation, ContrastiveLoss() if loss == "contrastive" else DotLoss())
    ratios = []
    with Workers(min(THREADS, allowed_threads())) as workers:
        engine = CpuEngine(objective, rival.start, workers)
        for epoch in range(1, 4 + ROUNDS):
            began = time.perf_counter()
            engine.sweep(AdamStep(0.05, 0.5, 0.99, epoch))
            engine.advance()
            ours = time.perf_counter() - began
            ratios.append(rival.seconds_of_full_epoch() / ours)
    return ratios[3:]


class Rival:
    """An embedding table trained by autograd and Adam."""

    def __init__(
        self,
        relation: PairRelation,
        loss: Loss,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        self.betas = betas
        self.start = random_points(relation.n_items, DIM, np.random.default_rng(0))
        self._left = torch.tensor(relation.left)
        self._right = torch.tensor(relation.right)
        self._similar = torch.tensor(relation.similar)
        self._loss = _contrastive if loss == "contrastive" else _dot
        self._some = torch.tensor(np.random.default_rng(1).integers(relation.n_pairs, size=50_000))
        self.loss_at_start = self._mean_loss(self._table(), slice(None))

    def search(self, target: float) -> tuple[int | None, float]:
        """Return the batch size (None: all) and the rate that reach `target` first."""
        best, choice = LONGEST_SEARCH_SECONDS, (BATCHES[0], RATES[0])
        for batch in BATCHES:
            for rate in RATES:
                seconds = self.seconds_to(target, batch, rate, longest=best)
                if seconds < best:
                    best, choice = seconds, (batch, rate)
        return choice

    def seconds_to(self, target: float, batch: int | None, rate: float, longest: float) -> float:
        """Train until the loss over all pairs is `target`; infinite if it takes too long."""
        table = self._table()
        optimiser = torch.optim.Adam(table.parameters(), lr=rate, betas=self.betas)
        n_pairs = len(self._left)
        size = batch or n_pairs
        generator = torch.Generator().manual_seed(0)
        seconds, step = 0.0, 0
        steps_a_look = max(1, n_pairs // size // 16)
        while True:
            began = time.perf_counter()
            order = torch.randperm(n_pairs, generator=generator) if batch else None
            seconds += time.perf_counter() - began
            for first in range(0, n_pairs, size):
                began = time.perf_counter()
                some = slice(None) if order is None else order[first : first + size]
                self._step(table, optimiser, some)
                seconds += time.perf_counter() - began
                step += 1
                # A look at some pairs is quick; one at all of them decides.
                if (
                    step % steps_a_look == 0
                    and self._mean_loss(table, self._some) <= 1.1 * target
                    and self._mean_loss(table, slice(None)) <= target
                ):
                    return seconds
                if seconds > longest:
                    return float("inf")

    def seconds_of_full_epoch(self) -> float:
        """Time one step on all pairs at once."""
        table = self._table()
        optimiser = torch.optim.Adam(table.parameters(), lr=0.05)
        self._step(table, optimiser, slice(0, 1000))
        began = time.perf_counter()
        self._step(table, optimiser, slice(None))
        return time.perf_counter() - began

    def _step(
        self, table: torch.nn.Embedding, optimiser: torch.optim.Optimizer, some: slice | Tensor
    ) -> None:
        optimiser.zero_grad()
        left, right = table(self._left[some]), table(self._right[some])
        self._loss(left, right, self._similar[some]).mean().backward()
        optimiser.step()

    def _table(self) -> torch.nn.Embedding:
        return torch.nn.Embedding.from_pretrained(torch.tensor(self.start), freeze=False)

    @torch.no_grad()
    def _mean_loss(self, table: torch.nn.Embedding, some: slice | Tensor) -> float:
        left, right = table.weight[self._left[some]], table.weight[self._right[some]]
        return float(self._loss(left, right, self._similar[some]).mean())


def _contrastive(left: Tensor, right: Tensor, similar: Tensor) -> Tensor:
    square = (left - right).square().sum(1)
    gap = (1 - (square + 1e-12).sqrt()).clamp(min=0)
    return similar * square + (1 - similar) * gap.square()


def _dot(left: Tensor, right: Tensor, similar: Tensor) -> Tensor:
    return 0.5 * (similar - (left * right).sum(1)).square()
