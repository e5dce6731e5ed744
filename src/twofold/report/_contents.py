"""The report's contents, whatever they are written in: sections of sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twofold.experiments import RunRecord
from twofold.report._code_section import TEXT as CODE_TEXT
from twofold.report._code_section import CodeGroup, code_tables, summarise_codes
from twofold.report._conclusion import conclusion
from twofold.report._groups import MeasuredGroup
from twofold.report._own_sets import is_own, own_sentences
from twofold.report._sentences import (
    Fact,
    facts,
    findings,
    phase_1_only_sentence,
    standing_sentences,
)
from twofold.report._summaries import RunGroup, summarise
from twofold.report._table import Table
from twofold.report._tables import (
    arrival_tables,
    overview_tables,
    phase_1_tables,
    result_table,
)
from twofold.report._titles import (
    ORIGINS,
    method_explanation,
    method_order,
    method_origin,
    method_title,
    set_title,
)
from twofold.report._unseen_section import TEXT as UNSEEN_TEXT
from twofold.report._unseen_section import unseen_conclusion, unseen_sentences, unseen_tables
from twofold.report._unseen_summaries import UnseenGroup, summarise_unseen

TITLE, OWN_TITLE = "Fast metric learning, run again", "Methods compared"
NUS_WIDE = "nuswide"
UNSEEN_ANCHOR = "never-seen"
NOTHING_TO_SUM_UP = "These records hold no figures to sum up."


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    Attributes
    ----------
    anchor, title : str
        Where links lead, and its heading.
    paragraphs : tuple of str
        Before its tables.
    tables : tuple of Table
        Its figures.
    """

    anchor: str
    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodList:
    """Methods of one origin: titles with explanations."""

    title: str
    methods: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a report says; a section is None where there is nothing to say.

    Attributes
    ----------
    title : str
        Its heading.
    is_of_paper : bool
        Whether any set is not a user's own.
    conclusion : tuple of str
        What the records show, in sentences for everybody.
    facts : tuple of Fact
        The figures to be seen first.
    findings : tuple of str
        Phase 1 and each set with one label per item, a sentence each.
    groups : tuple of RunGroup
        What curves are drawn of.
    unseen_groups : tuple of UnseenGroup
        Runs on kinds never seen, of which galleries are shown.
    phase_1, results, arrivals, unseen, codes, multilabel, nus_wide : Section or None
        The tables.
    methods : tuple of MethodList
        What the methods are.
    """

    title: str
    is_of_paper: bool
    conclusion: tuple[str, ...]
    facts: tuple[Fact, ...]
    findings: tuple[str, ...]
    groups: tuple[RunGroup, ...]
    unseen_groups: tuple[UnseenGroup, ...]
    phase_1: Section | None
    results: Section | None
    arrivals: Section | None
    unseen: Section | None
    codes: Section | None
    multilabel: Section | None
    nus_wide: Section | None
    methods: tuple[MethodList, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections there are, in their order."""
        every = (
            self.phase_1,
            self.results,
            self.arrivals,
            self.unseen,
            self.codes,
            self.multilabel,
            self.nus_wide,
        )
        return tuple(section for section in every if section is not None)


def contents(records: Iterable[RunRecord]) -> Contents:
    """Return what some records have to say; their order makes no difference."""
    every = tuple(records)
    groups = summarise(filter(_is_of_known_kinds, every))
    unseen = summarise_unseen(record for record in every if record.unseen is not None)
    codes = summarise_codes(record for record in every if record.codes is not None)
    if not groups and not unseen and not codes:
        raise ValueError("There is no run record to report on: give at least one.")
    known = [group for group in groups if not is_own(group)]
    sentences = (*conclusion(known), unseen_conclusion(unseen), *own_sentences(groups))
    return Contents(
        title=TITLE if known or unseen or codes else OWN_TITLE,
        is_of_paper=bool(known or unseen or codes),
        conclusion=tuple(filter(None, sentences)) or (NOTHING_TO_SUM_UP,),
        facts=facts(known),
        findings=findings(known),
        groups=groups,
        unseen_groups=unseen,
        phase_1=_phase_1(known),
        results=_results(groups),
        arrivals=_arrivals(groups),
        unseen=_unseen(unseen),
        codes=_codes(codes),
        multilabel=_multilabel(groups),
        nus_wide=_nus_wide(groups),
        methods=_methods((*groups, *unseen, *codes)),
    )


def result_tables(records: Iterable[RunRecord]) -> tuple[Table, ...]:
    """Return the scores of every method, a table a set and machine."""
    groups = summarise(filter(_is_of_known_kinds, records))
    tables = tuple(result_table(group) for group in groups if group.scored)
    if not tables:
        raise ValueError(
            "There is no run record with scores to make a table of: give at least one. Scores on "
            "kinds never seen and of codes are only in the report."
        )
    return tables


