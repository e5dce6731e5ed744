"""What the README shows is what happens."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_the_code_in_the_readme_runs_and_gives_what_its_comments_say() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    solution = names["solution"]
    assert solution.points.shape == (5, 2)
    assert solution.converged is True
    assert eval(code.split("# 'exact'")[0].splitlines()[-1].strip(), names) == "exact"


def test_the_pairs_of_the_readme_come_out_as_stated() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    points, said = names["solution"].points, names["said"]
    distances = np.linalg.norm(points[said.left] - points[said.right], axis=1)
    assert distances[said.similar == 1].max() < 0.2
    assert distances[said.similar == 0].min() > 0.8
