"""What an inspection found, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import dataclass

from twofold.relations import Diagnosis
from twofold.targets import DECIDING_AUROC, Gauge

MOST = 0.5
SAYS_SOMETHING = 0.65
"""AUROC from which features are said to agree in part; words only, nothing is decided by it."""
NO_ERROR = (
    "If being alike is transitive, as for classes, each of them or a pair of its chain is wrong; "
    "if items may be alike for different reasons, as with several labels per item, this is not "
    "an error."
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a learner that is fitted to all pairs expects on others.

    Attributes
    ----------
    candidate : str
        What validation selected; see `MetricLearner`.
    new_items : float
        AUROC on pairs of items that are in no statement.
    known_items : float or None
        AUROC on other pairs of items that are, where that could be validated.
    features_as_given : float
        AUROC of the features without learning, on new items.
    """

    candidate: str
    new_items: float
    known_items: float | None
    features_as_given: float


@dataclass(frozen=True, slots=True)
class Together:
    """Statements beside what features and the other statements say of them.

    Attributes
    ----------
    auroc : float
        Of held-out statements, by embeddings of the features that the others have taught.
    n_similar, n_dissimilar : int
        Statements of the two kinds.
    n_similar_opposed, n_dissimilar_opposed : int
        How many of these the embeddings take for the opposite, more likely than not.
    """

    auroc: float
    n_similar: int
    n_dissimilar: int
    n_similar_opposed: int
    n_dissimilar_opposed: int


def read_together(
    together: Together, gauge: Gauge, expectation: Expectation | None
) -> tuple[str, str, str]:
    """Return a headline, what features and pairs say, and where they disagree."""
    if together.auroc >= DECIDING_AUROC:
        headline = "Features and pairs agree"
    elif together.auroc >= SAYS_SOMETHING:
        headline = "Features and pairs agree in part"
    else:
        headline = "The features say little about these pairs"
    given = "" if expectation is None else f"; the features as given, {_given(expectation)}"
    said = (
        "Embeddings of the features, learnt from the other pairs, order held-out pairs with an "
        f"AUROC of {together.auroc:.3f}. The pairs alone have {gauge.auroc:.3f}{given}."
    )
    return headline, said, _disagreement(together)


def _given(expectation: Expectation) -> str:
    return f"{expectation.features_as_given:.3f} on pairs of held-out items"


def _disagreement(together: Together) -> str:
    similar = f"{together.n_similar_opposed:,} of {together.n_similar:,} pairs stated to be alike"
    dissimilar = f"{together.n_dissimilar_opposed:,} of {together.n_dissimilar:,} stated not to be"
    if not together.n_similar_opposed + together.n_dissimilar_opposed:
        return "They do not disagree on any pair."
    return (
        f"They disagree on {similar}, which look different, and on {dissimilar}, which look "
        "alike. Either the statement is wrong, or the features lack the information it is based "
        "on: look at the suspicious pairs first."
    )


def read_gauge(gauge: Gauge | None, why_no_gauge: str, n_pairs: int) -> tuple[str, str]:
    """Return a headline, and what it rests on."""
    if gauge is None:
        return "These pairs cannot be gauged", why_no_gauge
    measured = (
        f"Targets made from {gauge.n_folds - 1} of {gauge.n_folds} parts of them order the pairs "
        f"of the other part with an AUROC of {gauge.auroc:.3f} ± {gauge.standard_error:.3f}; 0.5 "
        "is chance."
    )
    if gauge.decides:
        return "These pairs determine the relation", f"{measured} {_spared(gauge, n_pairs)}".strip()
    return (
        "These pairs do not determine the relation: use features",
        f"{measured} {_missing(gauge, n_pairs)}",
    )


def read_diagnosis(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield a sentence for everything that a user should know."""
    if diagnosis.n_unlinked:
        yield (
            f"{_count(diagnosis.n_unlinked, 'item is', 'items are')} in no pair: only features "
            "can tell anything about them."
        )
    if diagnosis.n_parts > 1:
        yield (
            f"The pairs fall into {diagnosis.n_parts:,} parts that no pair connects, the largest "
            f"with {diagnosis.part_sizes[0]:,} items: items of different parts are not compared, "
            "not even through others."
        )
    if diagnosis.n_both_ways:
        both_ways = _count(diagnosis.n_both_ways, "pair is", "pairs are")
        yield f"{both_ways} stated both as alike and as not alike."
    if diagnosis.n_contradictions:
        inside = _count(
            diagnosis.n_contradictions, "dissimilar pair joins", "dissimilar pairs join"
        )
        yield f"{inside} two items that a chain of similar pairs connects. {NO_ERROR}"
    if diagnosis.n_contradictions > MOST * max(diagnosis.n_dissimilar, 1):
        yield (
            "This is the case for most dissimilar pairs. A few wrong similar pairs are enough to "
            "connect all groups, so look at the suspicious ones first."
        )


def read_suspects(gauge: Gauge | None, together: Together | None) -> Iterator[str]:
    """Yield what the suspicious pairs rest on, and how far they can be trusted."""
    if gauge is None:
        return
    if together is not None:
        yield "The suspicious pairs contradict embeddings that were learnt without them."
    elif gauge.decides:
        yield "The suspicious pairs contradict targets that were made from the other pairs."
    else:
        yield (
            "The pairs say little about each other, so treat the suspicious ones with care; "
            "features would find them better."
        )


def read_expectation(expectation: Expectation | None) -> Iterator[str]:
    """Yield what a learner is worth on other pairs, where it could be validated."""
    if expectation is None:
        return
    if expectation.candidate == "features as given":
        yield (
            "Nothing learnt from the pairs was clearly better than the features as given: these "
            f"have an AUROC of {expectation.features_as_given:.3f} on pairs of held-out items."
        )
        return
    known = expectation.known_items
    yield (
        f"A learner fitted to all pairs can expect an AUROC of {expectation.new_items:.3f} on "
        "pairs of new "
        f"items{'' if known is None else f' and of {known:.3f} on other pairs of these'}; the "
        f"features as given have {expectation.features_as_given:.3f}."
    )


def read_suggestions(suggestions: Sized | None) -> Iterator[str]:
    """Yield what the pairs to ask next are, if anybody wanted to know."""
    if suggestions is None:
        return
    if not len(suggestions):
        yield (
            "There are no pairs left to ask about: all have a statement, or their items are equal."
        )
        return
    yield (
        "The pairs to ask about next are uncertain ones, half more and half less likely alike. "
        "The probabilities assume that the stated pairs were drawn at random: if alike pairs are "
        "more frequent among those than among all pairs, the true ones are lower."
    )


def _spared(gauge: Gauge, n_pairs: int) -> str:
    needed = gauge.n_needed
    if needed is None or needed > 0.75 * n_pairs:
        return ""
    return f"About {_rounded(needed)} of these {n_pairs:,} pairs would have been enough."


def _missing(gauge: Gauge, n_pairs: int) -> str:
    needed = gauge.n_needed
    if needed is not None and needed <= n_pairs:
        return f"All {n_pairs:,} together may just be enough."
    if needed is not None:
        times = needed / n_pairs
        return f"About {_rounded(needed)} such pairs would be enough, {times:.1f} times as many."
    if gauge.has_levelled:
        return (
            "More such pairs would hardly help, since the curve has levelled off: some may be "
            "wrong, or items may be alike in more ways than targets can represent."
        )
    return "How many more would be enough cannot be said yet: probably several times as many."


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _rounded(number: int) -> str:
    """Return a number to two digits: 17,000."""
    return f"{float(f'{number:.2g}'):,.0f}"
