"""Tables, text and images to features, as scikit-learn transformers.

A table's columns are told apart by themselves, and what each became can be seen; what was fitted is
saved without pickle, so that a model takes raw rows later.
"""

from twofold.preparation._image_decoding import DAMAGE, scaled_picture
from twofold.preparation._images import DecodedImages, ImagePreparation, ImageWarning
from twofold.preparation._plan import KINDS, ColumnPlan
from twofold.preparation._table import TablePreparation
from twofold.preparation._tables import as_table
from twofold.preparation._values import as_days, as_texts, one_array

__all__ = [
    "DAMAGE",
    "KINDS",
    "ColumnPlan",
    "DecodedImages",
    "ImagePreparation",
    "ImageWarning",
    "TablePreparation",
    "as_days",
    "as_table",
    "as_texts",
    "one_array",
    "scaled_picture",
]
