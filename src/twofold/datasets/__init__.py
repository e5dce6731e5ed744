"""Data, one loader a file: real sets and a user's own files.

Each returns arrays and what they mean.
"""

from twofold.datasets._cifar10 import load_cifar10
from twofold.datasets._downloads import download
from twofold.datasets._entity_pairs import (
    ENTITY_PAIR_SETS,
    EntityPairs,
    EntityTables,
    RecordPairs,
    load_entity_pairs,
    load_entity_tables,
)
from twofold.datasets._feature_table import FeatureTable, load_table
from twofold.datasets._image_set import ImageSet, LabelledImages
from twofold.datasets._mnist import load_mnist
from twofold.datasets._multilabel import MULTILABEL_SETS, MultilabelSet, load_multilabel
from twofold.datasets._named_pairs import NamedPairs, NamedTriplets, read_pairs, read_triplets
from twofold.datasets._named_tables import read_tables
from twofold.datasets._nus_wide import NusWideLabels, load_nus_wide_labels
from twofold.datasets._nus_wide_images import has_nus_wide_images, load_nus_wide
from twofold.datasets._omniglot import OmniglotPart, OmniglotSet, load_omniglot
from twofold.datasets._pairs_file import PairsFile, load_pairs
from twofold.datasets._pubfig83 import load_pubfig83
from twofold.datasets._record_pieces import iterate_columns, iterate_records
from twofold.datasets._records import Records, read_records

__all__ = [
    "ENTITY_PAIR_SETS",
    "MULTILABEL_SETS",
    "EntityPairs",
    "EntityTables",
    "FeatureTable",
    "ImageSet",
    "LabelledImages",
    "MultilabelSet",
    "NamedPairs",
    "NamedTriplets",
    "NusWideLabels",
    "OmniglotPart",
    "OmniglotSet",
    "PairsFile",
    "RecordPairs",
    "Records",
    "download",
    "has_nus_wide_images",
    "iterate_columns",
    "iterate_records",
    "load_cifar10",
    "load_entity_pairs",
    "load_entity_tables",
    "load_mnist",
    "load_multilabel",
    "load_nus_wide",
    "load_nus_wide_labels",
    "load_omniglot",
    "load_pairs",
    "load_pubfig83",
    "load_table",
    "read_pairs",
    "read_records",
    "read_tables",
    "read_triplets",
]
