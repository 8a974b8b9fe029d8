"""What a command does not need it does not load: llvmlite is 173 MB of an installation, z3 59."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG

DATA = Path(__file__).parents[1] / "data" / "saved"
COMMANDS = """
import json, sys
from click.testing import CliRunner
from checker.cli import main

for words in [None, *json.loads(sys.argv[1])]:
    done = words and CliRunner().invoke(main, words)
    assert not done or done.exit_code == 0, (words, done.stderr)
    print(json.dumps([words, [name for name in sys.argv[2].split() if name in sys.modules]]))
"""
NEITHER = (
    ("--help",), ("--version",), ("variants",), ("properties",), ("gallery", "--list"), ("completion", "bash"),
    ("audit", "--help"), ("plan", "--help"), ("judge", "--help"), ("prove", "--mutant", "list"), ("induct", "--list"),
    ("replay", "agreement.trace.json"), ("init", "tpc.py"),
)  # fmt: skip


@pytest.mark.slow(seconds=1)
def test_what_needs_neither_compiler_nor_solver_loads_neither(tmp_path: Path) -> None:
    (tmp_path / "agreement.trace.json").write_bytes((DATA / "agreement.trace.json").read_bytes())
    assert loaded(tmp_path, "llvmlite z3", *NEITHER) == [[]] * (1 + len(NEITHER))
    assert loaded(tmp_path, "zabspec.language.front.frontend invariants rich.console") == [[]], "before any command"


def loaded(folder: Path, names: str, *commands: tuple[str, ...]) -> list[list[str]]:
    """Which of some modules a process has loaded after each command."""
    words = [sys.executable, "-c", COMMANDS, json.dumps(commands), names]
    path = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(words, cwd=folder, env=path, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)[1] for line in done.stdout.splitlines() if line.startswith(("[[", "[null"))]
