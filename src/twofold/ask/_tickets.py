"""Tickets: a question's name on the page, which says what was asked and that we asked it.

Any server of the same project can read a ticket, also one that was started after it was given out:
so an answer that was on its way when the server ended still counts.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from twofold.ask._questions import Kind, Purpose, Question

KINDS: Final[dict[str, Kind]] = {"p": "pair", "n": "nine"}
PURPOSES: Final[dict[str, Purpose]] = {"l": "learn", "t": "test", "r": "repeat"}
LONGEST = 400
"""Letters of a ticket."""
SIGNATURE = 24
"""Letters of its signature: 96 bits."""


def new_secret() -> str:
    """Return a secret that tickets of a project are signed with."""
    return secrets.token_hex(32)


class Tickets:
    """Gives out and reads tickets; items in them are numbers of the store."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def issue(self, question: Question) -> str:
        """Return the ticket of a question."""
        items = "-".join(map(str, question.items))
        said = f"{question.kind[0]}{question.purpose[0]}.{question.weight.hex()}.{items}"
        return f"{said}~{self._sign(said)}"

    def read(self, ticket: str) -> Question:
        """Return the question of a ticket, without guesses; refuse what we did not give out."""
        said, _, signature = ticket[:LONGEST].rpartition("~")
        if not hmac.compare_digest(signature.encode(), self._sign(said).encode()):
            raise ValueError("This question does not belong to this project.")
        head, rest = said[:2], said[3:]
        weight, _, items = rest.rpartition(".")
        numbers = tuple(map(int, items.split("-")))
        return Question(KINDS[head[0]], numbers, (), PURPOSES[head[1]], float.fromhex(weight))

    def _sign(self, said: str) -> str:
        return hmac.new(self._secret, said.encode(), hashlib.sha256).hexdigest()[:SIGNATURE]
