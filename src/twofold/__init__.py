"""Twofold: metric learning from pairs at the price of plain regression.

Phase 1 turns statements about pairs into a target vector for every item (`solve_targets`); phase
2 is plain regression from features to targets.

Names are imported when they are first asked for: torch, Numba and scikit-learn take seconds, and
`twofold --help` needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from twofold._core.versions import __version__

if TYPE_CHECKING:
    from twofold import ask as ask
    from twofold import asking as asking
    from twofold import baselines as baselines
    from twofold import datasets as datasets
    from twofold import estimators as estimators
    from twofold import evaluation as evaluation
    from twofold import experiments as experiments
    from twofold import feedback as feedback
    from twofold import matching as matching
    from twofold import metric as metric
    from twofold import preparation as preparation
    from twofold import regression as regression
    from twofold import relations as relations
    from twofold import report as report
    from twofold import search as search
    from twofold import targets as targets
    from twofold import tasks as tasks
    from twofold._core.threads import describe_threads
    from twofold._core.warnings import RelationWarning, TargetWarning
    from twofold.asking import Suggestions
    from twofold.baselines import SiameseLearner, TripletLearner
    from twofold.estimators import (
        HashLearner,
        MetricLearner,
        PairMetricLearner,
        PairMetricLearnerSupervised,
        load,
    )
    from twofold.matching import PairClassifier
    from twofold.regression import Augment, Network
    from twofold.relations import LabelRelation, PairRelation, TripletRelation
    from twofold.targets import Targets, TargetSolution, solve_targets, standardise_targets

__all__ = [
    "Augment",
    "HashLearner",
    "LabelRelation",
    "MetricLearner",
    "Network",
    "PairClassifier",
    "PairMetricLearner",
    "PairMetricLearnerSupervised",
    "PairRelation",
    "RelationWarning",
    "SiameseLearner",
    "Suggestions",
    "TargetSolution",
    "TargetWarning",
    "Targets",
    "TripletLearner",
    "TripletRelation",
    "__version__",
    "describe_threads",
    "load",
    "solve_targets",
    "standardise_targets",
]

_HOMES = {
    "_core.threads": ("describe_threads",),
    "_core.warnings": ("RelationWarning", "TargetWarning"),
    "asking": ("Suggestions",),
    "baselines": ("SiameseLearner", "TripletLearner"),
    "estimators": (
        "HashLearner",
        "MetricLearner",
        "PairMetricLearner",
        "PairMetricLearnerSupervised",
        "load",
    ),
    "matching": ("PairClassifier",),
    "regression": ("Augment", "Network"),
    "relations": ("LabelRelation", "PairRelation", "TripletRelation"),
    "targets": ("TargetSolution", "Targets", "solve_targets", "standardise_targets"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_PACKAGES = (
    "ask",
    "asking",
    "baselines",
    "datasets",
    "estimators",
    "evaluation",
    "experiments",
    "feedback",
    "matching",
    "metric",
    "preparation",
    "regression",
    "relations",
    "report",
    "search",
    "serving",
    "targets",
    "tasks",
)

if not TYPE_CHECKING:  # else every misspelt name would have a type

    def __getattr__(name: str) -> Any:
        """Import a public name, or a package, when it is first asked for."""
        if name in _HOME_OF:
            value = getattr(import_module(f"twofold.{_HOME_OF[name]}"), name)
        elif name in _PACKAGES:
            value = import_module(f"twofold.{name}")
        else:
            raise AttributeError(f"module 'twofold' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return every name there is, also those that are not imported yet."""
    return sorted({*globals(), *__all__, *_PACKAGES})
