"""`python -m benchmarks [NAME …] [--keep FOLDER]`: run all that this machine can."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmarks.figures import keep, show
from twofold.experiments import describe_commit

BENCHMARKS = (
    "sampling",
    "edge_solver",
    "paper_seconds",
    "exact",
    "unseen_pairs",
    "growth",
    "many_classes",
    "checks_cost",
    "gpu",
    "learning",
    "multilabel",
    "updates",
    "searching",
    "serving",
    "codes",
    "commands",
    "records",
    "linkage",
)
ONLY_BY_NAME = (
    "engine",
    "card",
    "recipes",
    "step_profile",
    "equal_seconds",
    "few_pairs",
    "asking",
    "evenings",
    "evening_records",
    "ask_learning",
    "ask_page",
    "ask_hostile",
    "flipped",
    "hard_cases",
    "ablations",
    "hidden_factors",
    "metric_ablations",
    "metric_seconds",
    "many_kinds",
    "seen",
    "pair_evidence",
    "unseen",
    "sharding",
    "distributed",
    "scale",
    "code_learning",
    "rounded_codes",
)
"""These take a quarter of an hour or more."""


def main() -> int:
    every = (*BENCHMARKS, *ONLY_BY_NAME)
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(every))
    parser.add_argument("--keep", type=Path, help="folder that gets a run record a benchmark")
    options = parser.parse_args()
    unknown = set(options.names) - set(every)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    describe_commit()  # before the hour in which another may be made
    missed = False
    for name in options.names or BENCHMARKS:
        module = importlib.import_module(f"benchmarks.{name}")
        why_not = module.why_not()
        if why_not:
            print(f"{name}: left out, {why_not}\n", flush=True)
            continue
        began = time.perf_counter()
        figures = module.measure()
        show(f"{module.TITLE} ({time.perf_counter() - began:.0f} s)", figures)
        missed |= any(figure.passed is False for figure in figures)
        if options.keep:
            keep(options.keep, name, figures, **module.SETTING)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
