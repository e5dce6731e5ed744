"""Every mistake of a user's is one sentence: what is wrong, where, and the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from little_problems import (
    SHOWN,
    OwnNetwork,
    Rows,
    beside_loud_noise,
    pairs_within,
    quick_learner,
    three_blobs,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from torch import nn

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairRelation,
    Targets,
    TripletRelation,
)

X, Y = three_blobs()
LOUD, LOUD_Y = beside_loud_noise()
PAIRS = pairs_within(LOUD_Y)


def one_sentence(caught) -> str:
    """Return the message, which must be a few words to a person and not a trace."""
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_features_that_are_not_finite_are_refused(value, embedder):
    wrong = X.copy()
    wrong[7, 2] = value
    with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
        quick_learner(embedder=embedder).fit(wrong, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_to_embed_that_are_not_finite_are_refused(value):
    learner = quick_learner().fit(X, Y)
    wrong = X.copy()
    wrong[7, 2] = value
    with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
        learner.transform(wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("shape", "rows"), [((60, 5), (47, 55)), ((40, 2**19), (35, 39))])
def test_a_memory_mapped_array_is_looked_through_part_by_part(tmp_path, value, shape, rows):
    file = tmp_path / "X.npy"
    written = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
    written[rows, 2] = value
    written.flush()
    mapped = np.load(file, mmap_mode="r")
    sentence = f"contains NaN or infinity, first in row {rows[0]}"
    with pytest.raises(ValueError, match=sentence) as caught:
        quick_learner().fit(mapped, Y[: shape[0]])
    one_sentence(caught)


def test_a_dataset_that_holds_nan_is_refused_before_training():
    wrong = X.copy()
    wrong[7, 2] = np.nan
    seen = []
    with pytest.raises(ValueError, match="X holds NaN or infinity") as caught:
        quick_learner(embedder=Network(callback=seen.append)).fit(Rows(wrong), Y)
    assert not seen
    one_sentence(caught)


def test_an_empty_dataset_is_refused():
    with pytest.raises(ValueError, match="The Dataset is empty"):
        quick_learner().fit(Rows(X[:0]), Y[:0])


def test_a_memory_mapped_array_of_text_or_of_one_dimension_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros(5))
    with pytest.raises(ValueError, match=r"an item a row, got float64 of shape \(5,\)"):
        quick_learner().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), Y[:5])


@pytest.mark.parametrize("of", [PairRelation, LabelRelation, TripletRelation])
def test_a_relation_over_other_rows_is_refused_with_both_numbers(of):
    relation = {
        PairRelation: PairRelation([0, 1], [1, 2], [1, 0], 61),
        LabelRelation: LabelRelation(np.arange(61) % 3),
        TripletRelation: TripletRelation([0], [1], [2], 61),
    }[of]
    with pytest.raises(ValueError, match="about 61 items, but X has 60 rows") as caught:
        quick_learner().fit(X, relation=relation)
    one_sentence(caught)


@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_labels_of_another_length_are_refused(embedder):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 59\]"):
        quick_learner(embedder=embedder).fit(X, Y[:-1])


def test_labels_of_another_length_than_a_dataset_are_refused():
    with pytest.raises(ValueError, match="X has 60 items, but y has 59 rows"):
        quick_learner().fit(Rows(X), Y[:-1])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (Y + 0.5, r"continuous values \(first: [0-2]\.5\)"),
        (np.zeros((60, 2, 2)), r"got shape \(60, 2, 2\)"),
        (np.arange(120).reshape(60, 2), "must hold 0 and 1 only"),
        (np.where(Y == 0, np.inf, Y), "y contains infinity"),
        (np.full(60, -1), "unknown"),
    ],
)
def test_labels_of_a_wrong_kind_are_refused(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        quick_learner().fit(X, wrong)


@pytest.mark.parametrize("wrong", ["abc", 3, {"a": 1}])
def test_labels_that_are_no_array_are_refused(wrong):
    with pytest.raises(TypeError, match="at least 1 dimension"):
        quick_learner().fit(X, wrong)


def test_lists_of_labels_of_unequal_length_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match="rows of different lengths") as caught:
        quick_learner().fit(X, [["a", "b"], ["c"]] * 30)
    one_sentence(caught)


def test_neither_labels_nor_a_relation_is_refused():
    with pytest.raises(ValueError, match=r"requires y to be passed, .* or relation=") as caught:
        quick_learner().fit(X)
    one_sentence(caught)


def test_both_labels_and_a_relation_are_refused():
    with pytest.raises(ValueError, match="Both y and relation are given"):
        quick_learner().fit(X, Y, relation=LabelRelation(Y))


def test_a_relation_of_another_type_is_refused():
    with pytest.raises(TypeError, match=r"relation must be a PairRelation, .* got ndarray"):
        quick_learner().fit(X, relation=np.eye(60))


@pytest.mark.parametrize(
    ("kind", "similar"), [("no similar pair", [0, 0]), ("no dissimilar pair", [1, 1])]
)
def test_pairs_of_one_kind_are_refused(kind, similar):
    relation = PairRelation([0, 1], [1, 2], similar, 60)
    with pytest.raises(ValueError, match=f"The relation has {kind}") as caught:
        quick_learner().fit(X, relation=relation)
    one_sentence(caught)


def test_graded_pairs_are_of_both_kinds():
    relation = PairRelation([0, 1, 0], [1, 2, 2], [0.3, 0.4, 0.9], 60)
    assert quick_learner(feedback=0).fit(X, relation=relation).n_components_ == 4


def test_classes_that_never_repeat_are_refused():
    with pytest.raises(ValueError, match="The relation has no similar pair"):
        quick_learner().fit(X, np.arange(60))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="no dissimilar pair"):
        quick_learner().fit(X, np.zeros(60))


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="at least two rows to compare, got n_samples = 1"):
        quick_learner().fit(X[:1], Y[:1])


def test_a_network_of_a_wrong_width_is_refused_before_any_step_of_training():
    SHOWN.clear()
    seen = []
    network = Network(OwnNetwork(n_components=3), callback=seen.append)
    with pytest.raises(ValueError, match=r"\(2, 4\) for 2 items, got \(2, 3\)") as caught:
        quick_learner(embedder=network).fit(X, Y)
    assert "Set n_components to the width of its last layer" in one_sentence(caught)
    assert not seen
    assert not SHOWN


def test_a_network_that_keeps_no_row_an_item_is_refused():
    with pytest.raises(ValueError, match=r"got \(8,\)"):
        quick_learner(embedder=nn.Sequential(OwnNetwork(), nn.Flatten(0))).fit(X, Y)


def test_a_network_with_nothing_to_train_is_refused():
    with pytest.raises(ValueError, match="The network has no parameters to train"):
        quick_learner(embedder=nn.Flatten(), n_components=5).fit(X, Y)


def test_a_network_for_other_features_is_refused_with_their_shape():
    with pytest.raises(ValueError, match=r"does not take items of shape \(5,\)"):
        quick_learner(embedder=OwnNetwork(n_features=6)).fit(X, Y)


@pytest.mark.parametrize("name", ["cifar10", "pubfig83", "nuswide"])
def test_vectors_for_a_network_that_takes_images_are_refused(name):
    with pytest.raises(ValueError, match=rf"{name}.* takes images.*got \(n, 5\)") as caught:
        quick_learner(embedder=name).fit(X, Y)
    assert "For vectors use 'mlp'" in one_sentence(caught)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"device='cuda' is not available.*'auto' or 'cpu'"):
        quick_learner(device="cuda").fit(X, Y)


def test_a_device_of_no_known_name_is_refused():
    with pytest.raises(ValueError, match=r"device must be 'auto', .* got 'tpu'"):
        quick_learner(device="tpu").fit(X, Y)


class OutOfMemory(nn.Module):
    """A network that a GPU has no room for, in training or as soon as it is tried."""

    def __init__(self, only_in_training: bool = True) -> None:
        super().__init__()
        self.only_in_training = only_in_training
        self.layer = nn.Linear(5, 4)

    def forward(self, items):
        if self.training or not self.only_in_training:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 PiB.")
        return self.layer(items)


@pytest.mark.parametrize(("given", "smaller"), [(64, 16), (2, 1), (1, 1)])
def test_out_of_memory_names_the_batch_size_to_try(given, smaller):
    learner = quick_learner(embedder=Network(OutOfMemory(), batch_size=given))
    sentence = rf"batch_size={given}\. Try batch_size={smaller}, or device='cpu'"
    with pytest.raises(MemoryError, match=sentence) as caught:
        learner.fit(X, Y)
    one_sentence(caught)


def test_out_of_memory_in_the_trial_run_names_the_batch_size_too():
    with pytest.raises(MemoryError, match="Try batch_size=16"):
        quick_learner(embedder=OutOfMemory(False)).fit(X, Y)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_real_lack_of_gpu_memory_names_the_batch_size_to_try():
    class Greedy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(5, 4)

        def forward(self, items):
            if self.training:
                torch.empty(2**50, dtype=torch.uint8, device=items.device)
            return self.layer(items)

    with pytest.raises(MemoryError, match="The GPU ran out of memory with batch_size=64"):
        quick_learner(embedder=Greedy(), device="cuda").fit(X, Y)


@pytest.mark.parametrize(
    "call",
    [
        lambda learner: learner.transform(X),
        lambda learner: learner.score(X, Y),
        lambda learner: learner.pair_similarity(X, X),
        lambda learner: learner.pair_distance(X, X),
        lambda learner: learner.calibrate_threshold(X, Y),
        lambda learner: learner.predict_pairs(X, X),
        lambda learner: learner.save("nowhere"),
    ],
)
def test_nothing_is_done_before_fit(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(MetricLearner())


@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_another_number_of_features_is_refused_with_both(embedder):
    learner = quick_learner(embedder=embedder).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but MetricLearner is expecting 5"):
        learner.transform(X[:, :3])


def test_images_of_another_size_are_refused_with_both():
    images = X.reshape(60, 1, 1, 5)
    learner = quick_learner().fit(images, Y)
    with pytest.raises(ValueError, match=r"shape \(1, 5, 1\), .* fitted on .* \(1, 1, 5\)"):
        learner.transform(images.reshape(60, 1, 5, 1))


def test_a_dataset_of_another_number_of_features_is_refused():
    learner = quick_learner().fit(Rows(X), Y)
    with pytest.raises(ValueError, match=r"X has items of shape \(3,\), .* of shape \(5,\)"):
        learner.transform(Rows(X[:, :3]))


def test_rows_to_compare_of_different_number_are_refused():
    learner = quick_learner().fit(X, Y)
    with pytest.raises(ValueError, match="A has 60 rows and B has 59"):
        learner.pair_similarity(X, X[1:])


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 2.0}, TypeError, r"n_components must be an integer, got 2\.0"),
        ({"targets": "fml"}, ValueError, r"targets must be 'auto', 'fml-c', .* got 'fml'"),
        ({"targets": Targets("triplet")}, ValueError, "loss must be one of .* got 'triplet'"),
        ({"targets": Targets(margin=0)}, ValueError, "margin must be finite and above 0, got 0"),
        ({"validation_fraction": 1}, ValueError, "validation_fraction must be below 1, got 1"),
        ({"validation_fraction": -0.1}, ValueError, "validation_fraction must be .*at least 0"),
        ({"random_state": "one"}, ValueError, "random_state must be .* got 'one'"),
        ({"embedder": "resnet"}, ValueError, "embedder must be one of 'auto', .* got 'resnet'"),
        ({"embedder": Network("resnet")}, ValueError, "must be one of .* got 'resnet'"),
        ({"embedder": Network(Ridge())}, TypeError, "Pass a regressor as the embedder itself"),
        ({"embedder": nn.Linear}, TypeError, r"an instance, got the class Linear: write Linear\("),
        ({"embedder": 3}, TypeError, "name of a network, .* got int"),
        ({"embedder": LogisticRegression()}, TypeError, "regressor, got LogisticRegression"),
        (
            {"embedder": LogisticRegression(), "n_components": 1},
            TypeError,
            "regressor, got LogisticRegression",
        ),
        *[
            ({"embedder": Network(**given)}, error, sentence)
            for given, error, sentence in (
                ({"max_epochs": 0}, ValueError, "max_epochs must be at least 1, got 0"),
                ({"max_epochs": 2.5}, TypeError, r"max_epochs must be an integer, got 2\.5"),
                ({"batch_size": 0}, ValueError, "batch_size must be at least 1, got 0"),
                ({"learning_rate": 0}, ValueError, "learning_rate must be .* above 0, got 0"),
                ({"weight_decay": -1}, ValueError, "weight_decay must be .* at least 0, got -1"),
                ({"dropout": 1.0}, ValueError, "dropout must be below 1, got 1"),
                ({"dropout": -0.1}, ValueError, r"dropout must be .* at least 0, got -0\.1"),
                ({"loss": "hinge"}, ValueError, "loss must be one of .* got 'hinge'"),
                ({"augment": "crops"}, ValueError, "augment must be one of 'flips', got 'crops'"),
                ({"augment": "flips"}, ValueError, "augment='flips' mirrors images .* shape"),
            )
        ],
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["labels", "feedback"])
def test_a_wrong_parameter_is_refused_with_its_value(parameters, error, sentence, path):
    given = {"y": Y} if path == "labels" else {"relation": PAIRS}
    with pytest.raises(error, match=sentence) as caught:
        quick_learner(**parameters).fit(LOUD, **given)
    one_sentence(caught)


def test_the_likelihood_of_targets_that_no_two_items_share_is_refused():
    own = Network(loss="likelihood")
    with pytest.raises(ValueError, match="with feedback each has its own") as caught:
        quick_learner(embedder=own).fit(LOUD, relation=PAIRS)
    one_sentence(caught)
    with pytest.raises(ValueError, match="60 items have 60 different ones: set loss='squared'"):
        quick_learner(embedder=own, feedback=0).fit(LOUD, relation=pairs_within(LOUD_Y, 400))


def test_features_that_are_no_numbers_are_refused_with_the_way_out():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": np.arange(60)})
    with pytest.raises(ValueError, match=r"must be finite numbers: .* Set feedback=0"):
        quick_learner(embedder=Ridge()).fit(frame, relation=PAIRS)


@pytest.mark.parametrize("embedder", ["auto", Network(max_epochs=1)])
def test_a_dataset_that_holds_nan_is_refused_with_feedback_too(embedder):
    wrong = LOUD.copy()
    wrong[7, 2] = np.nan
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        quick_learner(embedder=embedder).fit(Rows(wrong), relation=PAIRS)


@pytest.mark.parametrize("feedback", [-1, 1.5, "often", True, False, None])
def test_feedback_that_is_no_number_of_rounds_is_refused_with_its_value(feedback):
    with pytest.raises(ValueError, match="feedback must be 'auto' or a number of rounds") as caught:
        quick_learner(feedback=feedback).fit(X, Y)
    assert one_sentence(caught).endswith(f"got {feedback!r}.")


def test_a_validation_part_leaves_something_to_train_on():
    quick_learner(validation_fraction=0.95).fit(X[:6], [0, 1, 2, 0, 1, 2])


def test_a_dataset_for_a_regressor_is_refused():
    with pytest.raises(TypeError, match="Dataset"):
        quick_learner(embedder=Ridge()).fit(Rows(X, as_tuples=True), Y)


def test_statements_about_other_rows_are_refused_after_fit_too():
    learner = quick_learner().fit(X, Y)
    with pytest.raises(ValueError, match="about 99 items, but X has 60 rows"):
        learner.score(X, relation=pairs_within(Y, n_items=99))


@pytest.mark.parametrize("given", [{}, {"y": Y, "relation": LabelRelation(Y)}])
def test_phase_1_alone_takes_labels_or_a_relation(given):
    with pytest.raises(ValueError, match="Pass y or relation, one of the two"):
        quick_learner().solve_targets(**given)
