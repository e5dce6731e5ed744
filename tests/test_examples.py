"""Every example runs as it stands, and says something good."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_runs_and_ends_in_a_good_auroc(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(path), run_name="__main__")
    (auroc,) = re.findall(r"AUROC ([\d.]+\d)", capsys.readouterr().out)
    assert float(auroc) > 0.95


def test_there_are_examples() -> None:
    assert EXAMPLES
