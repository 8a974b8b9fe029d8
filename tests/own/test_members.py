"""Processes that join and leave: states and orbits by the second semantics, what is refused, majorities of a set."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from invariants import properties_of
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.reference import explore
from zabspec.authoring import glue
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model

VIEWS = Path(__file__).parents[2] / "examples" / "views.py"
TEXT = VIEWS.read_text(encoding="utf-8")

BUDGETS = {"asks": 1, "crashes": 1, "joins": 1, "client": 1, "server": 3}
ROLES = '''"""Servers of a group, and a client that is always there."""

from __future__ import annotations

from typing import NewType

from zabcheck.language import (
    Each, Fields, MessageType, Node, action, any_of, declare, is_down, is_quorum, joins, leaves, progress, receives,
    safety, send, stored, volatile,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)


class ASK(MessageType): ...


class State(Fields):
    busy: Each[Server, bool] = volatile("it serves")
    knew: Each[Server, set[Node]] = stored("who was a member as it began to serve")


@action(budget="asks")
def ask(s: State, p: Client) -> None:
    send(s, p, any_of(s, Server), ASK())


@receives
def on_ask(s: State, p: Server, source: Client, m: ASK) -> None:
    s.busy[p] = True
    s.knew[p] = s.members


@joins(budget="joins")
def comes(s: State, p: Server) -> None:
    s.knew[p] = s.members


def is_busy(s: State, p: Server) -> bool:
    return s.busy[p] or len(s.members) > 1


@leaves(when=is_busy)
def goes(s: State, p: Server) -> None:
    s.knew[p].clear()


def is_free(s: State, p: Server) -> bool:
    return not s.busy[p]


def someone_left(s: State) -> bool:
    """A server has left."""
    return len(s.departed) > 0


@safety(witness=someone_left)
def claim(s: State) -> bool:
    """What is asked."""
    for p in range(s.NODES):
        if CLAIM:
            return False
    return True


PROTOCOL = declare(
    __name__,
    roles={"client": 1, "server": 3},
    members={"server": 1},
    budgets={"asks": 2, "joins": 1, "crashes": 1},
)
'''


@cache
def asked(path: str, **budgets: int) -> tuple[Question, list[str]]:
    """A question, and the states that the second semantics reaches."""
    given = {"protocol": path, "nodes": None, "network": "datagrams", "budgets": budgets, "properties": []}
    question = Question(given)
    return question, [canonical(state) for state in explore(given)["states"]]


def written(folder: Path, text: str, *changes: tuple[str, str]) -> str:
    """A text with pieces of it replaced, as a file."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "group.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def counted(model: Model, symmetry: bool) -> int:
    found = Interpreter(model, (), symmetry, every_step=True).run(Limits(), False)
    assert found.complete
    return sum(found.levels)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("group"), ROLES, ("CLAIM", "p in s.departed and p in s.members"))


def test_a_function_called_first_members_is_the_protocols_own(tmp_path: Path) -> None:
    path = tmp_path / "views.py"
    path.write_text(TEXT + "\n\ndef first_members(s: State) -> None:\n    return\n", encoding="utf-8")
    found = Interpreter(Model(Configuration(str(path))), (), False).run(Limits(depth=1), False)
    assert found.levels == Interpreter(Model(Configuration(str(VIEWS))), (), False).run(Limits(depth=1), False).levels


def test_states_and_orbits_are_those_of_the_second(group: str) -> None:
    """Of the one beginning, and renamed by brute force within roles."""
    question, states = asked(group, **BUDGETS)
    renamer = Renamer(question.plain, "", question.configuration.roles)
    assert counted(question.model, False) == len(states)
    assert counted(question.model, True) == len({renamer.orbit(text)[0] for text in states}) < len(states)


def test_who_is_a_member_may_be_of_any_role(tmp_path: Path) -> None:
    """One of all members may be chosen; they are not kept where servers alone are."""
    chosen = ("    send(s, p, any_of(s, Server), ASK())", "    q = any_of(s, s.members)\n    if is_a(s, q, Server):\n"
              "        send(s, p, q, ASK())")  # fmt: skip
    text = ROLES.replace("is_down, is_quorum", "is_a, is_down, is_quorum")
    path = written(tmp_path, text, ("CLAIM", "p in s.departed"), chosen)
    assert Interpreter(Model(Configuration(path)), (), False).run(Limits(depth=1), False).levels
    path = written(
        tmp_path,
        text,
        ("CLAIM", "p in s.departed"),
        ("knew: Each[Server, set[Node]]", "knew: Each[Server, set[Server]]"),
    )
    with pytest.raises(ConfigError, match=r"takes processes of role server, and s\.members may be of any role"):
        _ = Model(Configuration(path)).parts


