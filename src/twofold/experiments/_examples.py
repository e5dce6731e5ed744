"""What all methods with one seed share: the items to learn from, and the pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from twofold._core.warnings import RelationWarning, unsaid
from twofold.experiments._paper import N_DISSIMILAR, N_SIMILAR
from twofold.experiments._sets import ExperimentSet, Part, part_validation
from twofold.relations import LabelRelation, PairRelation


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Items and pairs of one seed.

    Attributes
    ----------
    fitted, validation, test : Part
        Items to learn from, to choose the epoch on, and to score on.
    relation : LabelRelation
        Of the items to learn from.
    pairs, test_pairs : PairRelation
        Sampled of them, and of the test items.
    """

    fitted: Part
    validation: Part
    test: Part
    relation: LabelRelation
    pairs: PairRelation
    test_pairs: PairRelation

    def describe(self) -> dict[str, int]:
        """Return the numbers that stand in a record."""
        return {
            "n_train": self.relation.n_items,
            "n_validation": len(self.validation.labels),
            "n_test": len(self.test.labels),
            "n_labels": self.relation.n_labels,
            "n_pairs": self.pairs.n_pairs,
            "n_without_label": self.relation.n_empty,
        }


def draw_examples(data: ExperimentSet, seed: int) -> Examples:
    """Part the training items, and sample the pairs, train and test apart."""
    fitted, validation = part_validation(data.train, seed)
    with empty_rows_unsaid():
        relation, test = LabelRelation(fitted.labels), LabelRelation(data.test.labels)
        pairs, test_pairs = (
            each.sample_pairs(N_SIMILAR, N_DISSIMILAR, random_state=seed)
            for each in (relation, test)
        )
    return Examples(fitted, validation, data.test, relation, pairs, test_pairs)


@contextmanager
def empty_rows_unsaid() -> Iterator[None]:
    """Keep back what is said of rows without a label: a record counts them."""
    with unsaid(RelationWarning):
        yield
