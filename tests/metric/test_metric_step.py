"""The metric step as a whole: what is selected, what it gives, what it is on disk."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_layers import part

from twofold.evaluation import retrieval_scores
from twofold.metric import (
    ClassKinds,
    HeldOut,
    LayerSample,
    MetricStep,
    fit_metric,
    prior_selection,
    select_metric,
)
from twofold.metric._gate import GateCurve, fit_curve, gated
from twofold.metric._layer_space import SHRINKAGE
from twofold.metric._selection import FEWEST_COMPARED, SHRINKAGES


def held_out(rng, with_output):
    trained, seen = (part(12, rng=rng, collapsed=True) for _ in range(2))
    unseen = part(10, rng=rng, collapsed=False)
    return HeldOut(trained, unseen, seen if with_output else None, 10)


def selected(rng, with_output):
    return select_metric(held_out(rng, with_output), {"output": 0.0}, rng)[0]


def map_at_r(points, classes):
    return retrieval_scores(points, classes, metric="cosine", n_resamples=0).map_at_r


def test_for_kinds_never_seen_the_output_hardly_counts(rng):
    selection = selected(rng, with_output=False)
    weights = dict(zip([layer for layer, _ in selection.spaces], selection.weights, strict=True))
    assert weights.get("output", 0) < 0.1
    assert sum(selection.weights) == pytest.approx(1)
    assert selection.gate is None
    assert selection.n_held_out == 10


def test_one_step_is_good_on_kinds_seen_and_unseen(rng):
    both, unseen = selected(rng, with_output=True), selected(rng, with_output=False)
    assert both.gate is not None
    new, old = part(10, rng=rng, collapsed=False), part(12, rng=rng, collapsed=True)
    trained = part(12, rng=rng, collapsed=True)
    scores = {}
    for name, selection in (("both", both), ("unseen", unseen)):
        step = fit_metric(selection, trained, 512)
        scores[name] = [
            map_at_r(step.transform(one.layers), one.kinds.classes) for one in (new, old)
        ]
    assert scores["both"][1] > scores["unseen"][1]
    output = [map_at_r(one.layers["output"], one.kinds.classes) for one in (new, old)]
    assert scores["both"][0] > output[0] + 0.1


def test_points_have_length_one_and_an_item_is_its_own_nearest(rng):
    trained = part(12, rng=rng, collapsed=True)
    step = fit_metric(selected(rng, with_output=True), trained, 512)
    points = step.transform(trained.layers).numpy()
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)
    assert ((points @ points.T).argmax(axis=1) == np.arange(len(points))).mean() > 0.99
    assert points.shape[1] == step.n_components


def test_few_components_keep_the_leading_directions(rng):
    trained = part(12, rng=rng, collapsed=True)
    selection = prior_selection(["features", "inner"])
    whole, narrow = (fit_metric(selection, trained, n) for n in (512, 8))
    assert narrow.n_components == 8
    wide, few = (step.transform(trained.layers) for step in (whole, narrow))
    likeness = np.corrcoef((wide @ wide.T).ravel(), (few @ few.T).ravel())[0, 1]
    assert likeness > 0.9


@pytest.mark.parametrize("with_output", [True, False])
def test_a_step_on_disk_gives_the_same_points(tmp_path, rng, with_output):
    trained = part(12, rng=rng, collapsed=True)
    step = fit_metric(selected(rng, with_output), trained, 512)
    description = json.loads(json.dumps(step.save(tmp_path)))
    opened = MetricStep.open(description, tmp_path)
    assert opened.layer_names == step.layer_names
    expected = step.transform(trained.layers)
    np.testing.assert_allclose(opened.transform(trained.layers), expected, atol=1e-5)


def test_a_step_that_was_changed_or_is_not_there_is_refused(tmp_path, rng):
    trained = part(4, rng=rng, collapsed=True)
    step = fit_metric(prior_selection(["features"]), trained, 512)
    description = step.save(tmp_path)
    file = tmp_path / "metric.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match="damaged or was changed"):
        MetricStep.open(description, tmp_path)
    file.unlink()
    with pytest.raises(FileNotFoundError, match="incomplete"):
        MetricStep.open(description, tmp_path)


def test_points_of_layers_that_come_in_batches_are_those_of_all_at_once(rng):
    trained = part(12, rng=rng, collapsed=True)
    step = fit_metric(selected(rng, with_output=True), trained, 512)
    batches = [
        {name: values[rows] for name, values in trained.layers.items()}
        for rows in (slice(0, 100), slice(100, None))
    ]
    np.testing.assert_allclose(
        step.embed(batches, len(trained.layers["features"])),
        step.transform(trained.layers),
        atol=1e-5,
    )


def test_without_features_among_the_layers_the_others_are_joined(rng):
    samples = held_out(rng, with_output=True)
    for sample in (samples.trained, samples.unseen, samples.seen):
        del sample.layers["features"]
    selection, _ = select_metric(samples, {"output": 0.0}, rng)
    assert {layer for layer, _ in selection.spaces} <= {"inner", "output"}


def test_the_gate_opens_for_what_looks_like_a_kind_that_was_seen(rng):
    seen, unseen = (rng.normal(centre, 0.1, 300).astype(np.float32) for centre in (0.8, 0.4))
    curve = fit_curve(torch.from_numpy(seen), torch.from_numpy(unseen))
    gate = GateCurve(curve.slope, curve.offset, 0.5)
    shares = gate.apply(torch.tensor([0.2, 0.6, 1.0]))
    assert shares[0] < 0.05 < 0.2 < shares[1] < 0.3 < 0.45 < shares[2] <= 0.5


def test_gated_points_have_length_one(rng):
    shares = torch.tensor([0, 0.25, 0.5, 0.75])
    points = gated(torch.eye(4), torch.eye(4), shares).numpy()
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)
    np.testing.assert_allclose((points[:, 4:] ** 2).sum(axis=1), [0, 0.25, 0.5, 0.75])


def test_the_shrinkage_that_tells_kinds_held_out_apart_is_selected(rng, monkeypatch):
    # Within a class the last coordinate varies a hundred times as much as the others, and says
    # nothing: it is all that is seen, unless all are whitened.
    samples = [vectors_with_a_loud_coordinate(rng) for _ in range(2)]
    for given, best in (((1.0, 0.01), 0.01), ((0.01, 1.0), 0.01), ((1.0,), 1.0)):
        monkeypatch.setattr("twofold.metric._selection.SHRINKAGES", given)
        selection, _ = select_metric(HeldOut(*samples, None, 10), {"output": 0.0}, rng)
        assert selection.shrinkage == best


def test_too_few_kinds_held_out_do_not_select_a_shrinkage(rng):
    samples = [vectors_with_a_loud_coordinate(rng) for _ in range(2)]
    of_kinds = {
        n_kinds: select_metric(HeldOut(*samples, None, n_kinds), {"output": 0.0}, rng)[0]
        for n_kinds in (FEWEST_COMPARED - 1, FEWEST_COMPARED)
    }
    assert [one.shrinkage for one in of_kinds.values()] == [SHRINKAGE, min(SHRINKAGES)]


def test_the_shrinkage_that_was_selected_is_solved_with(rng):
    trained = vectors_with_a_loud_coordinate(rng)
    selection = prior_selection(["inner"])
    little, whole = (
        fit_metric(replace(selection, shrinkage=shrinkage), trained, 512)
        for shrinkage in (0.01, 1.0)
    )
    classes = trained.kinds.classes
    scores = [map_at_r(step.transform(trained.layers), classes) for step in (little, whole)]
    assert scores[0] > scores[1] + 0.2


def vectors_with_a_loud_coordinate(rng):
    classes = np.repeat(np.arange(10), 20)
    quiet = rng.normal(size=(10, 4))[classes] + 0.1 * rng.normal(size=(200, 4))
    vectors = torch.from_numpy(np.hstack([quiet, 10 * rng.normal(size=(200, 1))])).float()
    return LayerSample({"inner": vectors, "output": vectors[:, :1] * 0}, ClassKinds(classes))
