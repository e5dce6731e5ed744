"""Rows that come in parts lie in one array in their order, from a CPU and from a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from twofold._core import streams as streams_module
from twofold._core.streams import collect_points, collect_rows, stream_rows

NEEDS_CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
ROWS = np.random.default_rng(0).normal(size=(23, 3)).astype(np.float32)


@DEVICES
@pytest.mark.parametrize("sizes", [(23,), (10, 13), (5, 5, 5, 5, 3), (0, 22, 1), (1,) * 23])
@pytest.mark.parametrize("shape", [(23, 3), (23, 3, 1)])
def test_parts_of_any_size_become_one_array(sizes, shape, device):
    rows = ROWS.reshape(shape)
    parts = torch.split(torch.from_numpy(rows).to(device), list(sizes))
    found = collect_rows(iter(parts), 23)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows)


@DEVICES
def test_a_part_may_be_written_over_after_it_was_taken(device):
    """As a network's output is, when the next batch needs its memory."""
    memory = torch.empty(5, 3, device=device)

    def parts():
        for first in range(0, 20, 5):
            memory.copy_(torch.from_numpy(ROWS[first : first + 5]))
            yield memory
            if device == "cpu":  # where taking is copying; a GPU keeps order by itself
                memory.fill_(torch.nan)

    np.testing.assert_array_equal(collect_rows(parts(), 20), ROWS[:20])


@DEVICES
def test_points_that_are_no_numbers_are_counted_and_the_first_is_named(device):
    points = torch.from_numpy(ROWS.copy()).to(device)
    np.testing.assert_array_equal(collect_points(iter(torch.split(points, 8)), 23), ROWS)
    points[17, 1], points[9, 0], points[9, 2] = torch.inf, torch.nan, 0.0
    with pytest.raises(ValueError, match=r"points of 2 row\(s\) are not finite, first in row 9:"):
        collect_points(iter(torch.split(points, 8)), 23)


def stored(kind: str, folder) -> np.ndarray:
    if kind == "bytes":
        return (ROWS * 40).astype(np.int64).astype(np.uint8)
    if kind == "mapped":
        np.save(folder / "rows.npy", ROWS.astype(np.float64))
        return np.load(folder / "rows.npy", mmap_mode="r")
    return {
        "float32": ROWS,
        "float64": ROWS.astype(np.float64),
        "integers": (ROWS * 40).astype(np.int64),
        "reversed": ROWS[::-1],
        "fortran": np.asfortranarray(ROWS),
        "read only": np.broadcast_to(ROWS[:1], ROWS.shape),
    }[kind]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
@pytest.mark.parametrize("part_bytes", [1, 60, 100, 2**26])
@pytest.mark.parametrize(
    "kind",
    ["float32", "float64", "integers", "bytes", "mapped", "reversed", "fortran", "read only"],
)
def test_rows_stream_to_a_gpu_in_their_order(kind, part_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(streams_module, "PART_BYTES", part_bytes)
    rows = stored(kind, tmp_path)
    parts = []
    for part in stream_rows(rows, torch.device("cuda")):
        torch.cuda._sleep(10**6)  # the next parts are read meanwhile, over the same two places
        parts.append(part.clone())
    assert {part.device.type for part in parts} == {"cuda"}
    found = torch.cat(parts).cpu()
    assert found.dtype == (torch.uint8 if kind == "bytes" else torch.float32)
    np.testing.assert_array_equal(found, rows.astype(found.numpy().dtype))
