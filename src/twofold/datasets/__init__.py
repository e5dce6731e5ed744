"""Real data sets, one loader a file: each returns arrays and what they mean."""

from twofold.datasets._image_set import ImageSet
from twofold.datasets._mnist import load_mnist
from twofold.datasets._multilabel import MULTILABEL_SETS, MultilabelSet, load_multilabel
from twofold.datasets._nus_wide import NusWideLabels, load_nus_wide_labels

__all__ = [
    "MULTILABEL_SETS",
    "ImageSet",
    "MultilabelSet",
    "NusWideLabels",
    "load_mnist",
    "load_multilabel",
    "load_nus_wide_labels",
]
