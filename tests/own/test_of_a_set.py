"""A process that is chosen of a set, `any_of(s, {q for q in ... if ...})`: what is explored, what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.proofs.tla.module import module_of
from invariants import properties_of
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.reference import explore
from tests.transcript import file_of
from zabspec.model import Configuration, Model

TEXT = file_of("own/choices-of-a-set", "calls.py")
SET = "any_of(s, s.uncalled[p])"


def written(folder: Path, *changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "calls.py").write_text(text)
    return str(folder / "calls.py")


@pytest.mark.parametrize("chosen", [SET, "any_of(s, {r for r in range(s.NODES) if r in s.uncalled[p]})"])
def test_each_member_is_chosen_and_none_is_told_from_another(chosen: str, tmp_path: Path) -> None:
    """As many states as the second semantics reaches, and as many orbits as renaming each of them gives."""
    request = {
        "protocol": written(tmp_path, (SET, chosen)), "nodes": 3, "network": "datagrams", "budgets": {"calls": 3},
        "properties": [],
    }  # fmt: skip
    plain = explore(request)
    question = Question(request)
    every = Interpreter(question.model, (), False, every_step=True).run(Limits(), False)
    assert plain["complete"]
    assert len(plain["states"]) == sum(every.levels) > 100
    orbits = Interpreter(question.model, (), True, every_step=True).run(Limits(), False)
    renamer = Renamer(question.plain, "", "")
    assert (
        sum(orbits.levels)
        == len({renamer.orbit(canonical(state))[0] for state in plain["states"]})
        < sum(every.levels) / 4
    )


def test_a_module_for_tlc_that_chooses_a_process_has_numbers(tmp_path: Path) -> None:
    """A process is found by its number, which no model value is."""
    model = Model(Configuration(written(tmp_path)))
    assert "NOBODY == -1" in module_of(model, properties_of(model.configuration.protocol), "Calls").text


NUMBERS = '''"""Numbers are sent once each."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, Size, action, any_of, declare, environment, environment_step,
    receives, send, stored,
)  # fmt: skip

Left = set[Annotated[int, Range(0, 1)]]


class M(MessageType):
    k: Annotated[int, Range(0, 1)]


class State(Fields):
    left: Each[Node, Left] = stored("to send")
    heard: Each[Node, Left] = stored("heard")
    open: Left = environment("open")


def on_start(s: State, p: Node) -> None:
    for k in range(2):
        s.left[p].add(k)


@action()
def tell(s: State, p: Node) -> None:
    k = any_of(s, {k for k in range(2) if k in s.left[p] and k not in s.heard[p]})
    s.left[p].discard(k)
    for q in range(s.NODES):
        send(s, p, q, M(k=k))


@environment_step()
def opens(s: State) -> None:
    s.open.add(any_of(s, {k for k in range(2) if k not in s.open}))


@receives
def on_m(s: State, p: Node, source: Node, m: M) -> None:
    s.heard[p].add(m.k)


