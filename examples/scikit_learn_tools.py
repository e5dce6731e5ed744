"""
Pipelines, grid search and cross-validation
===========================================

A learner is a scikit-learn transformer. You can put it in front of a classifier, search its
network's parameters with `GridSearchCV`, and cross-validate it the way it will be used: on new
items, on pairs of new items, or on kinds that it has never seen.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from twofold import MetricLearner, Network, PairMetricLearner
from twofold.evaluation import ClassFold, PairFolds

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=400, random_state=0)

# %%
# Classify by nearest neighbours in the learnt space. The number of epochs is one more parameter of
# the pipeline, selected on items that were held out.

learner = MetricLearner(embedder=Network(), metric="seen", random_state=0)
model = Pipeline([("learner", learner), ("neighbours", KNeighborsClassifier())])
search = GridSearchCV(model, {"learner__embedder__max_epochs": [1, 10]}, cv=3).fit(X, y)
print(f"best: {search.best_params_}")
print(f"right about {search.score(X_test, y_test):.1%} of new digits")

# %%
# Hold out whole classes: each fold learns from some digits, and is scored on pairs of the others.
# The learner's own score is the AUROC on such pairs.

for metric in ("seen", "unseen"):
    learner = MetricLearner(embedder=Network(max_epochs=10), metric=metric, random_state=0)
    scores = cross_val_score(learner, X, y, cv=ClassFold(2))
    print(f'kinds never seen, metric="{metric}": {scores.mean():.3f}')

# %%
# Hold out pairs with their items: no item of a scored pair is in a training pair. Pairs drawn at
# random often share an item, and a fold that ignores this gives scores that are too good.

rng = np.random.default_rng(0)
pairs = rng.integers(len(X), size=(2000, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
folds = list(PairFolds(2, random_state=0).split(pairs))
scores = cross_val_score(PairMetricLearner(random_state=0), X[pairs], alike, cv=folds)
print(f"pairs of new items: AUROC {scores.mean():.3f}")
