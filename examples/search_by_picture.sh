#!/usr/bin/env bash
# Search by picture, among kinds never seen
# =========================================
#
# Pictures of some kinds of things are sorted into folders. A metric that is learnt from them finds
# pictures of *other* kinds, which it has never seen, given one example of each.
#
# ::
#
#     examples/search_by_picture.sh                    # digits: learns 0 to 4, searches 5 to 9
#     examples/search_by_picture.sh omniglot OUT 10    # a set, the folder to write, and epochs
#
# The digits come with scikit-learn. ``mnist`` and ``omniglot`` (which learns three alphabets and
# searches two others) need their files in the folder that the variable TWOFOLD_DATA names. With
# your own pictures, in one folder per kind, start at ``twofold fit``.

set -euo pipefail
here=$(dirname "$0")
command -v twofold > /dev/null || PATH="$here/../.venv/bin:$PATH" # where `make demo` has put it
name=${1:-digits} out=${2:-pictures} epochs=${3:-20} of_a_kind=${4:-}
python "$here/data/pictures.py" "$name" "$out/files" $of_a_kind

# %%
# Learn from the folders how to compare kinds that are in none of them.

twofold fit "$out/files/known" --metric unseen --epochs "$epochs" --out "$out/model"

# %%
# How often is the nearest picture of the same kind? This is recall@1. The labels are the names of
# the folders, from which nothing was learnt.

twofold evaluate "$out/model" "$out/files/new" --labels label

# %%
# Search with one picture of each new kind. The page shows what is found.

twofold search "$out/model" --index "$out/files/new" --query "$out/files/examples" -k 8 \
    --out "$out/neighbours.csv" --page "$out/neighbours.html"
