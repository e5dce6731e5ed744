"""The page that asks: two things side by side, same or not, and a metric that gets better.

Answers are kept in a store, a worker learns from them beside, and a session hands out the questions
whose answers would help most.
"""

from twofold.ask._advice import Advice, advice
from twofold.ask._engine import Engine
from twofold.ask._fitting import fit_project
from twofold.ask._items import Items, read_ask_items
from twofold.ask._project import existing_project, export_pairs, project_folder
from twofold.ask._questions import Answer, Question
from twofold.ask._request import AskRequest
from twofold.ask._serve import Closed, Opened, ask
from twofold.ask._snapshot import Snapshot
from twofold.asking import Quality

__all__ = [
    "Advice",
    "Answer",
    "AskRequest",
    "Closed",
    "Engine",
    "Items",
    "Opened",
    "Quality",
    "Question",
    "Snapshot",
    "advice",
    "ask",
    "existing_project",
    "export_pairs",
    "fit_project",
    "project_folder",
    "read_ask_items",
]
