"""Experiments: a protocol in, a record of what was measured out."""

from twofold.experiments._demo import DEMO_METHODS, Demo, DemoMethod, DemoRun, run_demo
from twofold.experiments._machine import describe_machine

__all__ = [
    "DEMO_METHODS",
    "Demo",
    "DemoMethod",
    "DemoRun",
    "describe_machine",
    "run_demo",
]
