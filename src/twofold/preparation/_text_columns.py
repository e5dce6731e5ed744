"""Text to features: TF-IDF of words and of three letters in a row, a column by itself.

What is fitted is a vocabulary and its inverse document frequencies, so plain arrays are all there
is to save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.preparation._stored import Arrays, Facts, Stored, texts_to_array
from twofold.preparation._values import as_texts

Analyser = Literal["word", "char"]
ANALYSERS: tuple[Analyser, ...] = ("word", "char")
N_LETTERS = 3
"""Two to four letters, and three to five, had a lower AUROC on amazon-google's validation pairs."""
FEWEST_ROWS = 2
"""A gram has to be in so many rows: one that comes once tells nothing about other rows."""
MOST_GRAMS = 2**16
"""Of an analyser: the most frequent ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """A vocabulary of words or letters, and how much each counts.

    Attributes
    ----------
    analyser : {"word", "char"}
        What the text is cut into.
    vocabulary : tuple of str
        In the order of the features.
    idf : ndarray of float32, shape (n_grams,)
        The rarer, the larger.
    """

    analyser: Analyser
    vocabulary: tuple[str, ...]
    idf: NDArray[np.float32]

    @classmethod
    def fit(cls, texts: Sequence[str], analyser: Analyser) -> Self:
        """Fit to texts; no gram at all if none comes twice."""
        vectoriser = _vectoriser(analyser, min_df=min(FEWEST_ROWS, len(texts)))
        try:
            vectoriser.fit(texts)
        except ValueError:  # no gram that is frequent enough
            return cls(analyser, (), np.empty(0, dtype=np.float32))
        vocabulary = tuple(map(str, vectoriser.get_feature_names_out()))
        return cls(analyser, vocabulary, np.asarray(vectoriser.idf_, dtype=np.float32))

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return rows of length 1, or 0 where no gram is known, shape (n_texts, n_grams)."""
        if not self.vocabulary:
            return sparse.csr_array((len(texts), 0), dtype=np.float32)
        vectoriser = _vectoriser(self.analyser, vocabulary=self.vocabulary)
        vectoriser.idf_ = self.idf
        return sparse.csr_array(vectoriser.transform(texts), dtype=np.float32)

    def save(self) -> Arrays:
        """Return what is saved."""
        return {"vocabulary": texts_to_array(self.vocabulary), "idf": self.idf}

    @classmethod
    def restore(cls, stored: Stored, analyser: Analyser) -> Self:
        """Return what was saved, checked."""
        vocabulary = stored.texts("vocabulary")
        return cls(analyser, vocabulary, stored.numbers("idf", len(vocabulary)))


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """Words and letters of a text; a row's features have length 1, or 0 where there is no text."""

    grams: tuple[Grams, ...]

    @classmethod
    def fit(cls, column: Any, written: str = "") -> Self:
        """Fit to an Arrow array."""
        del written
        return cls.fit_texts(_plain(column))

    @classmethod
    def fit_texts(cls, texts: Sequence[str]) -> Self:
        """Fit to texts, among which an empty one is missing."""
        there = [text for text in texts if text]
        return cls(tuple(Grams.fit(there or [""], analyser) for analyser in ANALYSERS))

    def names(self) -> list[str]:
        """Return what the features are called, behind the column's name."""
        return [f"{one.analyser}={gram}" for one in self.grams for gram in one.vocabulary]

    def transform(self, column: Any) -> sparse.csr_array:
        """Return features, shape (n_rows, n_grams)."""
        return self.transform_texts(_plain(column))

    def transform_texts(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return features of texts, shape (n_texts, n_grams)."""
        blocks = [one.transform(texts) for one in self.grams]
        return unit_rows(sparse.csr_array(sparse.hstack(blocks, format="csr")))

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        arrays = {
            f"{one.analyser}.{name}": array
            for one in self.grams
            for name, array in one.save().items()
        }
        return {}, arrays

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what was saved, checked."""
        return cls(
            tuple(
                Grams.restore(Stored(stored.name, {}, stored.arrays_of(analyser)), analyser)
                for analyser in ANALYSERS
            )
        )


def unit_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return a matrix whose rows have length 1; rows of nothing but 0 stay."""
    from sklearn.preprocessing import normalize

    return sparse.csr_array(normalize(matrix, copy=False), dtype=np.float32)


def joined_texts(columns: Sequence[Any]) -> list[str]:
    """Return the texts of several columns, those of a row with spaces between them."""
    return [" ".join(filter(None, row)) for row in zip(*map(_plain, columns), strict=True)]


def _plain(column: Any) -> list[str]:
    """Return an Arrow array as texts, empty where one is missing."""
    texts: list[str] = as_texts(column).fill_null("").to_pylist()
    return texts


def _vectoriser(analyser: Analyser, **changed: Any) -> Any:
    # Imported here: scikit-learn takes most of a second.
    from sklearn.feature_extraction.text import TfidfVectorizer

    cut = (
        {"ngram_range": (N_LETTERS, N_LETTERS)}
        if analyser == "char"
        else {"token_pattern": r"(?u)\w+"}
    )
    return TfidfVectorizer(
        analyzer=analyser,
        sublinear_tf=True,
        max_features=None if "vocabulary" in changed else MOST_GRAMS,
        dtype=np.float32,
        **cut,
        **changed,
    )
