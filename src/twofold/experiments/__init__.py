"""Experiments: a protocol in, a record of what was measured out."""

from twofold.experiments._demo import RECIPES, PhaseOneDemo, PhaseOneRun, Recipe, run_demo
from twofold.experiments._machine import describe_machine

__all__ = [
    "RECIPES",
    "PhaseOneDemo",
    "PhaseOneRun",
    "Recipe",
    "describe_machine",
    "run_demo",
]
