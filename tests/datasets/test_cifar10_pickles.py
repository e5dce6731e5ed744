"""Python batches are read as pickle would read them, and nothing that they name is run."""

import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from python_2_batches import python_2_batch

from twofold.datasets._cifar10_pickles import read_python_batch

PLACE = Path("data_batch_1")
DATA = np.random.default_rng(0).integers(0, 256, (2, 3072), dtype=np.uint8)
BATCH = {b"data": DATA, b"labels": [3, 7]}


class _Call:
    """Pickled, it asks whoever opens the pickle to call a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def test_the_stream_of_python_2_is_what_pickle_itself_reads() -> None:
    stream = python_2_batch(DATA, [3, 7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of its former names
        oracle = pickle.loads(stream, encoding="bytes")
    images, labels = read_python_batch(stream, PLACE)
    np.testing.assert_array_equal(images, oracle[b"data"])
    np.testing.assert_array_equal(labels, oracle[b"labels"])
    np.testing.assert_array_equal(images, DATA)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("data", [DATA, np.asfortranarray(DATA)])
@pytest.mark.parametrize("as_key", [str, str.encode])
def test_batches_written_again_by_python_3_are_read(
    protocol: int, data: np.ndarray, as_key: Callable[[str], Any]
) -> None:
    batch = {as_key("data"): data, as_key("labels"): [3, 7]}
    images, labels = read_python_batch(pickle.dumps(batch, protocol), PLACE)
    np.testing.assert_array_equal(images, DATA)
    assert labels.tolist() == [3, 7]


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("kind", ["system", "eval", "open", "numpy"])
def test_a_pickle_that_asks_to_run_code_runs_none(tmp_path: Path, protocol: int, kind: str) -> None:
    trace = tmp_path / "trace"
    call = {
        "system": _Call(os.system, f"touch {trace}"),
        "eval": _Call(eval, f"open({str(trace)!r}, 'w')"),
        "open": _Call(open, str(trace), "w"),
        "numpy": _Call(np.save, str(trace), 0),
    }[kind]
    stream = pickle.dumps(BATCH | {b"more": call}, protocol)
    asks = "it has [A-Z]+ at byte" if protocol == 0 else r"it asks for .*\."
    sentence = rf"data_batch_1 cannot be read .*{asks}.*, which no batch needs .* not run\)"
    with pytest.raises(ValueError, match=sentence):
        read_python_batch(stream, PLACE)
    assert not list(tmp_path.iterdir())
    if kind == "system":
        pickle.loads(stream)
        assert trace.exists()  # so it would have run


@pytest.mark.parametrize("name", ["ndarray.__class__", "ndarray.__reduce__", "memmap"])
def test_what_hangs_on_an_allowed_name_is_refused(name: str) -> None:
    stream = b"\x80\x04\x8c\x05numpy\x8c" + bytes([len(name)]) + name.encode() + b"\x93."
    with pytest.raises(ValueError, match=f"asks for numpy.{name}, which no batch needs"):
        read_python_batch(stream, PLACE)


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        ([1, 2], "'list' object has no attribute 'items'"),
        ({b"labels": [1, 2]}, "no 'data'"),
        ({b"data": DATA}, "no 'labels'"),
        (BATCH | {b"data": [1, 2]}, "its data is no array of bytes"),
        (BATCH | {b"data": DATA.astype(np.int16)}, "its data is no array of bytes"),
        (BATCH | {b"data": DATA[:, :-1]}, r"shape \(2, 3071\), not \(n, 3072\)"),
        (BATCH | {b"data": DATA[0]}, r"shape \(3072,\), not \(n, 3072\)"),
        (BATCH | {b"labels": [True, 2]}, "its labels are no list of integers"),
        (BATCH | {b"labels": [1.5, 2]}, r"it has BINFLOAT at byte \d+, which no batch needs"),
        (BATCH | {b"labels": b"12"}, "its labels are no list of integers"),
        (BATCH | {b"labels": [2**70, 1]}, r"it has LONG1 at byte \d+, which no batch needs"),
    ],
)
def test_a_batch_of_other_fields_is_told(batch: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"data_batch_1 cannot be read .*\(.*{sentence}"):
        read_python_batch(pickle.dumps(batch, 2), PLACE)


def test_unequal_numbers_of_images_and_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="is damaged, it holds 2 images but 3 labels"):
        read_python_batch(python_2_batch(DATA, [1, 2, 3]), PLACE)


def test_an_array_with_too_few_bytes_is_damaged() -> None:
    stream = python_2_batch(DATA, [1, 2])
    shorter = stream.replace(b"T" + (6144).to_bytes(4, "little"), b"T\0\0\0\0", 1)
    with pytest.raises(ValueError, match="data_batch_1 cannot be read"):
        read_python_batch(shorter, PLACE)


def test_a_memo_larger_than_the_file_is_refused() -> None:
    # Python's own reader would ask for 32 GB.
    with pytest.raises(ValueError, match=r"cannot be read .* names place 2147483647 of its memo"):
        read_python_batch(b"\x80\x02}r\xff\xff\xff\x7f.", PLACE)


@pytest.mark.parametrize("n_bytes", [0, 1, 10, 100, 3000, -1])
def test_a_stream_cut_short_is_damaged(n_bytes: int) -> None:
    with pytest.raises(ValueError, match=r"data_batch_1 cannot be read .*get it again"):
        read_python_batch(python_2_batch(DATA, [1, 2])[:n_bytes], PLACE)


HEADER = python_2_batch(DATA, [1, 2]).index(DATA[0, :20].tobytes())


@given(st.integers(0, HEADER - 1), st.integers(0, 255))
@example(63, ord("\\"))  # in the name of a module, where Python warns of it
def test_a_changed_byte_is_read_or_told_in_one_sentence(place: int, value: int) -> None:
    stream = bytearray(python_2_batch(DATA, [1, 2]))
    stream[place] = value
    try:
        images, labels = read_python_batch(bytes(stream), PLACE)
    except ValueError as error:
        sentence = str(error)
    else:
        sentence = f"data_batch_1 holds {images.shape}"
        assert images.shape == (len(labels), 3072)
    assert sentence.startswith("data_batch_1 ")
