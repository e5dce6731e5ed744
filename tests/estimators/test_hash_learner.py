"""`HashLearner`: codes from labels and statements, by networks, classifiers and regressors."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
import torch
from little_problems import OTHER, PAIRS, TRIPLETS, X, Y, three_blobs
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from twofold import HashLearner, LabelRelation, MetricLearner, Network, PairRelation, load
from twofold.estimators import _code_fitting
from twofold.evaluation import pair_auroc
from twofold.regression import BitClassifiers, NetworkEmbedder
from twofold.regression._bit_layer import BitLayer
from twofold.regression._joint_signs import JointSigns
from twofold.search import NeighbourIndex, Rerank
from twofold.targets import _codes, refine_bits

RNG = np.random.default_rng
SEVERAL = np.column_stack([Y == 0, Y == 1, Y == 2, Y < 2]).astype(int)
EMBEDDERS = {
    "network": Network(max_epochs=8),
    "regressor": Ridge(),
    "classifier": LogisticRegression(max_iter=50),
}
OF_A_REGRESSOR = {
    "check_fit2d_predict1d": "features go to an estimator as they are, and of a vector the number "
    "of features is refused before the estimator can say that it wants rows"
}


def quick_hasher(**parameters) -> HashLearner:
    defaults = {"n_bits": 12, "embedder": Network(max_epochs=2), "random_state": 0}
    return HashLearner(**{**defaults, "device": "cpu", **parameters})


@parametrize_with_checks(
    [quick_hasher(), quick_hasher(embedder=Ridge())],
    expected_failed_checks=lambda learner: (
        OF_A_REGRESSOR if isinstance(learner.embedder, Ridge) else {}
    ),
)
def test_the_hash_learner_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", EMBEDDERS)
@pytest.mark.parametrize(
    "given",
    [{"y": Y}, {"y": SEVERAL}, {"relation": PAIRS}, {"relation": TRIPLETS}],
    ids=["classes", "labels", "pairs", "triplets"],
)
def test_codes_of_new_items_differ_little_where_they_are_alike(name, given):
    learner = quick_hasher(n_bits=24, embedder=EMBEDDERS[name]).fit(X, **given)
    codes = learner.transform(OTHER[0])
    assert (codes.shape, codes.dtype) == ((60, 3), np.uint8)
    assert learner.metric_ == "hamming"
    assert learner.score(OTHER[0], OTHER[1]) > (0.75 if name == "network" else 0.7)
    assert learner.codes_.shape == (60, 3)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_a_code_is_the_signs_of_its_margins_packed(name):
    learner = quick_hasher(embedder=EMBEDDERS[name]).fit(X, Y)
    margins = learner.bit_margins(X)
    bits = np.unpackbits(learner.transform(X), axis=1)
    assert margins.shape == (60, 12)
    np.testing.assert_array_equal(bits[:, :12], margins >= 0)
    assert not bits[:, 12:].any()


def test_distances_similarities_and_neighbours_count_bits():
    learner = quick_hasher().fit(X, Y)
    bits = np.unpackbits(learner.transform(X), axis=1)
    apart = (bits[:30] != bits[30:]).sum(axis=1)
    np.testing.assert_array_equal(learner.pair_distance(X[:30], X[30:]), apart)
    np.testing.assert_array_equal(learner.pair_similarity(X[:30], X[30:]), -apart)
    assert learner.get_metric()(X[0], X[30]) == apart[0]
    nearest = learner.neighbours(X, 4)
    every = (bits[:, None] != bits[None]).sum(axis=2)
    np.fill_diagonal(every, 99)
    np.testing.assert_array_equal(nearest.distance, np.sort(every, axis=1)[:, :4])
    left, right = np.triu_indices(60, 1)
    everything = PairRelation(left, right, (Y[left] == Y[right]).astype(float), 60)
    assert learner.score(X, relation=everything) == pytest.approx(
        pair_auroc(Y[left] == Y[right], -every[left, right])
    )


def test_a_threshold_is_a_similarity_of_codes():
    learner = quick_hasher(n_bits=32, embedder=Network(max_epochs=8)).fit(X, Y)
    learner.calibrate_threshold(*OTHER)
    assert -32 <= learner.threshold_ <= 0
    said = learner.predict_pairs(OTHER[0][:30], OTHER[0][30:])
    assert (said == (OTHER[1][:30] == OTHER[1][30:])).mean() > 0.8


def test_margins_rerank_what_codes_find():
    learner = quick_hasher(embedder=Network(max_epochs=8)).fit(X, Y)
    index = NeighbourIndex("hamming", backend="numpy")
    index.add(range(60), learner.transform(X))
    margins, asked = learner.bit_margins(X), learner.bit_margins(OTHER[0])
    answer = index.query(
        learner.transform(OTHER[0]), 5, rerank=Rerank(asked, margins, "cosine", n_candidates=60)
    )
    exact = NeighbourIndex("cosine", backend="numpy")
    exact.add(range(60), margins)
    np.testing.assert_array_equal(answer.rows, exact.query(asked, 5).rows)


def test_weights_tell_a_classifier_which_bits_matter():
    class Noted(DecisionTreeClassifier):
        weights = []  # noqa: RUF012

        def fit(self, X, y, sample_weight=None):
            self.weights.append(sample_weight)
            return super().fit(X, y, sample_weight)

    quick_hasher(embedder=Noted(max_depth=2)).fit(X, relation=PAIRS)
    assert len(Noted.weights) == 12
    assert all(0.9 < weight.mean() < 1.3 and weight.std() > 0.1 for weight in Noted.weights)


def test_a_bit_that_all_items_share_needs_no_classifier():
    learner = quick_hasher(n_bits=1, embedder=DecisionTreeClassifier(max_depth=2, random_state=0))
    learner.fit(X, relation=PairRelation([0, 2], [1, 3], [1, 0], 60))
    assert set(np.unique(learner.transform(X))) <= {0, 128}
    constant = quick_hasher(n_bits=1, embedder=LogisticRegression())
    constant.fit(X, relation=PairRelation([0, 1, 0], [1, 2, 3], [1, 1, 0], 60))
    assert len(np.unique(constant.transform(X))) <= 2


def test_boosted_trees_predict_bits_and_are_saved_as_their_own_text(tmp_path):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    features, y = three_blobs()
    learner = quick_hasher(embedder="trees").fit(features, y)
    assert learner.score(features, y) > 0.95
    folder = learner.save(tmp_path / "model")
    assert {file.name for file in folder.iterdir()} == {"model.json", "boosters.json"}
    again = load(folder)
    np.testing.assert_array_equal(again.transform(features), learner.transform(features))
    assert again.embedder == "trees"
    again.fit(features, y)


@pytest.mark.parametrize("name", EMBEDDERS)
@pytest.mark.parametrize("given", [{"y": Y}, {"y": SEVERAL}, {"relation": PAIRS}])
def test_a_model_that_is_opened_again_gives_the_same_codes(tmp_path, name, given):
    learner = quick_hasher(embedder=EMBEDDERS[name]).fit(X, **given)
    learner.threshold_ = -3.0
    again = load(learner.save(tmp_path / "model"), device="cpu")
    assert isinstance(again, HashLearner)
    assert (again.metric_, again.threshold_, again.n_bits) == ("hamming", -3.0, 12)
    np.testing.assert_array_equal(again.transform(X), learner.transform(X))
    pickled = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(pickled.transform(X), learner.transform(X))


@pytest.mark.parametrize("given", [{"y": Y}, {"y": SEVERAL}], ids=["classes", "labels"])
@pytest.mark.parametrize("name", ["network", "regressor"])
def test_onnx_gives_packed_codes(tmp_path, name, given):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    learner = quick_hasher(embedder=EMBEDDERS[name]).fit(X, **given)
    session = runtime.InferenceSession(str(learner.to_onnx(tmp_path / "codes.onnx")))
    (codes,) = session.run(["points"], {"features": OTHER[0]})
    assert codes.dtype == np.uint8
    sure = (np.abs(learner.bit_margins(OTHER[0])) > 1e-4).all(axis=1)
    np.testing.assert_array_equal(codes[sure], learner.transform(OTHER[0])[sure])
    assert session.get_modelmeta().custom_metadata_map["metric"] == "hamming"


def test_classifiers_have_no_onnx_and_say_so(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    learner = quick_hasher(embedder=LogisticRegression()).fit(X, Y)
    with pytest.raises(TypeError, match="predicted by classifiers cannot be exported to ONNX"):
        learner.to_onnx(tmp_path / "codes.onnx")


def test_the_same_seed_gives_the_same_codes_and_fitting_again_starts_anew():
    learner = quick_hasher().fit(X[:, :3], relation=PAIRS).fit(X, Y)
    fresh = quick_hasher().fit(X, Y)
    assert learner.transform(X).tobytes() == fresh.transform(X).tobytes()
    assert set(learner.timing_) == {"targets", "regression"}
    assert len(learner.history_["regression"]) == 2


def test_items_in_no_statement_are_left_out_and_have_no_code():
    learner = quick_hasher().fit(X, relation=PairRelation([0, 2, 0], [1, 3, 2], [1, 1, 0], 60))
    assert learner.codes_[:4].any()
    assert not learner.codes_[4:].any()
    assert learner.transform(X).shape == (60, 2)


def test_names_of_columns_are_one_a_byte():
    learner = quick_hasher(n_bits=20).fit(X, Y)
    assert learner.get_feature_names_out().tolist() == [f"hashlearner{n}" for n in range(3)]


MANY_LABELS = (RNG(0).random((60, 12)) < 0.3) | (np.arange(60)[:, None] % 12 == np.arange(12))
BLURRED = (X + 3 * RNG(1).standard_normal(X.shape)).astype(np.float32)
OF_LABELS = {"classes": Y, "labels": SEVERAL, "many label vectors": MANY_LABELS.astype(int)}


@pytest.fixture
def refined_already(monkeypatch):
    """Bits of few items are refitted to the relation as those of many are, on a part of them."""
    monkeypatch.setattr(_code_fitting, "FEWEST_REFINED", 20)
    monkeypatch.setattr(_code_fitting, "MOST_REFINED", 50)
    monkeypatch.setattr(_codes, "MOST_WHOLE", 10)  # so that many label vectors are rotated


def agreement(learner: HashLearner, y) -> float:
    """Correlation of how many bits agree with what the labels say, over all pairs."""
    relation = LabelRelation(y, grade="jaccard") if np.ndim(y) > 1 else LabelRelation(y)
    wanted = relation.similarity(np.arange(60), np.arange(60))
    left, right = np.triu_indices(60, 1)
    agreed = learner.pair_similarity(BLURRED[left], BLURRED[right])
    return float(np.corrcoef(agreed, wanted[left, right])[0, 1])


def test_bits_of_many_label_vectors_are_refitted_to_the_relation(request):
    y = OF_LABELS["many label vectors"]
    plain = agreement(quick_hasher().fit(BLURRED, y), y)
    request.getfixturevalue("refined_already")
    assert agreement(quick_hasher().fit(BLURRED, y), y) > plain + 0.02


def test_bits_of_classes_are_rounded_together_however_many_items_there_are(request):
    few = quick_hasher().fit(BLURRED, Y)
    request.getfixturevalue("refined_already")
    many = quick_hasher().fit(BLURRED, Y)
    assert isinstance(list(many.embedder_.network)[-1], JointSigns)
    assert many.transform(BLURRED).tobytes() == few.transform(BLURRED).tobytes()


def test_bits_of_pairs_and_of_few_label_vectors_are_not_refitted(refined_already):
    last = {name: quick_hasher().fit(X, **given) for name, given in UNREFINED.items()}
    layers = {name: type(list(fit.embedder_.network)[-1]) for name, fit in last.items()}
    assert layers["pairs"] not in (BitLayer, JointSigns)
    assert layers["labels"] is JointSigns
    by_classifiers = quick_hasher(embedder=LogisticRegression()).fit(X, relation=PAIRS)
    assert by_classifiers.embedder_.agreement is None


UNREFINED = {"pairs": {"relation": PAIRS}, "labels": {"y": SEVERAL}}
BETWEEN = (X + 6 * RNG(2).standard_normal(X.shape)).astype(np.float32)


@pytest.mark.parametrize("name", ["network", "classifier"])
def test_bits_of_labels_are_rounded_together(name):
    """Codes agree with those of the training items as their expected bits do, better than signs."""
    learner = quick_hasher(n_bits=32, embedder=EMBEDDERS[name]).fit(X, Y)
    margins = learner.bit_margins(BETWEEN)
    if name == "network":
        expected = with_network(learner, list(learner.embedder_.network)[:-1]).predict(BETWEEN)
    else:
        expected = np.tanh(BitClassifiers(learner.embedder_.models).predict(BETWEEN) / 2)
    table = 2.0 * np.unpackbits(learner.codes_, axis=1) - 1
    asked = expected @ table.T
    alike = [one_correlation(np.sign(bits) @ table.T, asked) for bits in (expected, margins)]
    assert alike[1] > alike[0]
    assert ((margins >= 0) != (expected >= 0)).any()


def with_network(learner: HashLearner, layers) -> NetworkEmbedder:
    return replace(learner.embedder_, network=torch.nn.Sequential(*layers).eval())


def one_correlation(left, right) -> float:
    return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(left, right, strict=True)]))


@pytest.mark.parametrize(("n_bits", "y"), [(1, Y > 0), (32, Y)])
def test_onnx_rounds_bits_together_as_transform_does(tmp_path, n_bits, y):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    learner = quick_hasher(n_bits=n_bits, embedder=EMBEDDERS["network"]).fit(X, y)
    session = runtime.InferenceSession(str(learner.to_onnx(tmp_path / "codes.onnx")))
    (codes,) = session.run(["points"], {"features": BETWEEN})
    same = (codes == learner.transform(BETWEEN)).all(axis=1)
    assert same.mean() > 0.95  # sums of another order may differ where two flips are worth the same


def two_views() -> tuple[HashLearner, np.ndarray]:
    """Return a learner that averages two views, and images for it."""
    images = np.repeat(X[:, None, :, None], 8, axis=3).astype(np.float32)
    body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(12))
    body(torch.from_numpy(images[:2]))
    return quick_hasher(embedder=Network(body, max_epochs=2, views=2)), images


def test_bits_of_several_views_are_signs_and_of_many_items_refitted(request):
    learner, images = two_views()
    layer = type(list(learner.fit(images, Y).embedder_.network)[-1])
    assert layer not in (BitLayer, JointSigns)
    request.getfixturevalue("refined_already")
    assert isinstance(list(learner.fit(images, Y).embedder_.network)[-1], BitLayer)


@pytest.mark.parametrize("name", OF_LABELS)
def test_refitted_bits_are_saved_exported_and_repeated(tmp_path, refined_already, name):
    learner = quick_hasher().fit(X, OF_LABELS[name])
    again = load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_array_equal(again.transform(X), learner.transform(X))
    fresh = quick_hasher().fit(X, OF_LABELS[name])
    assert fresh.transform(X).tobytes() == learner.transform(X).tobytes()
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(learner.to_onnx(tmp_path / "codes.onnx")))
    (codes,) = session.run(["points"], {"features": OTHER[0]})
    sure = (np.abs(learner.bit_margins(OTHER[0])) > 1e-4).all(axis=1)
    np.testing.assert_array_equal(codes[sure], learner.transform(OTHER[0])[sure])


def test_only_items_with_labels_are_refitted_to_and_of_many_a_part(monkeypatch, refined_already):
    asked = []

    def noted(points, which, *more):
        asked.append(which)
        return refine_bits(points, which, *more)

    monkeypatch.setattr(_code_fitting, "refine_bits", noted)
    learner, images = two_views()
    learner.fit(images, np.where(np.arange(60) < 40, Y, -1))
    learner.fit(images, Y)
    assert [len(which) for which in asked] == [40, 50]
    np.testing.assert_array_equal(np.bincount(asked[0]), np.bincount(Y[:40]))


@pytest.mark.parametrize("n_bits", [0, -8])
def test_fewer_bits_than_one_are_refused(n_bits):
    with pytest.raises(ValueError, match=f"n_bits must be at least 1, got {n_bits}"):
        quick_hasher(n_bits=n_bits).fit(X, Y)


def test_more_classes_than_codes_are_refused():
    with pytest.raises(ValueError, match=r"n_bits=1 has 2 codes, but there are 3 classes"):
        quick_hasher(n_bits=1).fit(X, Y)


def test_trees_without_lightgbm_name_its_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"pip install 'twofold\[lightgbm\]'"):
        quick_hasher(embedder="trees").fit(X, Y)


def test_an_embedder_that_predicts_no_bits_is_refused():
    with pytest.raises(ValueError, match="got 'forest'"):
        quick_hasher(embedder="forest").fit(X, Y)
    with pytest.raises(TypeError, match="got the class LogisticRegression"):
        quick_hasher(embedder=LogisticRegression).fit(X, Y)
    with pytest.raises(ValueError, match="got 'trees'"):
        MetricLearner(embedder="trees").fit(X, Y)


def damaged(folder, **entries):
    card = json.loads((folder / "model.json").read_text())
    card["embedder"] |= entries
    (folder / "model.json").write_text(json.dumps(card))


def test_trees_take_sparse_features_without_a_warning():
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    learner = quick_hasher(embedder="trees", n_bits=4)
    for sparse_kind in (sparse.csr_array, sparse.csr_matrix):
        assert learner.fit(sparse_kind(X), Y).transform(sparse_kind(X)).shape == (60, 1)


def test_trees_see_images_as_rows_of_pixels():
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    flat = RNG(0).integers(256, size=(60, 16)).astype(np.uint8)
    flat[:, 3] = 80 * Y
    images = flat.reshape(60, 1, 4, 4)
    of_rows, of_images = (quick_hasher(embedder="trees").fit(rows, Y) for rows in (flat, images))
    np.testing.assert_array_equal(of_images.transform(images), of_rows.transform(flat))
    assert of_images.score(images, Y) > 0.95


def test_classifiers_of_an_older_model_give_the_signs_that_they_predict(tmp_path):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    learner = quick_hasher(embedder="trees", n_bits=4).fit(BLURRED, Y)
    folder = learner.save(tmp_path / "model")
    text = json.dumps(json.loads((folder / "boosters.json").read_text())["classifiers"])
    (folder / "boosters.json").write_text(text)
    damaged(folder, sha256=sha256(text.encode()).hexdigest())
    again = load(folder)
    learner.embedder_.agreement = None
    np.testing.assert_array_equal(again.bit_margins(OTHER[0]), learner.bit_margins(OTHER[0]))


def test_a_damaged_model_of_classifiers_is_a_sentence(tmp_path):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    folder = quick_hasher(embedder="trees", n_bits=4).fit(X, Y).save(tmp_path / "model")
    whole = (folder / "boosters.json").read_text()
    boosters, agreement = json.loads(whole)["classifiers"], json.loads(whole)["agreement"]
    not_a_number = [[float("nan"), 0, 0, 0], *agreement[1:]]
    for text, sentence in [
        (whole[:-40], "is damaged"),
        (json.dumps(boosters[:3]), "a classifier for each of 4 bits"),
        (json.dumps(["import os", *boosters[1:]]), "not a booster"),
        (json.dumps([0.5, *boosters[1:]]), "bit 0 is not a classifier"),
        ('"tree"', "does not contain a list"),
        (json.dumps({"agreement": agreement}), "does not contain a list"),
        (json.dumps({"classifiers": boosters}), "has no agreement of bits"),
        (json.dumps({"classifiers": boosters, "agreement": agreement[:3]}), "table of 4 × 4"),
        (json.dumps({"classifiers": boosters, "agreement": not_a_number}), "table of 4 × 4"),
        (json.dumps({"classifiers": boosters, "agreement": "all"}), "has no agreement of bits"),
    ]:
        (folder / "boosters.json").write_text(text)
        damaged(folder, sha256=sha256(text.encode()).hexdigest())
        with pytest.raises(ValueError, match=sentence):
            load(folder)
    damaged(folder, kind="regressor")
    with pytest.raises(ValueError, match="its embedder and its file are of different kinds"):
        load(folder)


def test_codes_of_a_relation_of_labels_follow_its_grade():
    learner = quick_hasher().fit(X, relation=LabelRelation(SEVERAL, grade="overlap"))
    assert learner.score(X, SEVERAL) > 0.6
