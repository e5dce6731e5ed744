"""`load`: a learner from the folder that `save` wrote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from twofold._core.model_card import CARD, damage_said, refuse_unknown_parameters
from twofold.estimators._embedding_learner import LEARNERS, EmbeddingLearner
from twofold.estimators._model import open_model
from twofold.regression import check_embedding


def load(
    folder: str | os.PathLike[str],
    *,
    embedder: nn.Module | None = None,
    device: str = "auto",
    trusted: Sequence[str] = (),
) -> EmbeddingLearner:
    """Open a model that was saved with `save`. No code from the folder is run.

    Parameters
    ----------
    folder : path
        Of the model.
    embedder : nn.Module, optional
        Your own network, needed if the model was made with one: its weights are in the folder, but
        its code is not. The weights are loaded into it in place.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where the model runs.
    trusted : sequence of str
        Types that a regressor in the folder may contain besides those that skops considers
        harmless, for instance "sklearn.tree._tree.Tree" for a forest; if any are missing, the error
        message lists them.

    Returns
    -------
    MetricLearner, or whichever learner was saved
        Its points equal those of the saved learner within rounding. If the model was saved with its
        data, you can continue with `update` and `suggest_pairs`.
    """
    model = open_model(folder, architecture=embedder, device=device, trusted=trusted)
    if model.learner not in LEARNERS:
        raise ValueError(
            f"{folder} holds a {model.learner!r}, which this Twofold does not know; it knows "
            f"{', '.join(sorted(LEARNERS))}."
        )
    kind, place = LEARNERS[model.learner], Path(folder)
    refuse_unknown_parameters(kind, model.parameters, place / CARD)
    learner = kind(**model.parameters)
    if embedder is not None:
        is_nested = "embedder__architecture" in learner.get_params()
        learner.set_params(**{"embedder__architecture" if is_nested else "embedder": embedder})
    if "device" in learner.get_params(deep=False):
        learner.device = device
    with damage_said(place, "one of its parameters"):
        learner.take_model(model)
        if "embedder" in learner.get_params(deep=False):
            learner.check_embedder()
    check_embedding(learner._embed, model.embedder, learner.n_components_, place)
    return learner
