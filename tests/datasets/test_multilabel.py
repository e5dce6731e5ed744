"""The multi-label sets, from a tiny file in their layout."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from twofold.datasets import load_multilabel


def _write(folder: Path, **changed: object) -> Path:
    features = sparse.csr_array(np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]))
    labels = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1]], dtype=np.uint8)
    fields = {
        "X_data": features.data, "X_indices": features.indices, "X_indptr": features.indptr,
        "X_shape": np.array(features.shape), "Y_packed": np.packbits(labels, axis=1),
        "n_labels": 3, "n_train": 2, "label_names": np.array(["a", "b", "c"]),
    } | changed  # fmt: skip
    (folder / "multilabel").mkdir()
    np.savez(
        folder / "multilabel" / "scene.npz", **{k: v for k, v in fields.items() if v is not None}
    )
    return folder


def test_features_labels_and_the_official_split_are_read(tmp_path: Path) -> None:
    loaded = load_multilabel("scene", _write(tmp_path))
    np.testing.assert_array_equal(loaded.features.toarray(), [[0, 1.5], [2, 0], [0, 0]])
    np.testing.assert_array_equal(loaded.labels, [[1, 0, 1], [0, 1, 0], [1, 1, 1]])
    assert (loaded.n_train, loaded.label_names) == (2, ("a", "b", "c"))
    assert loaded.features.dtype == np.float32


def test_an_unknown_set_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"one of 'scene', 'yeast', .* got 'imagenet'"):
        load_multilabel("imagenet", tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"put its file at .*multilabel.scene\.npz"):
        load_multilabel("scene", tmp_path)


def test_a_file_without_a_field_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"scene\.npz cannot be read .*Y_packed"):
        load_multilabel("scene", _write(tmp_path, Y_packed=None))


def test_a_truncated_file_is_damaged(tmp_path: Path) -> None:
    path = _write(tmp_path) / "multilabel" / "scene.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"scene\.npz cannot be read"):
        load_multilabel("scene", tmp_path)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    names = np.array(["a", None, 3], dtype=object)
    with pytest.raises(ValueError, match=r"cannot be read .*pickle"):
        load_multilabel("scene", _write(tmp_path, label_names=names))
