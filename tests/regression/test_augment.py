"""Training images mirrored, moved, turned and cut out, each against what it means by pixel."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor, nn

from twofold import MetricLearner, Network
from twofold.baselines import ClassifierLearner
from twofold.baselines._pair_tasks import Contrastive, PairTask, TripletTask
from twofold.regression import (
    Augment,
    RegressionTask,
    TrainingConfig,
    fit_embedder,
    open_features,
    refuse_augmented,
)
from twofold.regression._augment import Augmenter, resolve_augment
from twofold.regression._expected_target import LikelihoodTask
from twofold.regression._target_direction import DirectionTask
from twofold.relations import PairRelation, TripletRelation

RNG = np.random.default_rng
CPU = torch.device("cpu")


def some_images(n_items: int, n_channels=2, height=5, width=7, dtype=np.uint8) -> Tensor:
    pixels = RNG(0).integers(0, 256, size=(n_items, n_channels, height, width))
    return torch.from_numpy(pixels.astype(dtype))


def augmented(images: Tensor, augment: Augment, epoch: int = 1, seed: int = 0) -> Tensor:
    augmenter = Augmenter(augment, CPU)
    augmenter.begin_epoch(epoch)
    generator = torch.Generator().manual_seed(seed)
    return augmenter(images, torch.arange(len(images)), generator)


def which_are(found: Tensor, expected: Tensor) -> Tensor:
    return (found == expected).flatten(1).all(dim=1)


# ---- flips ----


def test_every_image_is_seen_both_ways_in_two_epochs_and_half_of_them_mirrored_in_each():
    images = some_images(1000)
    mirrored = []
    for epoch in (1, 2, 3, 4):
        seen = augmented(images, Augment(flips=True), epoch)
        assert seen.dtype == torch.uint8
        mirrored.append(which_are(seen, images.flip(-1)))
        assert mirrored[-1].equal(~which_are(seen, images))
        assert 450 < mirrored[-1].sum() < 550
    assert mirrored[1].equal(~mirrored[0])
    assert mirrored[2].equal(mirrored[0])
    assert mirrored[3].equal(mirrored[1])


def test_neighbours_in_the_data_take_turns_apart():
    """A batch of items in order, and of every second or every tenth one, has both ways in it."""
    mirrored = which_are(
        augmented(some_images(1000), Augment(flips=True)), some_images(1000).flip(-1)
    )
    for step in (1, 2, 4, 10, 16):
        assert 0.3 < mirrored[::step].float().mean() < 0.7


def test_an_image_s_turn_is_its_own_wherever_it_stands_in_a_batch():
    images, order = some_images(40), torch.from_numpy(RNG(1).permutation(40))
    augmenter, generator = Augmenter(Augment(flips=True), CPU), torch.Generator()
    augmenter.begin_epoch(3)
    whole = augmenter(images, torch.arange(40), generator)
    parts = [augmenter(images[some], some, generator) for some in torch.split(order, 7)]
    assert torch.cat(parts).equal(whole[order])


def tasks(images: np.ndarray):
    """Every task that is trained on images, with the items that its examples show."""
    features, augment, n_items = open_features(images, "cpu"), Augment(flips=True), len(images)
    items, zeros = np.arange(n_items), np.zeros(n_items, dtype=np.int64)
    targets = np.zeros((n_items, 2), dtype=np.float32)
    middle = np.arange(n_items - 2)
    pairs = PairRelation(middle, middle + 1, middle % 2, n_items)
    triplets = TripletRelation(middle, middle + 1, middle + 2, n_items)
    table = torch.zeros(1, 2)
    return {
        "squared": RegressionTask(features, items, targets, "cpu", augment),
        "likelihood": LikelihoodTask(features, items, zeros, "cpu", augment),
        "direction": DirectionTask(features, items, zeros, table, "cpu", augment),
        "pairs": PairTask(features, pairs, Contrastive(1.0), "cpu", augment),
        "triplets": TripletTask(features, triplets, 1.0, augment),
    }


class Seen(Exception):  # noqa: N818
    """Carries the batch that a network was shown."""


class Shown(nn.Module):
    def forward(self, images):
        raise Seen(images)


@pytest.mark.parametrize("kind", ["squared", "likelihood", "direction", "pairs", "triplets"])
def test_every_task_is_told_of_its_epochs(kind):
    images = some_images(60)
    task = tasks(images.numpy())[kind]
    network = nn.Sequential(Shown(), nn.Identity())
    shown = []
    for epoch in (1, 2):
        task.begin_epoch(epoch)
        with pytest.raises(Seen) as seen:
            task.loss(network, torch.arange(58), torch.Generator().manual_seed(0))
        shown.append(seen.value.args[0])
    assert which_are(shown[0], shown[1].flip(-1)).all()
    assert not which_are(shown[0], shown[1]).any()
    with pytest.raises(Seen) as seen:
        task.loss(network, torch.arange(58))  # nothing is changed where nothing is learnt
    assert which_are(seen.value.args[0][:58], images[:58]).all()


# ---- shift ----


def slow_shift(image: np.ndarray, down: int, right: int) -> np.ndarray:
    """Move an image; beyond an edge it is seen as in a mirror that stands on the edge's pixels."""
    _, height, width = image.shape
    moved = np.empty_like(image)
    for row in range(height):
        for column in range(width):
            from_row, from_column = abs(row + down), abs(column + right)
            if from_row >= height:
                from_row = 2 * (height - 1) - from_row
            if from_column >= width:
                from_column = 2 * (width - 1) - from_column
            moved[:, row, column] = image[:, from_row, from_column]
    return moved


