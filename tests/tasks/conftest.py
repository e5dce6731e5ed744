"""Files as a user has them: two tables of products with decisions, rows with classes, images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from twofold.tasks import FitRequest, FitResult, fit_files

MAKERS = ("acme", "bolt", "corax", "delta", "emko")
THINGS = ("printer", "camera", "lamp", "router", "keyboard", "monitor", "speaker", "charger")
COLOURS = ("black", "white", "silver", "red")


def product_tables(folder: Path, n_products: int = 60) -> Path:
    """Write left.csv, right.csv, pairs.csv and test.csv; the same products, called differently."""
    rng = np.random.default_rng(0)
    left, right = ["id,title,maker,price"], ["id,title,maker,price"]
    for number in range(n_products):
        maker, thing = rng.choice(MAKERS), rng.choice(THINGS)
        model, price = f"{maker[0]}{rng.integers(100, 999)}", rng.integers(20, 400)
        left.append(f'a{number},"{maker} {thing} {model}, {rng.choice(COLOURS)}",{maker},{price}')
        near = price * rng.uniform(0.95, 1.05)
        right.append(f"b{number},{model} {thing} by {maker},{'' if number % 7 else maker},{near:.2f}")
    order = rng.permutation(n_products)
    statements = [
        f"a{i},b{j},{int(i == j)}"
        for i in order
        for j in (i, *rng.choice(np.delete(np.arange(n_products), i), 3, replace=False))
    ]
    cut = len(statements) * 3 // 4
    files = {
        "left": left,
        "right": right,
        "pairs": ["left,right,similar", *statements[:cut]],
        "test": ["left,right,similar", *statements[cut:]],
    }
    for name, lines in files.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


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
