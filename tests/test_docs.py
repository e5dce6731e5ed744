"""What the documentation shows is what happens, and what it links to is there."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twofold.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = ("_build", "gallery", "generated")
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if not set(GENERATED) & set(path.relative_to(DOCS).parts)
)
CODE = re.compile(r"```(python|console)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)")
NUMBER = re.compile(r"\d+\.\d+")
WITH_CODE = [path for path in PAGES if "```python" in path.read_text(encoding="utf-8")]
ROUNDING = 0.025
"""How far a score may be from the one shown: processors differ in the last bits of a sum."""


def name_of(path: Path) -> str:
    return str(path.relative_to(DOCS))


@pytest.mark.parametrize("path", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_prints_what_stands_below_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, code, shown in CODE.findall(path.read_text(encoding="utf-8")):
        if language == "console":
            assert_says(run_commands(code), shown)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert_same_text(printed.getvalue(), shown)


def run_commands(code: str) -> str:
    """Run what stands behind the dollar signs, and return what was printed."""
    printed = ""
    for line in code.splitlines():
        result = CliRunner().invoke(app, shlex.split(line.removeprefix("$ twofold ")))
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
        printed += result.output
    return printed


def assert_says(printed: str, shown: str) -> None:
    """Look for what is shown in what was printed; how lines are broken and fractions are free."""
    said, expected = (" ".join(NUMBER.sub("#", text).split()) for text in (printed, shown))
    assert expected in said, printed


def assert_same_text(printed: str, shown: str) -> None:
    """Compare words exactly, and decimal fractions within rounding."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    values, expected = ([float(each) for each in NUMBER.findall(text)] for text in (printed, shown))
    assert values == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_what_a_page_links_to_is_there(path: Path) -> None:
    links = LINK.findall(path.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not is_there(path.parent / link)]
    assert missing == []


def is_there(path: Path) -> bool:
    """Whether a file is in the tree, or is made of an example when the site is built."""
    if path.parent.name == "gallery":
        return any((ROOT / "examples").glob(f"{path.stem}.*")) or path.stem == "index"
    return path.exists()


def test_every_page_is_in_some_table_of_contents() -> None:
    entries = {"index.md"}
    for path in PAGES:
        for toctree in re.findall(
            r"```\{toctree\}\n(.*?)```", path.read_text(encoding="utf-8"), re.S
        ):
            lines = [line for line in toctree.splitlines() if line and not line.startswith(":")]
            entries |= {f"{(path.parent / line).relative_to(DOCS)}.md" for line in lines}
    assert {name_of(path) for path in PAGES} <= entries


def test_every_picture_is_shown_and_has_the_program_that_draws_it() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    for picture in (DOCS / "pictures").iterdir():
        assert f"pictures/{picture.name}" in text
        assert (DOCS / "figures" / f"{picture.stem}.py").exists()
        assert picture.stat().st_size < 200_000
