"""Texts as vectors, for learners that are to be compared on the same features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

DIM = 256


def text_features(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return TF-IDF of three characters and of words, reduced to 256 numbers of unit length.

    Everything is fitted on `texts` themselves, all that there are; nothing is known of pairs.

    Returns
    -------
    features : ndarray of float32, shape (n_texts, 256)
        Whose Euclidean distances order pairs as their cosines do.
    """
    kinds = (
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True),
        TfidfVectorizer(sublinear_tf=True),
    )
    counted = sparse.hstack([kind.fit_transform(texts) for kind in kinds]).tocsr()
    reduced = TruncatedSVD(DIM, random_state=0).fit_transform(counted)
    return np.asarray(normalize(reduced), dtype=np.float32)
