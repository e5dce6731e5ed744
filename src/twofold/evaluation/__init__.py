"""How good points are: arrays in, numbers out."""

from twofold.evaluation._pairs import pair_auroc, pair_similarity

__all__ = ["pair_auroc", "pair_similarity"]
