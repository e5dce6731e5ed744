#!/usr/bin/env bash
# Short texts: topics, and the same question again
# ================================================
#
# Messages to a shop. In the first part, each message has a topic. In the second there are no
# topics, but somebody has said of some pairs of messages whether they ask the same thing.
#
# ::
#
#     examples/short_texts.sh               # made-up messages
#     examples/short_texts.sh FOLDER OUT    # your own
#
# FOLDER has ``known.csv`` and ``new.csv`` with the columns ``id,text,topic``, and pairs of their
# rows in ``known_pairs.csv`` and ``new_pairs.csv`` with the columns ``left,right,similar``.

set -euo pipefail
here=$(dirname "$0")
command -v twofold > /dev/null || PATH="$here/../.venv/bin:$PATH" # where `make demo` has put it
data=${1:-$here/data/messages}
out=${2:-texts}
mkdir -p "$out"

# %%
# A topic for each message: messages with the same topic are alike, and the model applies this to
# new messages.

twofold fit "$data/known.csv" --labels topic --columns text --out "$out/topics"
twofold evaluate "$out/topics" "$data/new.csv" --labels topic

# %%
# Only pairs: do these two ask the same thing?

twofold fit "$data/known.csv" --pairs "$data/known_pairs.csv" --columns text --out "$out/questions"
twofold evaluate "$out/questions" "$data/new.csv" --pairs "$data/new_pairs.csv"

# %%
# Has this been asked before? Find the nearest known messages for every new one.

twofold search "$out/questions" --index "$data/known.csv" --query "$data/new.csv" -k 3 \
    --columns text --store "$out/index" --out "$out/asked_before.csv"
head -n 4 "$out/asked_before.csv"
