"""
Comparing your own method with the others
=========================================

Compare a method with Twofold and a Siamese network on your own arrays, without writing a loop.
``compare`` runs every method with every seed and returns a record of each run. With ``out="runs"``
the records are kept, existing runs are not repeated, and ``twofold report runs`` makes a page.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from twofold.experiments import compare
from twofold.report import latex_table, markdown_table


class Discriminant:
    """Linear discriminant analysis by hand: a method needs only fit and transform."""

    metric_ = "euclidean"

    def fit(self, X, y):
        """Whiten what varies inside the classes, and keep the directions between them."""
        means = np.stack([X[y == label].mean(axis=0) for label in np.unique(y)])
        spread, axes = np.linalg.eigh(np.cov(X - means[y], rowvar=False))
        whitening = axes / np.sqrt(spread)
        between = (means - means.mean(axis=0)) @ whitening
        _, _, directions = np.linalg.svd(between, full_matrices=False)
        self.weights_ = whitening @ directions[: len(means) - 1].T
        return self

    def transform(self, X):
        """Return points of one dimension fewer than there are classes."""
        return X @ self.weights_


# %%
# Every method gets the same rows, seeds and scores.

wine = load_wine()
X_train, X_test, y_train, y_test = train_test_split(wine.data, wine.target, random_state=0)
records = compare(
    X_train,
    y_train,
    X_test,
    y_test,
    methods={"twofold": "twofold", "siamese": "siamese", "discriminant": Discriminant()},
    seeds=2,
    name="wine",
    epochs=4,  # for a quick look; 30 by default
)
print(markdown_table(records))
print(latex_table(records))
aurocs = [record.scores.auroc for record in records if record.method == "discriminant"]
print(f"The discriminant, mean of {len(aurocs)} seeds: AUROC {np.mean(aurocs):.4f}")
