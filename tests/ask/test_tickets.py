"""Tickets: a question can be read again from its name, and only if we gave it out."""

from __future__ import annotations

import pytest

from twofold.ask._questions import Question
from twofold.ask._tickets import Tickets, new_secret

QUESTIONS = [
    Question("pair", (3, 8), ()),
    Question("nine", (12, 1, 2, 3, 4, 5, 6, 7, 8, 9), ()),
    Question("pair", (0, 1), (), "test", 1234.5678901234),
    Question("pair", (0, 1), (), "repeat"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: f"{one.kind}-{one.purpose}")
def test_a_ticket_says_what_was_asked(question):
    secret = new_secret()
    assert Tickets(secret).read(Tickets(secret).issue(question)) == question


@pytest.mark.parametrize("wrong", ["", "~", "pl.0x1p+0.3-8~", "pl.0x1p+0.3-8", "x" * 10_000, "é~ß"])
def test_what_was_not_given_out_is_refused(wrong):
    with pytest.raises(ValueError, match="does not belong to this project"):
        Tickets(new_secret()).read(wrong)


def test_a_ticket_that_was_changed_or_is_of_another_project_is_refused():
    tickets = Tickets(new_secret())
    ticket = tickets.issue(QUESTIONS[2])
    for changed in (ticket.replace("0-1", "0-2"), "pl" + ticket[2:]):
        with pytest.raises(ValueError, match="does not belong to this project"):
            tickets.read(changed)
    with pytest.raises(ValueError, match="does not belong to this project"):
        Tickets(new_secret()).read(ticket)
