"""Values of a table's cells as JSON has them."""

from __future__ import annotations

import math
from typing import Any


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: null for NaN and infinity, text for dates and the like."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    if isinstance(value, dict):
        return {str(name): json_value(one) for name, one in value.items()}
    return str(value)
