"""Your own data sets: what their records show, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from twofold.report import _wording as wording
from twofold.report._groups import leading_groups
from twofold.report._standings import MEASURES, Measure, measured
from twofold.report._summaries import RunGroup
from twofold.report._titles import KNOWN_SETS, SCORES, method_title, set_title


def is_own(group: RunGroup) -> bool:
    """Whether a set is none of those that `twofold reproduce` runs."""
    return group.data_set not in KNOWN_SETS


def own_sentences(groups: Sequence[RunGroup]) -> tuple[str, ...]:
    """Return which method is the best on every set of one's own, and by how much."""
    own = [group for group in leading_groups(groups) if is_own(group) and group.scored]
    return tuple(map(_sentence, own))


def _sentence(group: RunGroup) -> str:
    best = [_best(group, measure) for measure in MEASURES]
    seeds = {record.seed for record in group.records}
    n_seeds = f"{len(seeds)} seeds" if len(seeds) > 1 else "one seed"
    return f"On {set_title(group.data_set)}, {n_seeds}: {'; '.join(best)}."


def _best(group: RunGroup, measure: Measure) -> str:
    """Return who is best by a measure, all that read the same, and who comes next."""
    scores = {s.method: value for s in group.scored if (value := measured(s, measure)) is not None}
    figures = {name: wording.score(value.mean) for name, value in scores.items()}
    ranked = sorted(figures.values(), reverse=True)
    first = [name for name, figure in figures.items() if figure == ranked[0]]
    others = sorted((figure, name) for name, figure in figures.items() if name not in first)
    title = "AUROC" if measure == "auroc" else SCORES[group.score]
    figure = wording.with_spread(*wording.score_spread(scores[first[0]]))
    names = wording.listing([method_title(name) for name in first])
    text = f"{names} {'has' if len(first) == 1 else 'have'} the highest {title}, {figure}"
    if others:
        figure, name = others[-1]
        text += f", before {method_title(name)} with {figure}"
    return text
