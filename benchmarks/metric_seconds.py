"""Seconds of all steps, beside a classifier's with the same network and epochs, in turn.

From the features in main memory to a learner that is ready, alone on the machine: targets,
training, and by default the second training without some classes that the choice is made on.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import replace

import numpy as np
import torch

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold.estimators import MetricLearner
from twofold.experiments import UNSEEN_METHODS, UNSEEN_PROTOCOLS, UnseenSet, open_unseen
from twofold.experiments._unseen_methods import MIN_OUTPUTS, UnseenMethod
from twofold.experiments._unseen_protocols import UnseenProtocol
from twofold.experiments._unseen_run import config_of, fit_unseen, warm_up_unseen

TITLE = "Seconds of all steps as multiples of a classifier's, same network and epochs"
SETS = tuple(os.environ.get("METRIC_SECONDS_SETS", "mnist-0-4,omniglot-1,cifar10-0-4").split(","))
EPOCHS = int(os.environ.get("METRIC_SECONDS_EPOCHS", "0"))
ROUNDS = int(os.environ.get("METRIC_SECONDS_ROUNDS", "5"))
MOST_SECONDS = float(os.environ.get("METRIC_SECONDS_MOST", "inf"))
"""After which no further round is begun, but the first of each set."""
BARS = {"seen": 1.2, "auto": 2.2}
SETTING = {
    "sets": ", ".join(SETS),
    "rounds": ROUNDS,
    "most seconds": MOST_SECONDS,
    "epochs": EPOCHS or "the protocols'",
    "statistic": "medians over rounds, methods in turn in one process",
}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    began = time.monotonic()
    return [figure for name in SETS for figure in _figures_of(name, began)]


def _figures_of(name: str, began: float) -> list[Figure]:
    warnings.simplefilter("ignore")
    protocol = UNSEEN_PROTOCOLS[f"unseen-{name}"]
    protocol = replace(protocol, n_epochs=EPOCHS or protocol.n_epochs)
    data = open_unseen(protocol)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    methods = {"classifier": UNSEEN_METHODS["cross-entropy"]} | {
        metric: _twofold(metric) for metric in BARS
    }
    for method in methods.values():
        warm_up_unseen(protocol, method, data.train, device)
    rounds: list[dict[str, dict[str, float]]] = []
    while not rounds or (len(rounds) < ROUNDS and time.monotonic() - began < MOST_SECONDS):
        rounds.append(
            {called: _seconds(protocol, one, data, device) for called, one in methods.items()}
        )
    print(name, rounds, flush=True)
    totals = {called: [sum(one[called].values()) for one in rounds] for called in methods}
    figures = [Figure(f"{name}, classifier: seconds", float(np.median(totals["classifier"])))]
    for metric, bar in BARS.items():
        ratios = np.array(totals[metric]) / np.array(totals["classifier"])
        parts = {
            part: np.median([one[metric][part] for one in rounds]) for part in rounds[0][metric]
        }
        note = ", ".join(f"{part} {value:.2f}" for part, value in parts.items())
        note += f" s; {ratios.min():.2f} to {ratios.max():.2f} over {len(ratios)} round(s)"
        ratio = float(np.median(ratios))
        figures.append(
            Figure(f'{name}, metric="{metric}": ratio', ratio, bar, at_least=False, note=note)
        )
    return figures


def _seconds(
    protocol: UnseenProtocol, method: UnseenMethod, data: UnseenSet, device: str
) -> dict[str, float]:
    return fit_unseen(method, config_of(protocol, data.train, 0, device), data.train).seconds


def _twofold(metric: str) -> UnseenMethod:
    return replace(
        UNSEEN_METHODS["twofold-auto"],
        make=lambda config: MetricLearner(
            metric=metric,  # type: ignore[arg-type]
            **config.training(max(MIN_OUTPUTS, config.n_classes)),
        ),
    )