def shifts_of(image: np.ndarray, seen: np.ndarray, most: int) -> list[tuple[int, int]]:
    every = range(-most, most + 1)
    return [
        (down, right)
        for down in every
        for right in every
        if np.array_equal(slow_shift(image, down, right), seen)
    ]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("most", [1, 3])
def test_images_move_by_whole_pixels_either_way_and_are_mirrored_at_the_edge(most, dtype):
    images = some_images(60, dtype=dtype)
    seen = augmented(images, Augment(shift=most))
    assert seen.dtype == images.dtype
    found = [
        shifts_of(image, one, most) for image, one in zip(images.numpy(), seen.numpy(), strict=True)
    ]
    assert {len(shifts) for shifts in found} == {1}
    for axis in (0, 1):
        assert {shifts[0][axis] for shifts in found} == set(range(-most, most + 1))
    assert len({shifts[0] for shifts in found}) > 2 * most + 1  # up and down apart from sideways


def test_images_may_be_mirrored_and_moved_at_once():
    images = some_images(30)
    seen = augmented(images, Augment(flips=True, shift=1)).numpy()
    mirrored = which_are(augmented(images, Augment(flips=True)), images.flip(-1))
    for image, one, is_mirrored in zip(images.numpy(), seen, mirrored, strict=True):
        original = image[:, :, ::-1] if is_mirrored else image
        assert len(shifts_of(original, one, 1)) == 1


# ---- rotation ----


def ramps(n_items: int, height: int, width: int) -> Tensor:
    """Images that hold each pixel's own place, from the middle: to the right, and down.

    Bilinear sampling gives linear functions exactly, so a changed image says where it is from.
    """
    down, right = np.mgrid[:height, :width]
    places = np.stack([right - (width - 1) / 2, down - (height - 1) / 2])
    return torch.from_numpy(np.broadcast_to(places, (n_items, *places.shape)).astype(np.float32))


