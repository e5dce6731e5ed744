"""Experiments: a protocol in, a record of what was measured out."""

from twofold.experiments._code_methods import CODE_METHODS, DEFAULT_CODE_METHODS
from twofold.experiments._code_reproduce import BITS, code_title, reproduce_codes
from twofold.experiments._code_scores import CodeScores
from twofold.experiments._compare import compare
from twofold.experiments._demo import DEMO_METHODS, Demo, DemoMethod, DemoRun, run_demo
from twofold.experiments._gallery import Gallery, Shown, choose_shown, read_gallery
from twofold.experiments._inspect import inspect_pairs
from twofold.experiments._inspected_files import InspectedFiles, read_inspected
from twofold.experiments._inspection import Inspection, Suggested, Suspect
from twofold.experiments._inspection_reading import Expectation, Together
from twofold.experiments._kind_scores import KindScores, UnseenScores, best_score
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
from twofold.experiments._unseen_methods import UNSEEN_METHODS, UnseenMethod
from twofold.experiments._unseen_protocols import (
    UNSEEN_PROTOCOLS,
    UnseenProtocol,
    unseen_protocols,
)
from twofold.experiments._unseen_reproduce import reproduce_unseen
from twofold.experiments._unseen_run import run_unseen
from twofold.experiments._unseen_sets import UnseenSet, open_unseen

__all__ = [
    "BITS",
    "CODE_METHODS",
    "DEFAULT_CODE_METHODS",
    "DEFAULT_METHODS",
    "DEMO_METHODS",
    "METHODS",
    "PROTOCOLS",
    "UNSEEN_METHODS",
    "UNSEEN_PROTOCOLS",
    "CodeScores",
    "CurvePoint",
    "Demo",
    "DemoMethod",
    "DemoRun",
    "Expectation",
    "Gallery",
    "InspectedFiles",
    "Inspection",
    "KindScores",
    "Method",
    "PaperFigures",
    "Protocol",
    "Run",
    "RunRecord",
    "Scores",
    "Shown",
    "Suggested",
    "Suspect",
    "Together",
    "UnseenMethod",
    "UnseenProtocol",
    "UnseenScores",
    "UnseenSet",
    "best_score",
    "choose_methods",
    "choose_shown",
    "code_title",
    "compare",
    "describe_commit",
    "describe_machine",
    "inspect_pairs",
    "open_set",
    "open_unseen",
    "read_gallery",
    "read_inspected",
    "read_record",
    "read_records",
    "reproduce",
    "reproduce_codes",
    "reproduce_unseen",
    "run_demo",
    "run_unseen",
    "unseen_protocols",
    "write_record",
]
