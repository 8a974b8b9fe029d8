"""Records and entries as classes for tools: they run, mean what is declared, and are refused where they do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checker.commands.init import START
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from tests.own.conftest import EARLIER
from tests.second.reference import explore
from zabspec.authoring.declaration import ProtocolError
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


REFUSED = [
    (
        REGISTER,
        "    value: int\n\n\nclass GOSSIP",
        "\n\nclass GOSSIP",
        "class Write has the fields clock, but the record",
    ),
    (
        REGISTER,
        "class GOSSIP",
        "class Other(RecordType): ...\n\n\nclass GOSSIP",
        "Other is not a record of types(size)",
    ),
    (RAFT, "led: Each[int, set[Node]]", "led: set[Node]", "led is a field of each number: Each[int, ...]"),
    (RAFT, "acks: Each[Node, Each[int, set[Node]]]", "acks: Each[Node, set[Node]]", "Each[Node, Each[int, ...]]"),
    (RAFT, "    TXNS: int\n", "    TXNS: int\n    election_left: int\n", "class State has election_left"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), REFUSED)
def test_a_class_that_differs_is_refused_with_its_line(
    tmp_path: Path, file: Path, old: str, new: str, said: str
) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "typed.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ProtocolError) as problem:
        _ = Model(Configuration(str(path))).parts
    assert said in str(problem.value)
    assert "typed.py:" in str(problem.value)


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


def test_files_of_the_earlier_form_are_the_same_protocol() -> None:
    """`init` wrote one before messages and the state were classes."""
    now, before = (Interpreter(Model(Configuration(str(f), nodes=2)), (), True) for f in (START, EARLIER))
    assert now.run(Limits(), False).levels == before.run(Limits(), False).levels
