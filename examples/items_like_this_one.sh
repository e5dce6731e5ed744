#!/usr/bin/env bash
# Items like this one, from a catalogue with labels
# =================================================
#
# Each item of a catalogue has several labels. Items are alike if they share labels; a new item,
# which has none yet, is shown with the items that are most like it.
#
# ::
#
#     examples/items_like_this_one.sh               # a small catalogue of recipes, which is made up
#     examples/items_like_this_one.sh FOLDER OUT    # your own
#
# FOLDER has ``catalogue.csv`` and ``new.csv``; the labels of an item stand in the column ``labels``
# with a semicolon between them. ``python examples/data/catalogue.py delicious FOLDER`` writes a
# large one.

set -euo pipefail
here=$(dirname "$0")
command -v twofold > /dev/null || PATH="$here/../.venv/bin:$PATH" # where `make demo` has put it
data=${1:-$here/data/recipes}
out=${2:-catalogue}
mkdir -p "$out"

# %%
# Learn from the catalogue: text, numbers and categories are told apart by themselves.

twofold fit "$data/catalogue.csv" --labels labels --out "$out/model"

# %%
# Do items that are near each other share labels? The new items tell, whose labels were not used.
# With ``--page errors.html`` the pairs that it gets wrong are shown side by side.

twofold evaluate "$out/model" "$data/new.csv" --labels labels

# %%
# Items like these. The index is kept: if rows are added to the catalogue, only they are embedded.

twofold search "$out/model" --index "$data/catalogue.csv" --query "$data/new.csv" -k 3 \
    --store "$out/index" --out "$out/like_these.csv"
head -n 4 "$out/like_these.csv"
