"""Write a multi-label set that is used in research as a catalogue and new items.

python examples/data/catalogue.py delicious|corel5k|scene|yeast FOLDER

It is read from the folder that the variable TWOFOLD_DATA names. Labels stand in one column, with
semicolons between them; every feature is a column.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from twofold.datasets import load_multilabel

name, folder = sys.argv[1], Path(sys.argv[2])
given = load_multilabel(name)
features, names = given.features.toarray(), np.array(given.label_names)
folder.mkdir(parents=True, exist_ok=True)
parts = {"catalogue": range(given.n_train), "new": range(given.n_train, len(features))}
for part, rows in parts.items():
    columns = {
        "id": [f"{part}{row}" for row in rows],
        "labels": [";".join(names[given.labels[row] == 1]) for row in rows],
    }
    columns |= {f"feature{number}": features[rows, number] for number in range(features.shape[1])}
    csv.write_csv(pa.table(columns), folder / f"{part}.csv")
