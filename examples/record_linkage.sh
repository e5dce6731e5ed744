#!/usr/bin/env bash
# Record linkage on the command line
# ==================================
#
# Two tables describe the same things in different words, and somebody has said of some pairs
# whether both rows are one thing. From these files to a table of matches, without any Python.
#
# ::
#
#     examples/record_linkage.sh               # two small tables of products, which are made up
#     examples/record_linkage.sh FOLDER OUT    # your own
#
# FOLDER has the tables ``left.csv`` and ``right.csv``, whose column ``id`` names their rows, and the
# decisions ``train.csv``, ``valid.csv`` and ``test.csv`` with the columns ``left,right,similar``.
# ``python examples/data/records.py amazon-google FOLDER`` writes a set that is used in research.

set -euo pipefail
here=$(dirname "$0")
command -v twofold > /dev/null || PATH="$here/../.venv/bin:$PATH" # where `make demo` has put it
data=${1:-$here/data/products}
out=${2:-linkage}
mkdir -p "$out"

# %%
# Learn from the decisions. Columns are told apart by themselves. Two records are first embedded,
# each on its own, and then compared column by column; the decisions in ``valid.csv`` say which
# of the two is better, and from which similarity on a pair is one thing.

twofold fit "$data/left.csv" --right "$data/right.csv" \
    --pairs "$data/train.csv" --valid "$data/valid.csv" --out "$out/model"

# %%
# How good is that? Decisions that were used for nothing else tell. The page shows the curves,
# and the pairs that it gets wrong, side by side.

twofold evaluate "$out/model" "$data/left.csv" --right "$data/right.csv" \
    --pairs "$data/test.csv" --page "$out/errors.html"

# %%
# All pairs of the two tables, each row in one pair at most. Candidates are found by search: not
# every row is compared with every other. ``--columns title`` would put the titles beside the ids.

twofold match "$out/model" "$data/left.csv" "$data/right.csv" --one-to-one \
    --out "$out/matches.csv"
head -n 4 "$out/matches.csv"
