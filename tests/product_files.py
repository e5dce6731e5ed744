"""Two tables of products and decisions about them, as a user has them."""

from pathlib import Path

import numpy as np

MAKERS = ("acme", "bolt", "corax", "delta", "emko")
THINGS = ("printer", "camera", "lamp", "router", "keyboard", "monitor", "speaker", "charger")
COLOURS = ("black", "white", "silver", "red")
PRAISE = ("new", "best", "fast", "smart", "home", "office", "pro", "original", "boxed", "sale")


def product_tables(folder: Path, n_products: int = 60) -> Path:
    """Write left.csv, right.csv, pairs.csv and test.csv; the same products, called differently."""
    rng = np.random.default_rng(0)
    left, right = ["id,title,maker,price"], ["id,title,maker,price"]
    for number in range(n_products):
        maker, thing = rng.choice(MAKERS), rng.choice(THINGS)
        model, price = f"{maker[0]}{rng.integers(100, 999)}", rng.integers(20, 400)
        words, others = (" ".join(rng.choice(PRAISE, 3)) for _ in range(2))
        name = f"{maker} {thing} {model} {words}, {rng.choice(COLOURS)}"
        left.append(f'a{number},"{name}",{maker},{price}')
        near, known = price * rng.uniform(0.9, 1.1), "" if number % 7 else maker
        right.append(f"b{number},{others} {model} {thing} by {maker},{known},{near:.2f}")
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
