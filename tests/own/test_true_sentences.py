"""What is refused is refused for the reason given, and advice that is followed is accepted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main

TEXT = """from __future__ import annotations
import builtins
from zabcheck.language import (
    Each, Field, Fields, Int, Node, Seq, Size, State, action, any_process, declare, environment, environment_step,
    on_disk, safety, stored,
)
def pick(s: State, p: Node) -> int:
    return 1
def state(size: Size) -> list[Field]:
    return [stored("x", Int(0, 3), "x"), stored("log", Seq(Int(0, 3), 3), "x", 2), environment("now", Int(0, 3), "t")]
def early(s: State) -> bool:
    \"\"\"It is early.\"\"\"
    return s.now < 2
HERE
@environment_step(when=early)
def tick(s: State) -> None:
    s.now += 1
@action(budget="begins")
def begin(s: State, p: Node) -> None:
    BODY
@safety(witness=early)
def small(s: State) -> bool:
    \"\"\"x is never 3.\"\"\"
    for p in range(s.NODES):
        if s.x[p] == 3:
            return False
    return True
PROTOCOL = declare(__name__, state=state, nodes=2, budgets={"begins": 1})
"""


def asked(folder: Path, here: str, body: str, text: str = TEXT) -> tuple[int, str]:
    (folder / "mine.py").write_text(text.replace("HERE", here).replace("BODY", body))
    result = CliRunner().invoke(main, ["--protocol", "mine.py", "--engine", "interpret"])
    return result.exit_code, " ".join(result.output.split())


OTHERS = "def NAME(s: State, bound: int, a: Node) -> bool:\n    return s.x[a] < bound\n" + (
    '@environment_step(everywhere=True, budget="begins")\ndef raise_one(s: State) -> None:\n'
    "    a = any_process(s)\n    if NAME(s, 2, a):\n        s.x[a] += 1"
)


@pytest.mark.parametrize("name", ["may_vote", "on_oracle", "receivable", "durable_points", "takes_first", "helper"])
def test_a_helper_may_have_the_name_of_another_worlds_hook(folder: Path, name: str) -> None:
    code, output = asked(folder, OTHERS.replace("NAME", name), "s.x[p] = 1")
    assert (code, "distinct states 6 orbits" in output) == (0, True), output


@pytest.mark.parametrize("name", ["on_timer", "timer_armed"])
def test_a_hook_of_its_own_world_is_one(folder: Path, name: str) -> None:
    assert asked(folder, OTHERS.replace("NAME", name), "s.x[p] = 1")[0] == 2


def test_one_function_guards_a_step_and_is_a_witness(folder: Path) -> None:
    code, output = asked(folder, "", "s.x[p] = 1")
    assert (code, "holds: 1 property" in output) == (0, True)


def test_a_property_is_imported_with_its_witness(folder: Path) -> None:
    prop = TEXT[TEXT.index("@safety") : TEXT.index("PROTOCOL")].replace("witness=early", "witness=begun")
    head = "from __future__ import annotations\nfrom zabcheck.language import State, safety\n"
    witness = 'def begun(s: State) -> bool:\n    """One has begun."""\n    return s.begins_left == 0\n'
    (folder / "helper_prop.py").write_text(head + witness + prop)
    text = TEXT.replace(TEXT[TEXT.index("@safety") : TEXT.index("PROTOCOL")], "")
    code, output = asked(folder, "from helper_prop import small", "s.x[p] = 3", text)
    assert (code, "begun is not imported into mine.py" in output) == (2, True), output
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    assert asked(folder, "from helper_prop import begun, small", "s.x[p] = 3", text)[0] == 1