WRONG = {  # what is replaced of the text between the protocol and its world, by what
    "all are members": ("if k < 1", "if k < 3"),
    "who is no member is up": (" or p not in s.members", ""),
    "a second time": ("p not in s.members and p not in s.departed", "p not in s.members"),
    "it joins and is none": ("s.members.add(p)\n        comes", "s.members.discard(p)\n        comes"),
    "it never goes": ("s.members.discard(p)", "s.members.add(p)"),
    "it forgets nothing": ("forget(s, p)\n        s.members", "s.members"),
    "who is down does not join": ("return k == 1", "return k == 9"),
}


@pytest.mark.parametrize("what", WRONG)
def test_other_members_have_other_states(what: str, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = WRONG[what]
    model = Model(Configuration(group, crashes=1, parameters="client=1,server=3", budgets="asks=1,joins=1"))
    right = Interpreter(model, (), False, every_step=True).run(Limits(depth=5), False).levels
    made, seen = glue.world_text, []

    def wrong(*given: object, **more: object) -> str:
        text = made(*given, **more)  # type: ignore[arg-type]
        seen.append(old in text)
        return text.replace(old, new)

    monkeypatch.setattr("zabspec.authoring.reading.world_text", wrong)
    model = Model(Configuration(group, crashes=1, parameters="client=1,server=3", budgets="asks=1,joins=1"))
    found = Interpreter(model, (), False, every_step=True).run(Limits(depth=5), False)
    assert found.levels != right or found.error
    assert all(seen)


def test_what_breaks_with_members_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the simulator; also where a member is down, crashed, and comes back."""
    monkeypatch.chdir(tmp_path)
    claim = "p in s.members and s.crashes_left == 0 and not is_down(s, p) and len(s.departed) > 0 and s.joins_left == 0"
    path = written(tmp_path, ROLES, ("CLAIM", claim))
    ran = CliRunner().invoke(main, ["--protocol", path, "--engine", "interpret"])
    assert ran.exit_code == 1, ran.output
    told = " ".join(ran.stdout.split())
    assert "was replayed in the simulator, step by step equal" in told
    assert ": comes" in told
    assert ": goes" in told


def test_fair_runs_go_on_without_another_joining(tmp_path: Path) -> None:
    """Who joins waits until it has; only a fair step by which it joins ends that."""
    waits = '@progress\ndef joins_soon(s: State, p: Node) -> bool:\n    """No member yet."""\n'
    waits += "    return p not in s.members and p not in s.departed\n\n\ndef is_free("
    text = ROLES.replace("CLAIM", "False").replace("def is_free(", waits)
    asked_for = ["--live", "--protocol", written(tmp_path, text), "--crashes", "0"]
    assert CliRunner().invoke(main, asked_for).exit_code == 1
    written(tmp_path, text, ('@joins(budget="joins")', "@joins(fair=True)"), (', "joins": 1', ""))
    assert CliRunner().invoke(main, asked_for).exit_code == 0


MAJORITIES = """
    for q in range(s.NODES):
        r = q
        if s.number[q] == 0:
            most = is_quorum(s, s.agreed[q], s.view[q])
            more = is_quorum(s, {r for r in range(s.NODES) if r in s.agreed[q]}, s.view[q])
            if r == q and most and more and q in s.members:
                return False
"""


def test_a_majority_of_a_set_is_the_same_in_machine_code(tmp_path: Path) -> None:
    """Whatever the names around it mean: here a loop over `q`, of which both sets are."""
    said = '    """No two views have one number."""\n'
    path = written(tmp_path, TEXT, (said, said + MAJORITIES))
    model, judged = Model(Configuration(path, budgets="retirements=0")), properties_of(path)
    fast = Explorer(Compiled(model, judged, False), 1).run(Limits(), False)
    slow = Interpreter(model, judged, False).run(Limits(), False)
    assert slow.violations["one-view"].depth == fast.violations["one-view"].depth
    assert slow.levels == fast.levels
