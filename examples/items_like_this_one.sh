#!/usr/bin/env bash
# Items like this one, from a catalogue with labels
# =================================================
#
# Each item of a catalogue has several labels. Items are alike if they share labels; a new item,
# which has none yet, is shown with the items that are most like it.
#
# ::
#
#     examples/items_like_this_one.sh               # a small made-up catalogue of recipes
#     examples/items_like_this_one.sh FOLDER OUT    # your own
#
# FOLDER has ``catalogue.csv`` and ``new.csv``, with the labels of an item in the column ``labels``,
# separated by semicolons. ``python examples/data/catalogue.py delicious FOLDER`` writes a large one.

set -euo pipefail
here=$(dirname "$0")
command -v twofold > /dev/null || PATH="$here/../.venv/bin:$PATH" # where `make demo` has put it
data=${1:-$here/data/recipes}
out=${2:-catalogue}
mkdir -p "$out"

# %%
# Learn from the catalogue. Text, numbers and categories are detected automatically.

twofold fit "$data/catalogue.csv" --labels labels --out "$out/model"

# %%
# Do items that are near each other share labels? The new items, whose labels were not used, show it.
# ``--page errors.html`` would show the pairs that the model gets wrong, side by side.

twofold evaluate "$out/model" "$data/new.csv" --labels labels

# %%
# Find items like these. The index is kept: if you add rows to the catalogue, only those are
# embedded.

twofold search "$out/model" --index "$data/catalogue.csv" --query "$data/new.csv" -k 3 \
    --store "$out/index" --out "$out/like_these.csv"
head -n 4 "$out/like_these.csv"
