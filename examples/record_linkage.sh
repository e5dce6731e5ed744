#!/usr/bin/env bash
# Record linkage on the command line
# ==================================
#
# Two tables describe the same things in different words, and somebody has decided for some pairs
# whether both rows are the same thing. This goes from these files to a table of matches, without
# any Python.
#
# ::
#
#     examples/record_linkage.sh               # two small, made-up tables of products
#     examples/record_linkage.sh FOLDER OUT    # your own
#
# FOLDER has the tables ``left.csv`` and ``right.csv``, whose column ``id`` names their rows, and the
# decisions ``train.csv``, ``valid.csv`` and ``test.csv`` with the columns ``left,right,similar``.
# ``python examples/data/records.py amazon-google FOLDER`` writes a set used in research.

set -euo pipefail
here=$(dirname "$0")
command -v twofold > /dev/null || PATH="$here/../.venv/bin:$PATH" # where `make demo` has put it
data=${1:-$here/data/products}
out=${2:-linkage}
mkdir -p "$out"

# %%
# Learn from the decisions. The kind of each column is detected automatically. Two models are
# fitted: one embeds each record by itself, the other compares two records column by column. The
# decisions in ``valid.csv`` select the better one, and its threshold.

twofold fit "$data/left.csv" --right "$data/right.csv" \
    --pairs "$data/train.csv" --valid "$data/valid.csv" --out "$out/model"

# %%
# How good is it? Decisions that were used for nothing else show it. The page has the curves, and
# the pairs that the model gets wrong, side by side.

twofold evaluate "$out/model" "$data/left.csv" --right "$data/right.csv" \
    --pairs "$data/test.csv" --page "$out/errors.html"

# %%
# Find the matches of the two tables, with each row in one pair at most. Candidates are found by
# search, without comparing every row with every other. ``--columns title`` would add the titles.

twofold match "$out/model" "$data/left.csv" "$data/right.csv" --one-to-one \
    --out "$out/matches.csv"
head -n 4 "$out/matches.csv"
