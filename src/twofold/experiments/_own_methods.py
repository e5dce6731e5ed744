"""Methods of a comparison: ours by name, and learners of one's own."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator, clone

from twofold.estimators import EmbeddingLearner
from twofold.experiments._methods import METHODS, Method, RunConfig, choose_methods
from twofold.experiments._own_learner import OwnLearner
from twofold.experiments._own_set import check_name
from twofold.experiments._paper import Protocol
from twofold.regression import Network

SEED = "random_state"


def own_methods(
    methods: Sequence[Any] | Mapping[str, Any], protocol: Protocol
) -> tuple[Method, ...]:
    """Return methods by name, ours, and by learner, one's own.

    Parameters
    ----------
    methods : sequence of str and learners, or mapping of names to these
        A learner without a name has its class's.
    protocol : Protocol
        Ours must be able to learn from it.
    """
    if isinstance(methods, str):
        methods = (methods,)
    given = methods.items() if isinstance(methods, Mapping) else ((None, one) for one in methods)
    selected = []
    for name, one in given:
        if isinstance(one, str):
            selected.append(choose_methods((one,), protocol)[0])
        else:
            selected.append(_own_method(name, one))
    names = [method.name for method in selected]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"Two methods are called {twice!r}: name them with methods={{'first': …, 'second': …}}."
        )
    return tuple(selected)


def _own_method(name: str | None, learner: Any) -> Method:
    if not (hasattr(learner, "fit") and hasattr(learner, "transform")) or isinstance(learner, type):
        raise TypeError(
            f"A method must be the name of a built-in one ({', '.join(METHODS)}) or a learner "
            f"with fit and transform, got {learner!r}."
        )
    title = check_name("method", type(learner).__name__ if name is None else name)
    if title in METHODS:
        raise ValueError(f"{title!r} is a built-in method: give yours another name.")
    return Method(title, title, "", "own", "labels", lambda config: _seeded(learner, config))


def _seeded(learner: Any, config: RunConfig) -> EmbeddingLearner | OwnLearner:
    """Return a copy, not yet fitted, with the run's seed wherever it has a parameter for one."""
    fresh = clone(learner) if isinstance(learner, BaseEstimator) else copy.deepcopy(learner)
    if hasattr(fresh, "get_params") and hasattr(fresh, "set_params"):
        seeds = [name for name in fresh.get_params() if name.rpartition("__")[2] == SEED]
        fresh.set_params(**dict.fromkeys(seeds, config.seed))
    elif hasattr(fresh, SEED):
        setattr(fresh, SEED, config.seed)
    if not isinstance(fresh, EmbeddingLearner):
        return OwnLearner(fresh)
    if isinstance(fresh.get_params().get("embedder"), Network):
        fresh.set_params(embedder__checkpoint=config.checkpoint)
    return fresh
