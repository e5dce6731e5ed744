"""
Deployment without torch
========================

The model is exported to a single ONNX file. A process in which torch cannot be imported then embeds
with onnxruntime and searches with FAISS.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twofold import MetricLearner, Network
from twofold.evaluation import pair_auroc

SERVICE = """
import sys

sys.modules["torch"] = None  # from here on importing it fails

import faiss
import numpy as np
import onnxruntime

model, arrays, answers = sys.argv[1:]
session = onnxruntime.InferenceSession(model)
notes = session.get_modelmeta().custom_metadata_map
assert notes["metric"] == "cosine"  # of points that have length 1: an inner product


def embed(features):
    return session.run(["points"], {"features": features})[0]


with np.load(arrays) as given:
    index = faiss.IndexFlatIP(int(notes["n_components"]))
    index.add(embed(given["known"]))
    similarity, rows = index.search(embed(given["queries"]), index.ntotal)
np.savez(answers, similarity=similarity, rows=rows)
"""

X, y = load_digits(return_X_y=True)
X = X.astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
learner = MetricLearner(embedder=Network(max_epochs=10), random_state=0).fit(X_train, y_train)

# %%
# The service is a separate process. It gets the model and two arrays, and returns neighbours.

with TemporaryDirectory() as place:
    model = learner.to_onnx(Path(place) / "digits.onnx")
    arrays, answers = Path(place) / "arrays.npz", Path(place) / "answers.npz"
    np.savez(arrays, known=X_train, queries=X_test)
    subprocess.run([sys.executable, "-c", SERVICE, model, arrays, answers], check=True)
    with np.load(answers) as found:
        similarity, rows = found["similarity"], found["rows"]

alike = y_train[rows] == y_test[:, None]
print(f"the nearest is of the same digit for {alike[:, 0].mean():.1%} of new ones")
print(f"AUROC {pair_auroc(alike.ravel(), similarity.ravel()):.4f}")
