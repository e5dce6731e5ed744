"""A request's body: no larger and no slower than may be, and what JSON in it says."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from twofold._core.reasons import reason_of
from twofold.search.stores import Condition
from twofold.serving._request import Limits

JSON = "application/json"
DEEPEST = "it is nested too deeply"


class RefusedError(Exception):
    """A request that is refused: the status of HTTP, and a sentence."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or {}


def media_type(request: Request) -> str:
    """Return what a body says that it is, without its parameters."""
    said = request.headers.get("content-type", "")
    return str(said).partition(";")[0].strip().lower()


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return a body; refuse one that is too large, or does not come to its end."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced[:20]) > limits.body_bytes:
        _refuse_large(limits)
    content = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                content += chunk
                if len(content) > limits.body_bytes:
                    _refuse_large(limits)
    except TimeoutError:
        raise RefusedError(
            408, f"The body did not arrive within {limits.body_seconds:g} seconds."
        ) from None
    except ClientDisconnect:
        raise RefusedError(400, "The client has disconnected.") from None
    return bytes(content)


def parse_object(content: bytes) -> dict[str, Any]:
    """Return the object that a body of JSON is."""
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise RefusedError(400, f"The body is not JSON ({DEEPEST}).") from None
    except ValueError as error:
        raise RefusedError(400, f"The body is not JSON ({reason_of(error)}).") from None
    if not isinstance(value, dict):
        raise RefusedError(422, f"The body must be a JSON object, got {_kind(value)}.")
    return value


def take_list(body: dict[str, Any], name: str, limits: Limits) -> list[Any]:
    """Return a list of items in a body, of a length that may be."""
    if name not in body:
        raise RefusedError(422, f'The body has no "{name}", the list of items.')
    items = body[name]
    if not isinstance(items, list):
        raise RefusedError(422, f'"{name}" must be a list of items, got {_kind(items)}.')
    check_n_items(len(items), limits, f'"{name}"')
    return items


def check_n_items(n_items: int, limits: Limits, name: str) -> None:
    """Refuse no items, and too many."""
    if not n_items:
        raise RefusedError(422, f"{name} has no item: send at least one.")
    if n_items > limits.items:
        raise RefusedError(
            413, f"{name} has {n_items:,} items, but a request may have at most {limits.items:,}: "
                "send several requests."
        )  # fmt: skip


def take_k(value: Any, limits: Limits) -> int:
    """Return how many neighbours are wanted."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9:
        value = int(value)
    if type(value) is not int or not 1 <= value <= limits.neighbours:
        raise RefusedError(422, f'"k" must be a whole number from 1 to {limits.neighbours:,}.')
    return int(value)


def take_conditions(body: dict[str, Any]) -> list[Condition]:
    """Return what the columns of neighbours must be: texts such as "price <= 20"."""
    listed = body.get("where", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise RefusedError(422, '"where" must be a list of conditions, such as "price <= 20".')
    try:
        return [Condition.parse(one) for one in listed]
    except ValueError as mistake:
        raise RefusedError(422, str(mistake)) from mistake


def _refuse_large(limits: Limits) -> NoReturn:
    raise RefusedError(
        413, f"The body has more than {limits.body_bytes:,} bytes: send fewer items at a time."
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is not a number")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