PROTOCOL = declare(__name__)
'''
TOLD = "    k = any_of(s, {k for k in range(2) if k in s.left[p] and k not in s.heard[p]})\n"


def numbers(folder: Path, nodes: int, *changes: tuple[str, str]) -> dict[str, object]:
    text = NUMBERS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "numbers.py").write_text(text)
    return {
        "protocol": str(folder / "numbers.py"), "nodes": nodes, "network": "datagrams", "budgets": {}, "properties": [],
    }  # fmt: skip


HELPER = (
    "def free(s: State, p: Node, k: int) -> bool:\n    return k in s.left[p] and k not in s.heard[p]\n\n\n@action()"
)


@pytest.mark.parametrize(
    ("changes", "nodes", "states"),
    [
        ([], 2, 2500),
        ([("if k in s.left[p] and k not in s.heard[p]", "if free(s, p, k)"), ("@action()", HELPER)], 1, 36),
        ([(TOLD, f"    x = len(s.left[p])\n    if x == 0:\n        return\n{TOLD}")], 1, 36),  # a return does nothing
    ],
)
def test_a_step_whose_set_is_empty_is_not_enabled(changes: list, nodes: int, states: int, tmp_path: Path) -> None:
    """As the second semantics has it, which runs the step to see."""
    request = numbers(tmp_path, nodes, *changes)
    plain = explore(request)
    every = Interpreter(Question(request).model, (), False, every_step=True).run(Limits(), False)
    assert plain["complete"]
    assert len(plain["states"]) == sum(every.levels) == states
    whole = ["--no-symmetry", "--reduction", "none", "--no-trace", "--nodes", str(nodes)]
    whole += ["--property", "no-runtime-error"]
    found = CliRunner().invoke(main, ["--protocol", str(tmp_path / "numbers.py"), *whole])
    assert f"distinct states        {sum(every.levels):,}\n" in found.stdout


FIRST = """from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, Node, Range, Size, Variant, action, any_of, choose, declare, stored,
)  # fmt: skip

X = Annotated[int, Range(0, 4)]


class State(Fields):
    x: Each[Node, X] = stored("x")
    v: Each[Node, set[Annotated[int, Range(0, 2)]]] = stored("v")
    a: Each[Node, Each[Annotated[int, Range(0, 2)], X]] = stored("a")


@action()
def up(s: State, p: Node) -> None:
    if s.x[p] < 3:
        s.x[p] += 1


@action()
def fill(s: State, p: Node) -> None:
    s.v[p].add(s.x[p] % 3)


def peek(s: State, p: Node) -> bool:
    return s.x[p] < 3


def peek_w(s: State, p: Node) -> bool:
    ACTS


@action()
def first(s: State, p: Node) -> None:
    STATEMENT
        s.a[p][1] = s.x[p]


PROTOCOL = declare(__name__, nodes=1, variants=[Variant("w", "it acts", {"peek": peek_w})])
"""
IS = "any_of(s, {k for k in s.v[p] if k < 2})"
STATEMENTS = [
    f"if s.x[p] == 1 == s.x[p] < {IS}:",
    f"if s.x[p] > 1 and (s.x[p] == 2 or {IS} == 1) and {IS} == 0:",
    f"if (1 if s.x[p] > 1 else {IS} if s.x[p] == 1 else 0) == {IS}:",
    f"if not (s.x[p] > 1 and peek(s, p) and {IS} == 1):",
    f"s.a[p][{IS}] = 1\n    if True:",
    f"q = 1 if s.x[p] > 1 and {IS} == 1 else 0\n    if q == 0 and {IS} == 1:",
    f"assert s.x[p] < 4\n    q, r = 1, s.x[p]\n    if {IS} == r:",
    f"if s.x[p] > 1 and peek(s, p):\n        q = {IS}",
]


ACTING = ("s.x[p] = 4; return True", "return choose(s, 2) == 1")
COMPILED = (STATEMENTS[1], STATEMENTS[-1])  # what they are made of is compiled as it is anywhere else


@pytest.mark.parametrize(
    ("statement", "acts"), [(text, acts) for text in STATEMENTS for acts in ("", *(ACTING if "peek" in text else ()))]
)
def test_the_first_choice_of_a_step_is_a_condition_wherever_it_is(statement: str, acts: str, tmp_path: Path) -> None:
    """Where it is reached, as the second semantics has it; not behind a function of a variant that acts."""
    path, variant = tmp_path / "first.py", "w" if acts else ""
    path.write_text(FIRST.replace("STATEMENT", statement).replace("ACTS", acts or "return True"))
    request = {"protocol": str(path), "nodes": 1, "network": "datagrams", "budgets": {}, "properties": []}
    plain = explore({**request, "variant": variant})
    asked = ["--protocol", str(path), "--property", "no-runtime-error", "--no-trace", "--reduction", "none"]
    for engine in ("interpret", "compiled") if statement in COMPILED else ("interpret",):
        found = CliRunner().invoke(main, [*asked, "--engine", engine, *(["--variant", variant] if variant else [])])
        assert found.exit_code == int(bool(plain["errors"])), found.output
        if not plain["errors"]:
            assert re.search(rf"distinct states +{len(plain['states'])}\b", found.stdout), found.stdout


BEFORE = [
    "    s.left[p].discard(1)\n", "    x = choose(s, 2)\n", "    x = any_process(s)\n", "    forget(s, p)\n",
    "    s.left[p] = s.left[p]\n", "    puts(s, p, False)\n",  # neither changes anything
]  # fmt: skip


@pytest.mark.parametrize(("engine", "before"), [*(("interpret", before) for before in BEFORE), ("compiled", BEFORE[0])])
def test_what_is_chosen_after_something_was_done_has_to_be_there(engine: str, before: str, tmp_path: Path) -> None:
    words = ("any_of, declare", "any_of, any_process, choose, declare, forget")
    puts = "def puts(s: State, p: Node, now: bool) -> None:\n    if now:\n        s.heard[p].clear()\n\n\n@action()"
    request = numbers(tmp_path, 1, (TOLD, before + TOLD), words, ("@action()", puts))
    assert explore(request)["errors"]
    path = str(tmp_path / "numbers.py")
    asked = ["--nodes", "1", "--engine", engine, "--property", "no-runtime-error", "--no-trace"]
    found = CliRunner().invoke(main, ["--protocol", path, *asked])
    assert "any_of is of an empty set" in " ".join(found.stdout.split())
