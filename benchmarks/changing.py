"""Numbers of the package that are changed for a while, to see what they are worth."""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch


def changed(constant: str, value: Any) -> ExitStack:
    """Change a constant of the package wherever it is imported, until the context ends."""
    module_name, _, attribute = constant.rpartition(".")
    stack = ExitStack()
    for module in modules_with(module_name, attribute):
        stack.enter_context(patch.object(module, attribute, value))
    return stack


def modules_with(module_name: str, constant: str) -> list[Any]:
    """Return the modules in whose names a constant stands: its own, and those that import it."""
    importlib.import_module(f"twofold.{module_name}")
    return [
        module
        for key, module in list(sys.modules.items())
        if key.startswith("twofold.") and constant in vars(module)
    ]
