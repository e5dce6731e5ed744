"""Docstrings as they are written here: read in an editor first, so fitted names and |x| are plain.

reStructuredText takes `threshold_` outside of quotes for a link and |x| for a substitution. What
scikit-learn adds to every estimator is explained in scikit-learn's own pages and is left out.
"""

import re
from typing import Any

from sphinx.application import Sphinx

INHERITED = re.compile(
    r"set_\w+_request|get_metadata_routing|set_output|get_params|set_params|to_model|take_model"
)
QUOTED = re.compile(r"(``.*?``|`.*?`)")


def escape_plain_text(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape what stands outside of quotes and of examples."""
    lines[:] = [
        line if line.lstrip().startswith((">>>", "..")) else escaped(line) for line in lines
    ]


def escaped(line: str) -> str:
    """Return a line with the signs that have a meaning in reStructuredText made plain."""
    parts = QUOTED.split(line)
    if sum(part.count("*") for part in parts[::2]) == 1:  # as in (n_items, *shape)
        parts[::2] = [part.replace("*", r"\*") for part in parts[::2]]
    plain = [re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", part).replace("|", r"\|") for part in parts[::2]]
    parts[::2] = plain
    return "".join(parts)


def skip_inherited(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what every scikit-learn estimator has."""
    return True if INHERITED.fullmatch(name) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at docstrings after numpydoc has."""
    app.connect("autodoc-process-docstring", escape_plain_text, priority=600)
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
