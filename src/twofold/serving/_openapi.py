"""The server's description: an OpenAPI document, and a page with a command for each path."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from twofold import __version__
from twofold.serving._request import Limits
from twofold.serving._served import Served

Document = dict[str, Any]
LONGEST_EXAMPLE = 1500
"""Characters of an item on the page; a longer one is cut."""
NUMBERS: Document = {"type": "array", "items": {"type": "number"}}
REFUSALS = {
    "400": "The body is not JSON, or is incomplete.",
    "403": "The request comes from a page of another site.",
    "408": "The body did not arrive in time.",
    "413": "The body, or the list of items, is too large.",
    "415": "The body has an unsupported type.",
    "422": "The items are not what the model takes; the message says which and why.",
    "429": "Too many requests: try again after the seconds in Retry-After.",
    "503": "Too many items are waiting: try again after the seconds in Retry-After.",
}


def openapi(served: Served, address: str, limits: Limits) -> Document:
    """Return the document, with the items of the model that is served."""
    paths = {
        "/embed": _post("Points of items", _items_body(served, limits), _points_answer(served)),
        "/similarity": _post(
            "Similarities of pairs", _pairs_body(served, limits), _pairs_answer(served)
        ),
    }
    if served.index is not None:
        body, answer = _neighbours_body(served, limits), _neighbours_answer()
        paths["/neighbours"] = _post("The nearest items in the index", body, answer)
    for path, summary, kind in (
        ("/model", "What the model takes and gives", "application/json"),
        ("/health", "Whether it answers", "application/json"),
        ("/metrics", "Counts, in Prometheus' text format", "text/plain"),
    ):
        ok = {"description": summary, "content": {kind: {}}}
        paths[path] = {"get": {"summary": summary, "responses": {"200": ok}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Twofold: {served.name}", "version": __version__},
        "servers": [{"url": address}],
        "paths": paths,
        "components": {"schemas": {"Item": served.items.schema, "Error": _object(error=_TEXT)}},
    }


_TEXT: Document = {"type": "string"}
_ITEM: Document = {"$ref": "#/components/schemas/Item"}


def _object(**properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _post(summary: str, body: Document, answer: Document) -> Document:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    refusals = {status: {"description": why, "content": error} for status, why in REFUSALS.items()}
    ok = {"description": summary, "content": answer}
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": body},
            "responses": {"200": ok, **refusals},
        }
    }


def _json(schema: Document, example: Any = None) -> Document:
    shown = {} if example is None else {"example": example}
    return {"application/json": {"schema": schema, **shown}}


def _list_of_items(limits: Limits) -> Document:
    return {"type": "array", "items": _ITEM, "minItems": 1, "maxItems": limits.items}


def _files(served: Served) -> Document:
    return {kind: {} for kind in served.items.media_types}


def _items_body(served: Served, limits: Limits) -> Document:
    schema = _object(items=_list_of_items(limits))
    return _json(schema, {"items": [served.items.example]}) | _files(served)


def _pairs_body(served: Served, limits: Limits) -> Document:
    schema = _object(left=_list_of_items(limits), right=_list_of_items(limits))
    one = [served.items.example]
    return _json(schema, {"left": one, "right": one})


def _neighbours_body(served: Served, limits: Limits) -> Document:
    schema = _object(items=_list_of_items(limits))
    schema["properties"]["k"] = {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.neighbours,
        "default": 10,
    }
    schema["properties"]["where"] = {
        "type": "array",
        "items": _TEXT,
        "description": 'Conditions on columns of the neighbours, such as "price <= 20".',
    }
    return _json(schema, {"items": [served.items.example], "k": 10}) | _files(served)


def _points_answer(served: Served) -> Document:
    n = served.model.learner.n_components_
    points = {"type": "array", "items": {**NUMBERS, "minItems": n, "maxItems": n}}
    return _json(_object(points=points, metric=_TEXT)) | {"application/x-npy": {}}


def _pairs_answer(served: Served) -> Document:
    same: Document = {"type": ["array", "null"], "items": {"type": "boolean"}}
    probability = {"probability": NUMBERS} if served.has_pair_model else {}
    return _json(_object(similarity=NUMBERS, **probability, same=same))


def _neighbours_answer() -> Document:
    number = {"type": "number"}
    one = _object(id={}, similarity=number, distance=number, fields={"type": "object"})
    found = {"type": "array", "items": {"type": "array", "items": one}}
    return _json(_object(neighbours=found))


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Twofold: {name}</title>
<style>
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif;
  color: #222; background: #fff }}
pre {{ padding: .8rem; overflow-x: auto; background: #f3f4f6; border-radius: .4rem }}
td {{ padding-right: 1.5rem; vertical-align: top }}
</style>
</head>
<body>
<h1>{name}</h1>
<table>{facts}</table>
<p>Send items, get points, similarities or neighbours. A request has at most {n_items:,} items and
{n_bytes:,} bytes; a mistake is answered by <code>{{"error": "a sentence"}}</code>. The whole of it
as an <a href="openapi.json">OpenAPI document</a>; <a href="health">health</a>;
<a href="metrics">metrics</a>.</p>
{calls}
</body>
</html>
"""


def page(served: Served, address: str, limits: Limits) -> str:
    """Return a page for people: what is served, and how to ask it from a shell."""
    facts = "".join(
        f"<tr><td>{escape(name.replace('_', ' '))}</td><td>{escape(_shown(value))}</td></tr>"
        for name, value in served.facts().items()
    )
    calls = "".join(
        f"<h2>{escape(path)}</h2><p>{escape(method['post']['summary'])}.</p>"
        f"<pre>{escape(_command(address, path, method['post']))}</pre>"
        for path, method in openapi(served, address, limits)["paths"].items()
        if "post" in method
    )
    return PAGE.format(
        name=escape(served.name),
        facts=facts,
        calls=calls,
        n_items=limits.items,
        n_bytes=limits.body_bytes,
    )


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return "none" if value is None or not text else text


def _command(address: str, path: str, post: Document) -> str:
    example = json.dumps(post["requestBody"]["content"]["application/json"]["example"])
    if len(example) > LONGEST_EXAMPLE:
        example = f"{example[:60]} …"
    return f"curl {address}{path} \\\n  -H 'Content-Type: application/json' \\\n  -d '{example}'"
