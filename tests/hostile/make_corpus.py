"""Write the good files that fuzzing starts from: small, and one of each form that is read.

python tests/hostile/make_corpus.py
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from fuzz_targets import CORPUS, HERE
from PIL import Image
from pyarrow import parquet
from scipy import sparse

from twofold.preparation import TablePreparation
from twofold.regression._averaging import WeightAverage
from twofold.regression._checkpoint import Checkpoint, Progress, Trainer
from twofold.regression._draws import Draws

RESULTS = HERE.parent.parent / "results"
PAIRS = "left,right,similar,weight\na,b,1,1\nb,c,0,2\nc,d,0.5,1\nd,a,0,0.25\na,c,1,1\n"
NUMBERED = "left,right,similar\n0,1,1\n1,2,0\n2,3,1\n3,0,0\n"
TABLE = "id,x,y\na,1,2.5\nb,-3,1e-3\nc,0.25,7\n"
MATRIX = np.array([[1.0, 0, 2.5], [0, -3, 0], [0, 0, 4], [1, 1, 1]])


def put(target: str, name: str, content: bytes | str) -> None:
    """Write a file of the corpus."""
    path = CORPUS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def pair_files() -> None:
    """Text and Parquet, with keys and with row numbers."""
    table = pa.table({"left": ["a", "b", "c"], "right": ["b", "c", "a"], "similar": [1.0, 0, 0.5]})
    numbers = pa.table({"left": [0, 1, 2], "right": [1, 2, 0], "similar": [True, False, True]})
    coded = pa.table(
        {"left": pa.array(list("abca")).dictionary_encode(), "right": list("bcab")}
    ).append_column("similar", pa.array([1, 0, 1, 0], pa.int8()))
    for target in ("pairs", "pairs-of-keys"):
        put(target, "keys.csv", PAIRS)
        put(target, "numbers.csv", NUMBERED)
        put(target, "keys.tsv", PAIRS.replace(",", "\t"))
        put(target, "quoted.csv", 'left,right,similar\n"a",b,1\n b ,"c",0\nc,d,0\n')
        for name, one in (("keys", table), ("numbers", numbers), ("coded", coded)):
            put(target, f"{name}.parquet", _parquet(one))


def _parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    parquet.write_table(table, written, compression="none")
    return written.getvalue()


def _saved(save, *arrays, **named) -> bytes:
    written = io.BytesIO()
    save(written, *arrays, **named)
    return written.getvalue()


def tables() -> None:
    """Features of every form."""
    put("table", "keys.csv", TABLE)
    put("table", "numbers.tsv", "x\ty\n1\t2\n3\t4\n")
    put("table", "keys.parquet", _parquet(pa.table({"id": ["a", "b"], "x": [1.5, 2], "y": [3, 4]})))
    put("table", "dense.npy", _saved(np.save, MATRIX))
    put("table", "bytes.npy", _saved(np.save, MATRIX.astype(np.uint8)))
    put("table", "turned.npy", _saved(np.save, np.asfortranarray(MATRIX.astype(">f4"))))
    put("table", "dense.npz", _saved(np.savez, MATRIX))
    put("features-npy", "dense.npy", _saved(np.save, MATRIX.astype(np.float32)))
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        matrix = sparse.coo_array(MATRIX).asformat(kind)
        content = _saved(sparse.save_npz, matrix, compressed=kind == "coo")
        put("table", f"{kind}.npz", content)
        put("features-npz", f"{kind}.npz", content)


def own_records() -> None:
    """Records, statements about them, images, and a saved preparation."""
    text = (
        "id,title,price,sold,colour\na,red chair,$12.50,2020-01-02,red\n"
        'b,"a table, red",,2021-03-04,red\nc,red chair,"1,200",,blue\n'
    )
    put("records", "records.csv", text)
    put("records", "western.csv", text.replace("chair", "café").encode("cp1252"))
    put("records", "windows.tsv", "\ufeff" + text.replace(",", "\t").replace("\n", "\r\n"))
    vectors = {"id": [1, 2], "v": [[1.0, 2], [2, 5]], "t": ["a b", "a c"], "x": [1.5, None]}
    put("records", "vectors.parquet", _parquet(pa.table(vectors)))
    put("records", "dense.npy", _saved(np.save, MATRIX))
    put("named-pairs", "words.csv", "left,right,similar\na,b,yes\nb,c,No\nc,d,0.5\n")
    put("named-pairs", "others.tsv", "ltable_id\trtable_id\tlabel\n1\t2\t1\n3\t0\t0\n")
    put("named-triplets", "keys.csv", "anchor,positive,negative\na,b,c\nc,b,a\n")
    put("named-triplets", "numbers.csv", "anchor,positive,negative\n0,1,2\n2,1,0\n")
    with tempfile.TemporaryDirectory() as folder:
        table = {"title": ["red chair", "a chair", "red table"], "price": [1.0, None, 3.5]}
        description = TablePreparation().fit(table).save(folder)
        put("table-preparation", "description.json", json.dumps(description))
        (arrays,) = Path(folder).iterdir()
        put("table-preparation", arrays.name, arrays.read_bytes())
    pixels = np.arange(300, dtype=np.uint16).reshape(10, 10, 3).astype(np.uint8)
    for name, mode in (("c.png", "RGB"), ("p.gif", "P"), ("a.png", "RGBA"), ("j.jpg", "RGB")):
        suffix = {"jpg": "JPEG"}.get(name[2:], name[2:].upper())
        put("image", name, _saved(Image.fromarray(pixels).convert(mode).save, suffix))


def records() -> None:
    """A run record and a gallery."""
    shortest = min(
        (path for path in RESULTS.rglob("*-seed*.json") if "gallery" not in path.name),
        key=lambda path: path.stat().st_size,
    )
    content = json.loads(shortest.read_text())
    content["curve"] = content["curve"][:3]
    put("record", "run.json", json.dumps(content))
    gallery = {
        "format": "twofold-gallery",
        "format_version": 1,
        "set": "digits",
        "method": "twofold",
        "seed": 0,
        "items": [
            {
                "image": "data:image/png;base64,AAAA",
                "label": "3",
                "neighbours": [
                    {"image": "data:image/png;base64,AAAA", "label": "3", "alike": True}
                ],
            }
        ],
    }
    put("gallery", "run.json", json.dumps(gallery))


def sets() -> None:
    """Real sets in little."""
    images = struct.pack(">HBB3I", 0, 8, 3, 2, 4, 4) + bytes(range(32))
    put("mnist", "images", gzip.compress(images, mtime=0))
    put("mnist", "labels", gzip.compress(struct.pack(">HBBI", 0, 8, 1, 2) + b"\3\7", mtime=0))
    lines = "COL title VAL a b\tCOL title VAL a\t1\nCOL title VAL é\tCOL title VAL c\t0\n"
    put("entity-pairs", "pairs", gzip.compress(lines.encode(), mtime=0))
    put("entity-pairs", "other", gzip.compress(lines.encode(), mtime=0))
    csr = sparse.csr_array(MATRIX.astype(np.float32))
    stored = {
        "X_data": csr.data,
        "X_indices": csr.indices,
        "X_indptr": csr.indptr,
        "X_shape": np.array(csr.shape),
        "Y_packed": np.packbits(np.eye(4, 3, dtype=np.uint8), axis=1),
        "n_labels": np.array(3),
        "n_train": np.array(2),
        "label_names": np.array(["a", "b", "c"]),
    }
    put("multilabel", "scene.npz", _saved(np.savez, **stored))
    batch = b"".join(bytes([k]) + bytes(3072) for k in (1, 9))
    put("cifar10", "batches", _tar("gz", {"cifar-10-batches-bin/test_batch.bin": batch}))
    folder = "Groundtruth/TrainTestLabels"
    labels = {f"{folder}/Labels_{name}_Test.txt": b"0\n1\n1\n" for name in ("sky", "sea")}
    put("nus-wide", "labels", _tar("xz", labels))


def _tar(packing: str, files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=f"w:{packing}") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return written.getvalue()


def checkpoints() -> None:
    """A training of one layer, after one step."""
    network = torch.nn.Linear(2, 1)
    with torch.no_grad():
        network.weight.fill_(0.5), network.bias.zero_()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.safetensors"
        checkpoint = Checkpoint(path, {"epochs": 3}, network, first_loss=1.0)
        optimiser = torch.optim.Adam(network.parameters(), lr=torch.tensor(0.1))
        network(torch.ones(1, 2)).sum().backward()
        optimiser.step()
        rng = np.random.default_rng(0)
        average = WeightAverage(network, 3, 0.0)
        trainer = Trainer(network, (optimiser,), rng, Draws(rng, "cpu"), average, n_steps=1)
        checkpoint.keep(trainer, Progress(1, 0.5, [1.0], [], None))
        put("checkpoint", "training.safetensors", path.read_bytes())


if __name__ == "__main__":
    for write in (pair_files, tables, own_records, records, sets, checkpoints):
        write()
