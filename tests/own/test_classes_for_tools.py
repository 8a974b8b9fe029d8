"""Records and fields as classes: they run, and mean in each semantics what is declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from checker.commands.init import START
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from tests.second.reference import explore
from zabspec.model import Configuration, Model

EXAMPLES = Path(__file__).parents[2] / "examples"
REGISTER = Path(__file__).parent / "texts" / "register.py"
RAFT = EXAMPLES / "raft.py"


def test_a_record_that_is_a_class_is_that_of_the_schema() -> None:
    """The second semantics reads the class by itself."""
    model = Model(Configuration(str(REGISTER), nodes=2))
    found = Interpreter(model, (), False, every_step=True).run(Limits(), False)
    asked = {"protocol": str(REGISTER), "nodes": 2, "network": "datagrams", "budgets": {"writes": 2, "gossips": 2}}
    assert sum(found.levels) == len(explore({**asked, "properties": []})["states"]) == 306


def test_what_is_left_of_a_budget_may_be_said(tmp_path: Path) -> None:
    path = tmp_path / "typed.py"
    path.write_text(
        RAFT.read_text(encoding="utf-8").replace("    TXNS: int\n", "    TXNS: int\n    elections_left: int\n")
    )
    assert Model(Configuration(str(path))).parts


def test_ruff_has_nothing_against_what_init_writes() -> None:
    """By its own rules, wherever the file lies; mypy is run over it with the rest of the tree."""
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", str(START)]
    assert subprocess.run(words, capture_output=True, text=True, check=False).stdout == ""
