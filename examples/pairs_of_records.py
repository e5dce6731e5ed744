"""
Learning from people's answers about pairs
==========================================

Nobody tells us which grower a wine comes from; we only know for some pairs whether both wines come
from the same grower. A scikit-learn regressor learns from these answers which wines are alike. The
interface is metric-learn's.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from twofold import PairMetricLearner

rng = np.random.default_rng(0)
wines = load_wine()
X = StandardScaler().fit_transform(wines.data)
train, test = train_test_split(np.arange(len(X)), random_state=0)


def ask(rows: np.ndarray, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of rows and say for each whether both wines come from the same grower."""
    pairs = rng.choice(rows, size=(n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return X[pairs], np.where(wines.target[pairs[:, 0]] == wines.target[pairs[:, 1]], 1, -1)


# %%
# Learn from two thousand answers about three quarters of the wines, and test on the others.

learner = PairMetricLearner(embedder=KernelRidge(alpha=1.0, kernel="rbf"), random_state=0)
learner.fit(*ask(train, 2000))
pairs, alike = ask(test, 500)
accuracy = float(np.mean(learner.predict(pairs) == alike))
print(f"AUROC {learner.score(pairs, alike):.3f}, right about {accuracy:.1%} of new pairs")
