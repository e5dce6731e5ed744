"""Shell scripts that call `twofold`, whose commands run in this process: each would import torch.

Bash runs the script as it stands. The `twofold` that it finds asks this process by a named pipe,
and gets what the command prints and its exit status by another.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Thread

from typer.testing import CliRunner

from twofold.cli import app

ASKING = """#!/usr/bin/env bash
echo "twofold $(printf '%q ' "$@")" > {place}/asked
said=$(cat {place}/answer)
head -n -1 <<< "$said"
exit "$(tail -n 1 <<< "$said")"
"""


def run_script(script: Path, *arguments: str, place: Path) -> tuple[int, str]:
    """Run a script in `place`, and return its exit status and all that it printed."""
    commands = place / "commands"
    commands.mkdir()
    place_of_pipes, python = shlex.quote(str(commands)), shlex.quote(sys.executable)
    programs = {
        "twofold": ASKING.format(place=place_of_pipes),
        "python": f'#!/usr/bin/env bash\nexec {python} "$@"\n',
    }
    for name, text in programs.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    os.mkfifo(commands / "asked")
    os.mkfifo(commands / "answer")
    process = subprocess.Popen(
        ["bash", script, *arguments],
        cwd=place,
        env=os.environ | {"PATH": f"{commands}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    printed: list[str] = []
    Thread(target=_wait, args=(process, printed, commands / "asked")).start()
    _serve(commands)
    return process.returncode, printed[0]


def _wait(process: subprocess.Popen[str], printed: list[str], asked: Path) -> None:
    printed.append(process.communicate()[0])
    asked.write_text("\n")  # nothing more will be asked


def _serve(commands: Path) -> None:
    while words := shlex.split((commands / "asked").read_text()):
        result = CliRunner().invoke(app, words[1:])
        (commands / "answer").write_text(f"{result.output}\n{result.exit_code}\n")
