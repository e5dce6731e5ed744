"""Messages of the page: read from JSON, checked once, and handed to the session."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from twofold.ask._handing_out import Visitor
from twofold.ask._questions import Kind
from twofold.ask._session import Reply, Session

LONGEST_KEY, LONGEST_TEXT, LONGEST_TICKET = 64, 200, 400
MOST_NEIGHBOURS = 100
MOST_HELD = 64
LONGEST_LOOK = 86_400.0
"""Seconds of a look that are believed."""
KINDS: tuple[Kind, ...] = ("pair", "nine")


class MessageError(ValueError):
    """A message that is not of the page's form."""


def reply_to(session: Session, visitor: Visitor, text: str) -> list[Reply]:
    """Return what a message of the page is answered with; a wrong one with a sentence."""
    key = None
    try:
        message = _parsed(text)
        key = message.get("key") if isinstance(message.get("key"), str) else None
        kind = message.get("type")
        handle = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is None:
            raise MessageError(f"There is no message of type {str(kind)[:40]!r}.")
        return handle(session, visitor, message)
    except (ValueError, KeyError) as error:
        sentence = str(error) if isinstance(error, ValueError) else "The message is incomplete."
        return [{"type": "refused", "key": key, "sentence": sentence}]


def _parsed(text: str) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("The message is not JSON.") from error
    if not isinstance(message, dict):
        raise MessageError("The message is not a JSON object.")
    return message


def _hello(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    who = _text(message, "who", 80).strip() or "me"
    return [session.hello(visitor, who), session.learning(), session.quality()]


def _more(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    have, kinds = message.get("have", []), message.get("kinds", list(KINDS))
    if not _is_texts(have) or not _is_texts(kinds) or len(have) > MOST_HELD:
        raise MessageError("'have' and 'kinds' must be lists of strings.")
    return [session.more(visitor, have, [kind for kind in KINDS if kind in kinds])]


def _answer(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    same = message.get("same")
    if isinstance(same, list) and not all(type(one) is int for one in same[:MOST_HELD]):
        raise MessageError("'same' must be a list of item numbers.")
    ticket = _text(message, "question", LONGEST_TICKET)
    return [session.answer(visitor, _key(message), ticket, same, _seconds(message))]


def _mark(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    if not isinstance(message.get("same"), bool):
        raise MessageError("'same' must be true or false.")
    pair = _whole(message, "left"), _whole(message, "right")
    return [session.mark(visitor, _key(message), pair, message["same"], _seconds(message))]


def _undo(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    return [session.undo(visitor, _key(message))]


def _neighbours(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    del visitor
    return [session.neighbours(_whole(message, "item"), _count(message))]


def _find(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    del visitor
    return [session.find(_text(message, "text", LONGEST_TEXT), _count(message))]


def _off(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    del visitor, message
    session.model.request_inspection()
    return [session.off()]


def _quality(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    del visitor, message
    session.model.request_inspection()
    return [session.quality()]


def _map(session: Session, visitor: Visitor, message: dict[str, Any]) -> list[Reply]:
    del message
    return session.watch_map(visitor)


Handler = Callable[[Session, Visitor, dict[str, Any]], list[Reply]]
HANDLERS: dict[str, Handler] = {
    "hello": _hello,
    "more": _more,
    "answer": _answer,
    "mark": _mark,
    "undo": _undo,
    "neighbours": _neighbours,
    "find": _find,
    "off": _off,
    "quality": _quality,
    "map": _map,
}


def _key(message: dict[str, Any]) -> str:
    key = _text(message, "key", LONGEST_KEY)
    if not key:
        raise MessageError("'key' identifies an answer, and must not be empty.")
    return key


def _text(message: dict[str, Any], name: str, longest: int) -> str:
    text = message[name]
    if not isinstance(text, str) or len(text) > longest:
        raise MessageError(f"{name!r} must be a string of at most {longest} characters.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MessageError(f"{name!r} contains half of a surrogate pair.") from error
    return text


def _whole(message: dict[str, Any], name: str) -> int:
    value = message[name]
    if type(value) is not int:
        raise MessageError(f"{name!r} must be a whole number.")
    return value


def _count(message: dict[str, Any]) -> int:
    k = message.get("k", 24)
    if type(k) is not int or not 1 <= k <= MOST_NEIGHBOURS:
        raise MessageError(f"'k' must be a whole number from 1 to {MOST_NEIGHBOURS}.")
    return k


def _seconds(message: dict[str, Any]) -> float | None:
    """Return how long a look took, None where that is not believed."""
    value = message.get("seconds")
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        return None
    return float(value) if 0 <= value <= LONGEST_LOOK else None  # type: ignore[operator, arg-type]


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
