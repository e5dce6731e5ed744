"""Models to be served: of vectors, of records and of pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from product_files import product_tables
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge

from twofold import MetricLearner, Network
from twofold.datasets import read_records
from twofold.matching import PairClassifier
from twofold.preparation import ImagePreparation, TablePreparation
from twofold.search import NeighbourIndex
from twofold.tasks import Decision, PreparedModel


@pytest.fixture(scope="session")
def vectors(tmp_path_factory) -> Path:
    """A model of iris' four numbers, with a threshold, and beside it an index of all points."""
    folder = tmp_path_factory.mktemp("vectors")
    iris = load_iris(return_X_y=True)
    learner = MetricLearner(2, embedder=Ridge(), random_state=0).fit(*iris)
    learner.calibrate_threshold(*iris).save(folder / "model")
    index = NeighbourIndex(learner.metric_)
    index.add([f"f{row}" for row in range(150)], learner.transform(iris[0]))
    index.save(folder / "index")
    return folder


@pytest.fixture(scope="session")
def products(tmp_path_factory) -> Path:
    """A model of records whose pairs a pair model decides, with its tables beside it."""
    folder = product_tables(tmp_path_factory.mktemp("products"), n_products=40)
    left, right = (read_records(folder / f"{side}.csv").table for side in ("left", "right"))
    preparation = TablePreparation().fit(left, right=right)
    features = sparse.vstack([preparation.transform(left), preparation.transform(right)])
    products = np.arange(40)
    learner = MetricLearner(4, embedder=Ridge(), random_state=0)
    learner.fit(features, np.concatenate([products, products]))
    pairs = np.concatenate([np.stack([products, np.roll(products, k)], axis=1) for k in range(3)])
    classifier = PairClassifier(left, right, model="logistic", n_folds=2, random_state=0)
    classifier.fit(pairs, np.arange(120) < 40)
    PreparedModel(
        learner, "table", preparation, Decision("pair model", 0.5), pair_classifier=classifier
    ).save(folder / "model")
    return folder


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """A model of small pictures, dark and light ones, which lie beside it."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for row in range(12):
        pixels = rng.integers(0, 90, size=(8, 8)) + 150 * (row % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{row:02}.png")
    preparation = ImagePreparation(cache=False).fit(sorted(folder.glob("*.png")))
    images = preparation.transform(sorted(folder.glob("*.png")))
    learner = MetricLearner(2, embedder=Network("mlp", max_epochs=1), random_state=0)
    learner.fit(images, np.arange(12) % 2)
    PreparedModel(learner, "images", preparation, Decision("embedding", None)).save(
        folder / "model"
    )
    return folder
