"""Files as a user has them: two tables of products with decisions, rows with classes, images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from product_files import product_tables

from twofold.tasks import FitRequest, FitResult, fit_files


@pytest.fixture(scope="session")
def products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return product_tables(tmp_path_factory.mktemp("products"))


@pytest.fixture(scope="session")
def matched(products: Path) -> FitResult:
    """A model of the two tables, beside them as "model"."""
    return fit_files(
        FitRequest(
            data=products / "left.csv",
            right=products / "right.csv",
            pairs=products / "pairs.csv",
            out=products / "model",
        )
    )


@pytest.fixture(scope="session")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """scikit-learn's iris as train.csv and test.csv, with a column of species."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    folder = tmp_path_factory.mktemp("flowers")
    order = np.random.default_rng(0).permutation(150)
    for name, rows in (("train", order[:100]), ("test", order[100:])):
        lines = ["id,sepal length,sepal width,petal length,petal width,species"]
        lines += [
            f"f{row},{','.join(map(str, iris.data[row]))},{iris.target_names[iris.target[row]]}"
            for row in rows
        ]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def classified(flowers: Path) -> FitResult:
    """A model of the flowers, beside them as "model"."""
    request = FitRequest(
        data=flowers / "train.csv", labels="species", out=flowers / "model", max_epochs=5
    )
    return fit_files(request)
