"""What a recipe does in a checkout: write files, put lines beside others, and run commands that have to print words.

python docs/recipes/property.py      in a copy of a checkout, which it changes
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path


def new(file: str, text: str) -> None:
    """Write a new file."""
    print("edits", file)
    Path(file).write_text(text.lstrip("\n"), encoding="utf-8")


def before(file: str, mark: str, text: str) -> None:
    """Put lines before the first line that has a mark in it."""
    put(file, mark, text, 0)


def after(file: str, mark: str, text: str) -> None:
    """Put lines after the first line that has a mark in it."""
    put(file, mark, text, 1)


def put(file: str, mark: str, text: str, below: int) -> None:
    print("edits", file)
    lines = Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if mark in line)
    lines.insert(at + below, text.removeprefix("\n"))
    Path(file).write_text("".join(lines), encoding="utf-8")


def run(command: str, *says: str) -> None:
    """Run zabcheck in the checkout.

    Raises:
        SystemExit: it ends with another code than 0 or 1, writes to stderr, or does not print what it has to.
    """
    program, *words = shlex.split(command)
    done = subprocess.run([sys.executable, "-m", program, *words], check=False, capture_output=True, text=True)
    printed = " ".join(done.stdout.split())
    missing = [text for text in says if " ".join(text.split()) not in printed]
    if done.returncode not in (0, 1) or done.stderr or missing:
        sys.exit(f"{command}: exit code {done.returncode}, without {missing}\n{done.stdout}{done.stderr}")
    print("ran", command)
