"""Experiments: a protocol in, a record of what was measured out."""

from twofold.experiments._demo import DEMO_METHODS, Demo, DemoMethod, DemoRun, run_demo
from twofold.experiments._gallery import Gallery, Shown, choose_shown, read_gallery
from twofold.experiments._inspect import inspect_pairs
from twofold.experiments._inspection import Inspection, Suggested, Suspect
from twofold.experiments._inspection_reading import Expectation
from twofold.experiments._machine import describe_commit, describe_machine
from twofold.experiments._methods import DEFAULT_METHODS, METHODS, Method, choose_methods
from twofold.experiments._paper import PROTOCOLS, PaperFigures, Protocol
from twofold.experiments._records import (
    CurvePoint,
    RunRecord,
    Scores,
    read_record,
    read_records,
    write_record,
)
from twofold.experiments._reproduce import Run, reproduce
from twofold.experiments._sets import open_set

__all__ = [
    "DEFAULT_METHODS",
    "DEMO_METHODS",
    "METHODS",
    "PROTOCOLS",
    "CurvePoint",
    "Demo",
    "DemoMethod",
    "DemoRun",
    "Expectation",
    "Gallery",
    "Inspection",
    "Method",
    "PaperFigures",
    "Protocol",
    "Run",
    "RunRecord",
    "Scores",
    "Shown",
    "Suggested",
    "Suspect",
    "choose_methods",
    "choose_shown",
    "describe_commit",
    "describe_machine",
    "inspect_pairs",
    "open_set",
    "read_gallery",
    "read_record",
    "read_records",
    "reproduce",
    "run_demo",
    "write_record",
]
