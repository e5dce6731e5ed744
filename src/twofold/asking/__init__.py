"""What to ask next: the pairs whose answers would help most.

Candidate pairs are proposed from the embedding, a calibration says how likely each is alike, and
those in doubt are chosen, half of them likely alike.
"""

from twofold.asking._calibration import calibrate_similarity
from twofold.asking._suggest import Suggestions, suggest

__all__ = ["Suggestions", "calibrate_similarity", "suggest"]
