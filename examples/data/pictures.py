"""Write pictures as a user has them: PNG files, one folder a kind.

python examples/data/pictures.py digits|mnist|omniglot FOLDER [HOW_MANY_OF_A_KIND]

FOLDER gets ``known``, the kinds to learn from; ``new``, other kinds, which are searched; and
``examples``, one more picture of each new kind, to search with. The digits come with scikit-learn;
MNIST and Omniglot are read from the folder that the variable TWOFOLD_DATA names.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pictures, their kinds, and which are of a kind to learn from: 0 to 4."""
    from sklearn.datasets import load_digits

    given = load_digits()
    images = (given.images * 15).astype(np.uint8).repeat(2, axis=1).repeat(2, axis=2)  # 16 × 16
    return images, given.target, given.target < 5


def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pictures, their kinds, and which are of a kind to learn from: 0 to 4."""
    from twofold.datasets import load_mnist

    given = load_mnist("train")
    return given.images[:, 0], given.classes, given.classes < 5


def omniglot() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return drawings, their characters, and which are of an alphabet to learn from."""
    from twofold.datasets import load_omniglot

    given = load_omniglot("small1", size=28)
    kinds = np.array([name.replace("/", " ") for name in given.class_names])[given.classes]
    new = [given.alphabet_names.index(name) for name in ("Greek", "Korean")]
    return given.images[:, 0], kinds, ~np.isin(given.alphabets, new)


def write(picture: np.ndarray, path: Path) -> None:
    """Write one picture, and the folder that it goes into."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)


SETS = {"digits": digits, "mnist": mnist, "omniglot": omniglot}
name, folder = sys.argv[1], Path(sys.argv[2])
n_of_a_kind = int(sys.argv[3]) if len(sys.argv) > 3 else None
images, kinds, known = SETS[name]()
for kind in np.unique(kinds):
    rows = np.flatnonzero(kinds == kind)
    if not known[rows[0]]:
        write(images[rows[-1]], folder / "examples" / f"{kind}.png")
        rows = rows[:-1]
    for row in rows[:n_of_a_kind]:
        part = "known" if known[row] else "new"
        write(images[row], folder / part / str(kind) / f"{row}.png")
