"""The conclusion: what the records show, for a reader who knows nothing of the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twofold.experiments import PROTOCOLS
from twofold.report import _wording as wording
from twofold.report._arrivals import Arrival, arrivals
from twofold.report._captions import is_aligned_pubfig83
from twofold.report._groups import leading_groups
from twofold.report._standings import MEASURES, OURS, standings
from twofold.report._summaries import RunGroup
from twofold.report._titles import method_title, set_title

FML = ("fml-c", "fml-dp")
"""The paper's own methods."""
WHAT_FML_IS = "FML, the paper's way to teach a network what is alike without training it on pairs,"


def conclusion(groups: Sequence[RunGroup]) -> tuple[str, ...]:
    """Return up to four sentences; every name and figure in them comes from the records.

    What was run again; where FML reaches the paper's scores; how soon it is as good as a Siamese
    network; where a method is not, or Twofold is not the best. Kinds never seen are told of
    elsewhere: see `unseen_conclusion`.
    """
    chosen = leading_groups(groups)
    sentences = (
        _what_was_run(chosen),
        _beside_the_paper(chosen),
        _beside_siamese(chosen),
        _exceptions(chosen),
    )
    return tuple(filter(None, sentences))


def _what_was_run(groups: Sequence[RunGroup]) -> str:
    run = [group for group in groups if any(map(group.find, FML))]
    whole = [group for group in run if any(s.method in FML for s in group.scored)]
    first_phase = [set_title(group.data_set) for group in run if group not in whole]
    places = [set_title(group.data_set) for group in whole if _is_in_paper(group)]
    n_more = len(whole) - len(places)
    if n_more:
        places.append(f"{n_more} {'sets' if n_more > 1 else 'set'} that the paper does not have")
    if places:
        more = f"; on {wording.listing(first_phase)} only its first phase" if first_phase else ""
        return f"{WHAT_FML_IS} was run again on {wording.listing(places)}{more}."
    if first_phase:
        return f"Of {WHAT_FML_IS} the first phase was run again on {wording.listing(first_phase)}."
    return ""


def _is_in_paper(group: RunGroup) -> bool:
    return group.data_set in PROTOCOLS and PROTOCOLS[group.data_set].paper is not None


def _beside_the_paper(groups: Sequence[RunGroup]) -> str:
    """Return on how many sets FML scores as high as in the paper, and where it does not."""
    compared = [g for g in groups if any(s.comparison for s in g.methods if s.method in FML)]
    if not compared:
        return ""
    missed = {group.data_set: text for group in compared if (text := _shortfall(group))}
    reached = [set_title(g.data_set) for g in compared if g.data_set not in missed]
    where = f" ({wording.listing(reached)})" if reached and missed else ""
    short = f"; it falls short on {wording.listing([*missed.values()])}" if missed else ""
    return (
        "When an item is labelled by its five nearest neighbours, FML scores as high as in the "
        f"paper or higher on {wording.of_all(len(reached), len(compared))}{where}{short}."
    )


def _shortfall(group: RunGroup) -> str:
    """Return the scores of FML that are below the paper's, nothing if none is."""
    below = [
        f"{method_title(s.method)} {s.neighbours.mean:.3f} against {s.comparison.paper:.3f}"
        for s in group.methods
        if s.method in FML and s.neighbours and s.comparison and s.comparison.difference < 0
    ]
    if not below:
        return ""
    why = "; our images are fewer and smaller" if is_aligned_pubfig83(group) else ""
    return f"{set_title(group.data_set)} ({wording.listing(below)}{why})"


def _beside_siamese(groups: Sequence[RunGroup]) -> str:
    """Return what share of a Siamese network's training time each method needs."""
    paces = {m: pace for m in (*FML, OURS) if (pace := _pace(_arrivals(m, groups)))}
    if not paces:
        return ""
    first, *others = paces
    share, sets = paces[first]
    return (
        "; ".join(
            [
                f"{_named(first)} tells pairs apart as well as a Siamese network, the usual "
                f"method, does at the end of its training in {share} of that time on {sets}",
                *(f"{_named(m)} takes {paces[m][0]} on {paces[m][1]}" for m in others),
            ]
        )
        + "."
    )


def _named(method: str) -> str:
    return f"{method_title(method)}, our default," if method == OURS else method_title(method)


def _pace(every: Mapping[str, Arrival]) -> tuple[str, str] | None:
    """Return the least and the largest share of the time, and on how many sets; None if on none."""
    shares = sorted(a.of_whole for a in every.values() if a.of_whole is not None)
    if not shares:
        return None
    ends = dict.fromkeys(wording.share(share) for share in (shares[0], shares[-1]))
    return " to ".join(ends), wording.of_all(len(shares), len(every))


def _exceptions(groups: Sequence[RunGroup]) -> str:
    """Return where a method is never as good as the Siamese network, or Twofold not the best."""
    parts: list[str] = []
    for method in (*FML, OURS):
        every = _arrivals(method, groups)
        never = [set_title(name) for name, a in every.items() if a.of_whole is None]
        if never:
            as_good = "never" if parts else "never gets as good as the Siamese network"
            parts.append(f"{method_title(method)} {as_good} on {wording.listing(never)}")
    several = [group for group in groups if group.score == "jaccard"]
    level = {s.data_set: None for m in MEASURES for s in standings(several, m) if s.lead <= 0}
    if level:
        parts.append(
            "where items have several labels, some other method does as well as Twofold or better "
            f"on {wording.listing([*map(set_title, level)])}"
        )
    return f"What falls short: {'; '.join(parts)}." if parts else ""


def _arrivals(method: str, groups: Sequence[RunGroup]) -> dict[str, Arrival]:
    """Return a method's arrivals by set."""
    return {g.data_set: a for g in groups for a in arrivals(g) if a.method == method}
