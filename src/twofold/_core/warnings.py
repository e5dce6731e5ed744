"""The warnings Twofold gives of its own; a solver that stops early gives scikit-learn's."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1])


class RelationWarning(UserWarning):
    """A relation holds something its owner should know: contradictions, items without a label."""


class TargetWarning(UserWarning):
    """Targets are right for what was asked, but items that should differ share one."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line: the nearest one outside this package."""
    depth = 1
    while sys._getframe(depth).f_code.co_filename.startswith(PACKAGE):
        depth += 1
    warnings.warn(message, category, stacklevel=depth + 1)
