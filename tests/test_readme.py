"""What the README shows is what happens."""

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The names that the README's code leaves behind, run in a folder of its own."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        exec("\n".join(blocks), found)
    return found


def test_the_figures_in_the_code_s_comments_are_what_comes_out(names: dict[str, object]) -> None:
    assert names["points"].shape == (450, 512)
    assert names["auroc"] == pytest.approx(0.996, abs=0.001)
    assert names["learner"].calibration_.true_negative_rate >= 0.99
    assert names["same"].shape == (5,)


def test_the_pairs_of_the_readme_say_what_the_classes_say(names: dict[str, object]) -> None:
    said, classes = names["said"], names["y_train"]
    assert ((classes[said.left] == classes[said.right]) == (said.similar == 1)).all()
    assert names["from_pairs"].metric_ == "euclidean"


def test_the_saved_model_gives_the_same_points(names: dict[str, object]) -> None:
    models = [names[name] for name in ("again", "from_pairs")]
    again, saved = (model.transform(names["X_test"]) for model in models)
    np.testing.assert_allclose(again, saved, rtol=1e-4, atol=1e-5)
