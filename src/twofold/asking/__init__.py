"""What to ask next: the pairs whose answers would help most.

Candidate pairs are proposed from the embedding, a calibration says how likely each is alike, and
those in doubt are chosen, half of them likely alike.
"""

from twofold.asking._candidate_pairs import drop_known, propose_pairs
from twofold.asking._choice import choose_pairs
from twofold.asking._suggest import Suggestions, held_out_similarity, suggest

__all__ = [
    "Suggestions",
    "choose_pairs",
    "drop_known",
    "held_out_similarity",
    "propose_pairs",
    "suggest",
]