def _section(
    name: str, title: str, text: tuple[str, ...], tables: tuple[Table, ...]
) -> Section | None:
    """Return a section; none without tables."""
    return Section(name, title, text, tables) if tables else None


def _phase_1(groups: Sequence[RunGroup]) -> Section | None:
    text = (
        "Every item gets its target vector from the relation alone. The seconds are of sampling "
        "the pairs and of solving for the targets, which FML does as in the paper: from a random "
        "start until the loss settles. The paper measured on one thread of an i7-4770, we "
        "on the machine under each table. Twofold's exact solution uses all that the "
        "labels say, without sampling, and has no counterpart in the paper."
    )
    return _section("phase-1", "Phase 1: targets", (text,), phase_1_tables(groups))


def _results(groups: Sequence[RunGroup]) -> Section | None:
    tables = tuple(result_table(g) for g in groups if g.scored and g.data_set != NUS_WIDE)
    compared = any(summary.comparison is not None for g in groups for summary in g.methods)
    return _section("results", "Five nearest neighbours", _results_text(compared), tables)


def _results_text(compared: bool) -> tuple[str, ...]:
    beside = (
        "; ▲ ours is better than the paper's figure, ▼ worse, = the same to its three decimals."
    )
    return (
        "Mean ± standard deviation over seeds. AUROC is of pairs of test items at the end of "
        "training, MAP@R of retrieval among the test items; the neighbours' score is at the epoch "
        "that a validation part chose, by Euclidean distance unless another nearness is named. "
        "Seconds are of both phases, without evaluation. The best of each column is bold"
        + (beside if compared else "."),
    )


def _arrivals(groups: Sequence[RunGroup]) -> Section | None:
    text = (
        "When the mean curve of each method is first as high as the Siamese network's is in the "
        "end, looked up at the epochs that were evaluated. The time is given as a share of the "
        "Siamese network's whole training and, which is fairer to it, of the time at which it "
        "was first as good itself. The last column takes each seed beside the Siamese network "
        "of the same seed, and is the geometric mean of the shares."
    )
    title = "Time to the Siamese network's AUROC"
    return _section("arrivals", title, (text,), arrival_tables(groups))


def _unseen(groups: Sequence[UnseenGroup]) -> Section | None:
    text = (*UNSEEN_TEXT, *unseen_sentences(groups))
    return _section(UNSEEN_ANCHOR, "Kinds never seen", text, unseen_tables(groups))


def _is_of_known_kinds(record: RunRecord) -> bool:
    """Whether a run is of the paper's protocol: not of kinds never seen, nor of codes."""
    return record.unseen is None and record.codes is None


def _codes(groups: Sequence[CodeGroup]) -> Section | None:
    return _section("codes", "Codes of bits", CODE_TEXT, code_tables(groups))


def _multilabel(groups: Sequence[RunGroup]) -> Section | None:
    those = [group for group in groups if group.score == "jaccard" and group.scored]
    if not those:
        return None
    text = (
        "Items with several labels are alike if they have at least one in common. Rivals are all "
        "methods but Twofold's own. Mean ± standard deviation over seeds: a lead that is smaller "
        "than that says little. The best of each column is bold."
    )
    tables = (*overview_tables(those, "auroc"), *overview_tables(those, "neighbours"))
    return Section("multi-label", "Several labels", (text, *standing_sentences(those)), tables)


def _nus_wide(groups: Sequence[RunGroup]) -> Section | None:
    those = [group for group in groups if group.data_set == NUS_WIDE]
    if not those:
        return None
    scored = tuple(result_table(group) for group in those if group.scored)
    title = set_title(NUS_WIDE)
    if scored:
        return Section(
            "nus-wide", title, ("Run whole, with its images.", *_results_text(True)), scored
        )
    explained = (
        "The images of NUS-WIDE cannot be redistributed and were not at hand. So phase 1 runs on "
        "its real labels at full size, and the regression chapter runs on the multi-label sets "
        "that come with features. `twofold reproduce nuswide` runs it all for whoever has the "
        "images."
    )
    return Section("nus-wide", title, (explained, *filter(None, map(phase_1_only_sentence, those))))


def _methods(groups: Sequence[MeasuredGroup]) -> tuple[MethodList, ...]:
    records = [record for group in groups for record in group.records]
    names = sorted({record.method for record in records}, key=method_order)
    classes = {record.method: record.configuration.get("learner") for record in records}
    return tuple(
        MethodList(
            title, tuple((method_title(n), method_explanation(n, classes.get(n))) for n in those)
        )
        for origin, title in ORIGINS.items()
        if (those := [name for name in names if method_origin(name) == origin])
    )
