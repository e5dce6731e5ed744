"""Templates of pages: each becomes one file of HTML that needs nothing beside itself."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup, escape


def page_template(name: str) -> Template:
    """Return a template of this package; what it is not given is an error."""
    environment = Environment(
        loader=PackageLoader("twofold.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_code"] = with_code
    return environment.get_template(name)


def with_code(text: str) -> Markup:
    """Return text for HTML, with what stands between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part
        for number, part in enumerate(parts)
    )
