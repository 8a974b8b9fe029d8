"""Whether a run-time error is met may not depend on the order of processes, or of a bag: states that differ in that
alone are one, and which of them an engine keeps is an accident."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.symmetry import found_in
from invariants import properties_of
from tests.sources import some
from zabspec.model import Configuration, Model

TEXT = (
    '''"""Processes go up."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Int, Node, action, declare, safety, stored


class State(Fields):
    level: Each[Node, Annotated[int, Int(0, 2)]] = stored("how far")


def may(s: State, p: Node) -> bool:
    return s.level[p] < 2


@action(when=may, budget="ups")
def up(s: State, p: Node) -> None:
    s.level[p] += 1


'''
    + some("somebody", "s.level[p] > 0", "Somebody is up.")
    + '''def total(s: State) -> int:
    n = 0
    for p in range(s.NODES):
        n = n + s.level[p]
    return n


def low(s: State, p: Node) -> bool:
    return (1 << (s.level[p] - 1)) == 9


@safety(witness=somebody)
def small(s: State) -> bool:
    """The levels come to less than three."""
    if total(s) != 2:
        return total(s) != 3
    pass  # the case


PROTOCOL = declare(__name__, budgets={"ups": 2}, nodes=2)
'''
)
EACH = "for p in range(s.NODES):"
OF_PROCESSES = {
    "return": [EACH, "    if s.level[p] >= 1:", "        return True", "    if (1 << (s.level[p] - 1)) == 9:",
               "        return True", "return True"],
    "any": ["found = False", EACH, "    found = found or (s.level[p] >= 1 or low(s, p))", "return found"],
}  # fmt: skip


def written(tmp_path: Path, body: list[str]) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TEXT.replace("    pass  # the case", "\n".join(f"    {line}" for line in body)), encoding="utf-8")
    return path


def reasons(path: Path) -> list[str]:
    """Why there is no symmetry."""
    return [a.sentence() for a in found_in(Model(Configuration(str(path))), properties_of(str(path)))]


def asked(path: Path, *words: str) -> tuple[int, str]:
    ran = CliRunner().invoke(main, ["--protocol", str(path), "--no-trace", *words])
    return ran.exit_code, ran.stdout.partition(";")[0]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", ["return", "any"])
def test_it_is_found_whatever_the_options_are(tmp_path: Path, name: str) -> None:
    """Level 0 meets it, unless a process of a higher one comes first: so it was in (2, 0), and not in (0, 2)."""
    path = written(tmp_path, OF_PROCESSES[name])
    ran = [asked(path, *words) for words in ([], ["--no-symmetry"], ["--engine", "interpret"])]
    assert [code for code, _ in ran] == [1, 1, 1]
    assert {said for _, said in ran} == {"VIOLATED: no-runtime-error at depth 2" + ran[0][1].partition("at depth 2")[2]}


# --- what is done only until something was found ----------------------------------------------------

COUNTED = '''"""The environment counts whom it asks."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Int, Node, action, declare, environment, environment_step, safety, stored


class State(Fields):
    up: Each[Node, bool] = stored("it is up")
    seen: Annotated[int, Int(0, 9)] = environment("how many were asked")
    found: bool = environment("one is up")


def may(s: State, p: Node) -> bool:
    return not s.up[p]


@action(when=may, budget="ups")
def rise(s: State, p: Node) -> None:
    s.up[p] = True


def asked(s: State, p: Node) -> bool:
    s.seen += 1
    return s.up[p]


def nobody_yet(s: State) -> bool:
    return s.seen == 0


@environment_step(when=nobody_yet)
def look(s: State) -> None:
    BODY


def looked(s: State) -> bool:
    """It was looked."""
    return s.seen > 0


@safety(witness=looked)
def one_is_enough(s: State) -> bool:
    """Who is up is the first."""
    return not s.found or s.seen <= 1


PROTOCOL = declare(__name__, budgets={"ups": 1}, nodes=2)
'''
UNTIL = {
    "or": [EACH, "    s.found = s.found or asked(s, p)"],
    "local": ["b = False", EACH, "    b = b or asked(s, p)", "s.found = b"],
    "greatest": ["n = 0", EACH, "    if many(s, p) > n:", "        n = many(s, p)", "s.found = n == 1"],
}
MANY = """def many(s: State, p: Node) -> int:
    return 1 if asked(s, p) else 0


def nobody_yet("""


@pytest.mark.parametrize("name", UNTIL)
def test_what_is_done_until_something_was_found_depends_on_the_order(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.py"
    text = COUNTED.replace("BODY", "\n    ".join(UNTIL[name])).replace("def nobody_yet(", MANY)
    path.write_text(text, encoding="utf-8")
    assert any("depends on the order in which a loop visits" in why for why in reasons(path))
