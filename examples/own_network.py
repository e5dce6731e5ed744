"""
Your own network on images
==========================

A small convolutional network embeds digits, which are pictures of 8 × 8 pixels. Any
``torch.nn.Module`` with one output per component will do. Bytes are divided by 255; nothing else
is done to the pictures.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from twofold import MetricLearner, Network
from twofold.evaluation import knn_accuracy

N_COMPONENTS = 10

digits = load_digits()
images = (digits.images * 15).astype("uint8")[:, None]  # (n, channels, height, width), bytes
X_train, X_test, y_train, y_test = train_test_split(images, digits.target, random_state=0)

network = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(32, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 4 * 4, 128),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(128, N_COMPONENTS),
)
learner = MetricLearner(N_COMPONENTS, embedder=Network(network, max_epochs=10), random_state=0)
learner.fit(X_train, y_train)

# %%
# On new digits: are the five nearest training digits of the same kind, and how often is a pair of
# the same kind more similar than another pair?

accuracy = knn_accuracy(learner.transform(X_train), y_train, learner.transform(X_test), y_test)
print(f"5-NN accuracy {accuracy:.3f}, AUROC {learner.score(X_test, y_test):.4f}")
