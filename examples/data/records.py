"""Write a set of records that is used in research as two tables and decisions about their rows.

python examples/data/records.py amazon-google|dblp-acm|fodors-zagats FOLDER

It is read from the folder that the variable TWOFOLD_DATA names.
"""

import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from twofold.datasets import load_entity_tables

name, folder = sys.argv[1], Path(sys.argv[2])
tables = load_entity_tables(name)
folder.mkdir(parents=True, exist_ok=True)
for side, table in (("left", tables.left), ("right", tables.right)):
    ids = pa.array([f"{side[0]}{row}" for row in range(len(table))])
    csv.write_csv(table.add_column(0, "id", ids), folder / f"{side}.csv")
for part in ("train", "valid", "test"):
    said = getattr(tables, part)
    decisions = {
        "left": [f"l{row}" for row in said.left],
        "right": [f"r{row}" for row in said.right],
        "similar": said.similar,
    }
    csv.write_csv(pa.table(decisions), folder / f"{part}.csv")
