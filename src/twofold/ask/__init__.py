"""The page that asks: two things side by side, same or not, and a metric that gets better.

Answers are kept in a store, a worker learns from them beside, and a session hands out the questions
whose answers would help most.
"""

from twofold.ask._advice import Advice, advice
from twofold.ask._engine import Engine
from twofold.ask._questions import Answer, Question
from twofold.ask._snapshot import Snapshot
from twofold.asking import Quality

__all__ = ["Advice", "Answer", "Engine", "Quality", "Question", "Snapshot", "advice"]