def sources(seen: Tensor, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear map and the shift that give each image's sources, from its middle part."""
    height, width = seen.shape[2:]
    there = ramps(1, height, width)[0].flatten(1).T.numpy().astype(np.float64)
    inside = np.hypot(*there.T) <= radius
    design = np.column_stack([there[inside], np.ones(inside.sum())])
    values = seen.flatten(2).numpy()[:, :, inside].transpose(0, 2, 1)
    fits = [np.linalg.lstsq(design, one, rcond=None) for one in values]
    assert max(residual.max() for _, residual, _, _ in fits) < 1e-6  # linear indeed
    maps = np.array([fit[0].T for fit in fits])
    return maps[:, :, :2], maps[:, :, 2]


@pytest.mark.parametrize(("height", "width"), [(13, 13), (12, 19)])
def test_images_are_turned_by_at_most_so_many_degrees_either_way(height, width):
    seen = augmented(ramps(200, height, width), Augment(rotation=30))
    linear, shift = sources(seen, radius=4)
    angles = np.degrees(np.arctan2(linear[:, 1, 0], linear[:, 0, 0]))
    turns = np.radians(angles)
    rotation = np.array([[np.cos(turns), -np.sin(turns)], [np.sin(turns), np.cos(turns)]])
    np.testing.assert_allclose(linear, rotation.transpose(2, 0, 1), atol=1e-4)
    np.testing.assert_allclose(shift, 0, atol=1e-4)  # about the middle
    assert 27 < angles.max() <= 30.01
    assert -30.01 <= angles.min() < -27
    assert abs(np.mean(angles)) < 4


def test_turned_images_are_mirrored_and_moved_as_well():
    augment = Augment(flips=True, rotation=30, shift=2)
    images = ramps(200, 17, 13)
    linear, shift = sources(augmented(images, augment), radius=3.5)
    mirrored = np.linalg.det(linear) < 0
    by_flips = which_are(augmented(images, Augment(flips=True)), images.flip(-1)).numpy()
    np.testing.assert_array_equal(mirrored, by_flips)
    np.testing.assert_allclose(np.abs(np.linalg.det(linear)), 1, atol=1e-4)
    farthest = np.abs(shift).max(axis=0)
    assert (farthest > 1.8).all()
    assert (farthest <= 2.0001).all()
    assert np.abs(shift.mean(axis=0)).max() < 0.4


def smooth_images(n_items: int, side: int) -> Tensor:
    """Images without a symmetry, of slow waves."""
    along = torch.linspace(0, 1, side)
    image = torch.sin(2 * along[:, None] + 1) + torch.cos(3 * along[None] ** 2)
    return image.expand(n_items, 1, side, side)


def test_a_turn_by_nothing_shows_the_image_itself_or_its_mirror_image():
    images = smooth_images(20, 9)
    seen = augmented(images, Augment(rotation=1e-6))
    np.testing.assert_allclose(seen, images, atol=1e-5)
    seen = augmented(images, Augment(flips=True, rotation=1e-6))
    mirrored = which_are(augmented(images, Augment(flips=True)), images.flip(-1))
    expected = torch.where(mirrored[:, None, None, None], images.flip(-1), images)
    np.testing.assert_allclose(seen, expected, atol=1e-5)


def test_quarter_and_half_turns_are_torch_s():
    side, n_items = 9, 6000
    augment = Augment(rotation=180)
    linear, _ = sources(augmented(ramps(n_items, side, side), augment), radius=3)
    angles = np.degrees(np.arctan2(linear[:, 1, 0], linear[:, 0, 0]))
    images = smooth_images(n_items, side)
    seen = augmented(images, augment)
    for degrees, n_quarters in ((0, 0), (90, 1), (180, 2), (-90, -1)):
        near = np.flatnonzero(np.abs((angles - degrees + 180) % 360 - 180) < 0.2)
        assert near.size
        expected = torch.rot90(images[:1], n_quarters, dims=(2, 3)).expand(near.size, -1, -1, -1)
        np.testing.assert_allclose(seen[near], expected, atol=0.03)


def test_turned_bytes_become_floats_between_those_of_the_image():
    images = some_images(10)
    seen = augmented(images, Augment(rotation=20))
    assert seen.dtype == torch.float32
    lowest, highest = (edge(images.float(), dim=(1, 2, 3)) for edge in (torch.amin, torch.amax))
    assert (seen.amin(dim=(1, 2, 3)) >= lowest - 1e-3).all()
    assert (seen.amax(dim=(1, 2, 3)) <= highest + 1e-3).all()


# ---- cutout ----


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("side", [1, 3, 4])
def test_a_square_anywhere_has_the_image_s_mean_colour(side, dtype):
    height, width = 7, 8
    pixels = RNG(0).integers(0, 2, size=(700, 2, height, width)) * 200  # no pixel is the mean
    images = torch.from_numpy(pixels.astype(dtype))
    seen = augmented(images, Augment(cutout=side))
    assert seen.dtype == images.dtype
    changed = (seen != images).all(dim=1).numpy()
    sizes = set()
    for before, after, mask in zip(images.numpy(), seen.numpy(), changed, strict=True):
        rows, columns = mask.any(axis=1), mask.any(axis=0)
        np.testing.assert_array_equal(mask, np.outer(rows, columns))
        for one in (rows, columns):  # without a gap
            assert np.ptp(np.flatnonzero(one)) == one.sum() - 1
        sizes.add((rows.sum(), columns.sum()))
        colour = before.astype(np.float64).mean(axis=(1, 2))
        expected = np.floor(colour) if dtype == np.uint8 else colour
        np.testing.assert_allclose(after[:, mask], np.repeat(expected[:, None], mask.sum(), 1))
        np.testing.assert_array_equal(after[:, ~mask], before[:, ~mask])
    heights, widths = zip(*sizes, strict=True)
    assert max(heights) == max(widths) == side
    assert min(heights) >= side // 2
    assert changed.any(axis=0).all()  # corners too
    if side > 1:
        assert min(heights) < side  # it may reach over the edge


# ---- what nothing is done to ----


@pytest.mark.parametrize("augment", [None, Augment(flips=True, shift=1, rotation=5, cutout=2)])
def test_nothing_is_changed_without_a_generator(augment):
    images = some_images(20)
    before = images.clone()
    augmenter = Augmenter(augment, CPU)
    augmenter.begin_epoch(2)
    assert augmenter(images, torch.arange(20), None) is images
    assert images.equal(before)


def test_nothing_is_drawn_where_nothing_is_random():
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    for augment in (None, Augment(flips=True)):
        Augmenter(augment, CPU)(some_images(5), torch.arange(5), generator)
    assert generator.get_state().equal(before)


def test_the_images_themselves_are_left_as_they_are():
    images = some_images(20)
    before = images.clone()
    seen = augmented(images, Augment(flips=True, shift=2, rotation=10, cutout=3))
    assert images.equal(before)
    assert seen.shape == images.shape


@pytest.mark.parametrize(
    "augment",
    [Augment(shift=2), Augment(rotation=9), Augment(cutout=2)],
    ids=repr,
)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(augment):
    images = some_images(30)
    seen = augmented(images, augment)
    assert augmented(images, augment).equal(seen)
    assert not augmented(images, augment, seed=1).equal(seen)


def test_a_network_trained_on_changed_images_has_the_same_bytes_again():
    images = some_images(40, 1, 8, 8).numpy()
    targets = RNG(0).normal(size=(40, 2)).astype(np.float32)
    augment = Augment(flips=True, shift=1, rotation=10, cutout=2)

    def points(augment, seed=0):
        config = TrainingConfig("mnist", 2, 16, 1e-3, augment=augment)
        return fit_embedder(config, images, targets, RNG(seed)).embedder.predict(images)

    np.testing.assert_array_equal(points(augment), points(augment))
    assert not np.array_equal(points(augment), points(None))
    assert not np.array_equal(points(augment), points(augment, seed=1))


# ---- how it is said, and what is refused ----


@pytest.mark.parametrize(
    ("name", "flips", "shifts", "turns"),
    [("flips", True, False, False), ("photographs", True, True, False),
     ("characters", False, True, True)],
)  # fmt: skip
def test_names_stand_for_what_suits_such_images(name, flips, shifts, turns):
    augment = resolve_augment(name)
    assert augment.flips is flips
    assert (augment.shift > 0, augment.rotation > 0) == (shifts, turns)
    assert augment.cutout == 0


def test_what_changes_nothing_is_none():
    assert resolve_augment(None) is None
    assert resolve_augment(Augment()) is None
    assert resolve_augment(Augment(cutout=1)) is not None


def test_an_augment_is_a_scikit_learn_estimator():
    augment = Augment(shift=2, rotation=7)
    assert repr(augment) == "Augment(rotation=7, shift=2)"
    network = clone(Network(augment=augment))
    assert network.augment is not augment
    assert network.augment.get_params() == augment.get_params()
    network.set_params(augment__cutout=3)
    assert (network.augment.cutout, augment.cutout) == (3, 0)


@pytest.mark.parametrize(
    ("augment", "error", "sentence"),
    [
        ("crops", ValueError, "augment must be one of 'flips', 'photographs', .* got 'crops'"),
        (3, ValueError, "augment must be one of 'flips', .* got 3"),
        (Augment(flips=1), TypeError, "augment.flips must be True or False, got 1"),
        (Augment(shift=-1), ValueError, "augment.shift must be at least 0, got -1"),
        (Augment(shift=1.5), TypeError, "augment.shift must be an integer, got 1.5"),
        (Augment(cutout="big"), TypeError, "augment.cutout must be an integer, got 'big'"),
        (Augment(rotation=-3), ValueError, "augment.rotation must be finite and at least 0"),
        (Augment(rotation=math.nan), ValueError, "augment.rotation must be finite .* got nan"),
        (Augment(rotation=200), ValueError, "augment.rotation must be at most 180 .* got 200"),
        (Augment(rotation=None), TypeError, "augment.rotation must be a number, got None"),
    ],
)
def test_what_is_no_way_of_changing_images_is_refused(augment, error, sentence):
    with pytest.raises(error, match=sentence):
        resolve_augment(augment)


@pytest.mark.parametrize("kind", [MetricLearner, ClassifierLearner])
@pytest.mark.parametrize(
    ("augment", "shape", "sentence"),
    [
        ("flips", (6,), r"augment changes images .* items have shape \(6,\)\. Leave augment out"),
        ("photographs", (4, 6), r"augment changes images .* items have shape \(4, 6\)"),
        (Augment(shift=5), (1, 9, 5), "augment.shift must be less .* images, 5 pixels, got 5"),
        (Augment(cutout=4), (1, 4, 6), "augment.cutout must be less .* images, 4 pixels, got 4"),
    ],
)
def test_vectors_and_what_is_too_large_for_images_are_refused(kind, augment, shape, sentence):
    X = RNG(0).normal(size=(12, *shape)).astype(np.float32)
    learner = kind(embedder=Network("mlp", augment=augment), device="cpu")
    with pytest.raises(ValueError, match=sentence):
        learner.fit(X, np.arange(12) % 3)


def test_the_largest_sizes_that_fit_are_taken():
    augment = Augment(shift=3, cutout=3)
    refuse_augmented(augment, (1, 4, 9))
    assert augmented(some_images(10, 1, 4, 9), augment).shape == (10, 1, 4, 9)
    refuse_augmented(None, (7,))


def test_numbers_of_numpy_become_plain_ones():
    augment = resolve_augment(Augment(shift=np.int64(2), rotation=np.float32(5), cutout=np.int8(1)))
    kinds = [type(value) for value in (augment.shift, augment.rotation, augment.cutout)]
    assert kinds == [int, float, int]
