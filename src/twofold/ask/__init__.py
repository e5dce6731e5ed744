"""The page that asks: two things side by side, same or not, and a metric that gets better.

Answers are kept in a store, a worker learns from them beside, and a session hands out the questions
whose answers would help most.
"""

from twofold.ask._questions import Answer, Question

__all__ = ["Answer", "Question"]
