"""Learning from few statements: targets that follow the features, and validation that selects.

Phase 1 alone satisfies few statements perfectly, and places what they do not link at random. So
targets start from the features and follow a map of them that is solved for, by turns; a network or
regressor is fitted once, to where the map ends. A problem and feature spaces make candidates,
each yields rounds, a validation trace scores them, and a selection is what is returned.
"""

from twofold.feedback._problem import Problem, Projections, Watch, pose_problem
from twofold.feedback._race import MOST_FOLDS
from twofold.feedback._refit import refit, refit_parts
from twofold.feedback._selection import Selection, select_candidate

__all__ = [
    "MOST_FOLDS",
    "Problem",
    "Projections",
    "Selection",
    "Watch",
    "pose_problem",
    "refit",
    "refit_parts",
    "select_candidate",
]
