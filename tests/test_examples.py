"""Every example runs as it stands, and says something good."""

import re
import runpy
from pathlib import Path

import pytest
from shell_examples import run_script

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
CUTS = {
    "record_linkage": (),
    "search_by_picture": ("digits", "pictures", "3", "25"),
    "items_like_this_one": (),
    "short_texts": (),
}
"""What a script is called with: the files that come with it, or fewer epochs and pictures."""


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_an_example_runs_and_ends_in_a_good_auroc(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(path), run_name="__main__")
    (auroc,) = re.findall(r"AUROC ([\d.]+\d)", capsys.readouterr().out)
    assert float(auroc) > 0.95


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.sh")), ids=lambda path: path.stem)
def test_a_script_runs_and_is_good_on_what_it_has_not_seen(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, said = run_script(path, *CUTS[path.stem], place=tmp_path)
    assert status == 0, said
    aurocs = re.findall(r"│ AUROC +│ +([\d.]+)[^│]*│\n", said)
    assert aurocs, said
    assert min(map(float, aurocs)) > 0.9


def test_there_are_examples() -> None:
    assert PROGRAMS
