"""From scores of pairs to decisions: pairs one to one, and groups that do not chain."""

from twofold.matching._assignment import one_to_one
from twofold.matching._groups import group_pairs

__all__ = ["group_pairs", "one_to_one"]
