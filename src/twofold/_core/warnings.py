"""The warnings Twofold gives of its own; a solver that stops early gives scikit-learn's."""

from __future__ import annotations


class RelationWarning(UserWarning):
    """A relation holds something its owner should know: contradictions, items without a label."""


class TargetWarning(UserWarning):
    """Targets are right for what was asked, but items that should differ share one."""
