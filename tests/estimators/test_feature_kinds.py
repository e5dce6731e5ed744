"""Images, tables, sparse matrices, memory-mapped files and Datasets are features like any other."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import PAIRS, Rows, X, Y, quick_learner, table
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from twofold import load

PATHS = {
    "labels": ({}, {"y": Y}),
    "statements": ({"feedback": 0}, {"relation": PAIRS}),
    "feedback": ({"validation_fraction": 0, "embedder": "auto"}, {"relation": PAIRS}),
    "feedback and a network": ({"validation_fraction": 0}, {"relation": PAIRS}),
}
EVERY_PATH = pytest.mark.parametrize("path", PATHS)


def memory_mapped(array, folder):
    np.save(folder / "X.npy", array)
    return np.load(folder / "X.npy", mmap_mode="r")


FORMS = {
    "float64": lambda X, _: X.astype(np.float64),
    "list": lambda X, _: X.tolist(),
    "fortran": lambda X, _: np.asfortranarray(X),
    "memory-mapped": memory_mapped,
    "csr": lambda X, _: sparse.csr_matrix(X),
    "coo": lambda X, _: sparse.coo_array(X),
    "frame": lambda X, _: table(X),
    "dataset": lambda X, _: Rows(X),
    "dataset of tuples": lambda X, _: Rows(X, as_tuples=True),
}


@EVERY_PATH
@pytest.mark.parametrize("form", FORMS)
def test_any_form_gives_what_the_array_gives_within_rounding(path, form, tmp_path):
    parameters, given = PATHS[path]
    features = FORMS[form](X, tmp_path)
    learner = quick_learner(**parameters).fit(features, **given)
    plain = quick_learner(**parameters).fit(X, **given)
    np.testing.assert_allclose(learner.transform(features), plain.transform(X), atol=2e-3)
    assert learner.score(features, **given) == pytest.approx(plain.score(X, **given), abs=0.01)
    assert (learner.n_features_in_, learner.input_shape_) == (5, (5,))


@pytest.mark.parametrize("form", ["float64", "list", "csr", "coo", "frame", "memory-mapped"])
@pytest.mark.parametrize("path", ["labels", "feedback and a network"])
def test_a_regressor_is_given_what_the_user_gave(path, form, tmp_path):
    parameters, given = PATHS[path]
    features = FORMS[form](X, tmp_path)
    learner = quick_learner(**{**parameters, "embedder": Ridge()}).fit(features, **given)
    plain = quick_learner(**{**parameters, "embedder": Ridge()}).fit(X, **given)
    np.testing.assert_allclose(learner.transform(features), plain.transform(X), atol=2e-3)
    assert hasattr(learner.embedder_.regressor, "feature_names_in_") == (form == "frame")


def test_images_of_bytes_of_floats_and_of_a_file_give_the_same(tmp_path):
    digits = load_digits()
    images, y = (digits.images[:60, None] * 15).astype(np.uint8), digits.target[:60]
    of_bytes = quick_learner().fit(images, y).transform(images)
    for other in (images.astype(np.float32), memory_mapped(images, tmp_path), Rows(images)):
        found = quick_learner().fit(other, y).transform(other)
        np.testing.assert_allclose(found, of_bytes, atol=1e-3)


def test_a_dataset_makes_a_learner_forget_the_table_it_knew_and_is_loaded_again(tmp_path):
    learner = quick_learner().fit(table(X), Y)
    learner.fit(Rows(X[:, :3]), Y)
    assert not hasattr(learner, "feature_names_in_")
    again = load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(again.transform(X[:, :3]), learner.transform(X[:, :3]), atol=1e-4)
