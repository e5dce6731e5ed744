"""What to ask next: the pairs whose answers would help most; and how good the metric is by now.

Candidate pairs are proposed from the embedding, a calibration says how likely each is alike, and
those in doubt are chosen, half of them likely alike. Test pairs are drawn apart, with known
chances, and say how good the metric is.
"""

from twofold.asking._askable import Askable
from twofold.asking._calibration import calibrate_similarity, held_out_similarity
from twofold.asking._candidate_pairs import first_guess, propose_partners
from twofold.asking._chance_curves import Population, Repeats
from twofold.asking._choice import choose_pairs
from twofold.asking._nines import N_BESIDE, choose_nines
from twofold.asking._quality import Quality, estimate_quality, log_odds, weighted_auroc
from twofold.asking._suggest import Suggestions, suggest
from twofold.asking._test_design import TestDesign

__all__ = [
    "N_BESIDE",
    "Askable",
    "Population",
    "Quality",
    "Repeats",
    "Suggestions",
    "TestDesign",
    "calibrate_similarity",
    "choose_nines",
    "choose_pairs",
    "estimate_quality",
    "first_guess",
    "held_out_similarity",
    "log_odds",
    "propose_partners",
    "suggest",
    "weighted_auroc",
]
