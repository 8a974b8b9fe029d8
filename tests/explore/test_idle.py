"""Receipts that change nothing but the mail, which are left out over datagrams where nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from zabspec.language.source import LanguageError
from zabspec.model import Configuration, Model

TEXT = '''"""A token goes from hand to hand; who is busy lets it fall."""

from __future__ import annotations

from zabcheck.language import *

TOKEN = MessageName("TOKEN")


def state(size):
    return [volatile("busy", Bool(), "it works"), volatile("holds", Bool(), "it has the token")]


def messages(size):
    return [Message("TOKEN", {})]


def on_start(s: State, p: Node) -> None:
    s.holds[p] = p == 0


def may_work(s: State, p: Node) -> bool:
    return not s.busy[p] and not s.holds[p]


@action(when=may_work, budget="works")
def work(s: State, p: Node) -> None:
    s.busy[p] = True


def may_pass(s: State, p: Node) -> bool:
    return s.holds[p]


@action(when=may_pass, budget="passes")
def hand_on(s: State, p: Node) -> None:
    s.holds[p] = False
    send(s, p, (p + 1) % s.NODES, TOKEN())


@receives
def on_token(s: State, p: Node, m: TOKEN) -> None:
    if not s.busy[p]:
        s.holds[p] = True


# who rests


def worked(s: State) -> bool:
    """Somebody is busy."""
    return s.busy[0] or s.busy[1]


@safety(witness=worked)
def token_exists(s: State) -> bool:
    """The token is in somebody's hand, or on its way."""
    return len(s.in_flight) > 0 or s.holds[0] or s.holds[1]


def stepped(before: State, event: State, after: State) -> bool:
    """There is a step."""
    return True


@safety(over="step", witness=stepped)
def taken_in(before: State, event: State, after: State) -> bool:
    """Whatever happens, who works or who holds the token is another afterwards."""
    for p in range(after.NODES):
        if before.busy[p] != after.busy[p] or before.holds[p] != after.holds[p]:
            return True
    return False


@safety(witness=worked)
def from_the_first(s: State, m: TOKEN) -> bool:
    """The first sends every token."""
    return m.source == 0


PROTOCOL = declare(
    __name__, state=state, messages=messages, budgets={"works": 1, "passes": 1}, nodes=2
)
'''


RESTS = """QUIET = environment("quiet", Bool(), "it rests")


def may_rest(s: State) -> bool:
    return len(s.in_flight) == 0


@environment_step(when=may_rest)
def rest(s: State) -> None:
    s.quiet = True"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tokens.py").write_text(TEXT)
    return tmp_path / "tokens.py"


def explored(path: Path, name: str, **asked: Any) -> Exploration:
    """One property of the text, explored by both engines, which agree."""
    own = Model(Configuration(protocol=str(path), **asked))
    judged = [p for p in properties_of(str(path)) if p.name == name]
    fast = Explorer(Compiled(own, judged, False), 1).run(Limits(), False)
    slow = Interpreter(own, judged, False).run(Limits(), False)
    for what in ("levels", "distinct", "generated", "terminal", "depth", "complete"):
        assert getattr(fast, what) == getattr(slow, what), what
    return fast


@pytest.mark.parametrize("network", ["datagrams", "ordered", "fifo"])
def test_who_looks_at_the_mail_sees_that_a_message_is_gone(path: Path, network: str) -> None:
    found = explored(path, "token-exists", network=network)
    assert len(found.violations["token-exists"].schedule) == 3


def test_a_property_of_steps_is_asked_of_such_a_receipt_too(path: Path) -> None:
    assert len(explored(path, "taken-in").violations["taken-in"].schedule) == 3


def test_of_every_message_is_said_of_fewer_where_one_is_gone(path: Path) -> None:
    """So they are left out, and a state from which nothing else is possible is an end."""
    few = explored(path, "from-the-first")
    whole = explored(path, "token-exists", network="fifo")
    assert few.complete
    assert not few.violations
    assert few.distinct < whole.distinct
    assert few.terminal == 2


def test_the_environment_sees_no_mail(path: Path) -> None:
    path.write_text(TEXT.replace("# who rests", RESTS).replace('"it has the token")', '"it has the token"), QUIET'))
    with pytest.raises(LanguageError, match=r"tokens.py:\d+: the environment may not read network field in_flight"):
        explored(path, "token-exists")


def test_what_a_property_is_called_says_nothing_of_what_it_reads(tmp_path: Path) -> None:
    """Not even where it is called as what asks a claim of every message, and the rest of its name is a handler's."""
    text = TEXT.replace("token_exists", "on_token_of_every_message")
    path = tmp_path / "named.py"
    path.write_text(text, encoding="utf-8")
    c = Configuration(str(path))
    judged = [p for p in properties_of(str(path)) if p.name == "on-token-of-every-message"]
    assert len(judged) == 1
    found = Explorer(Compiled(Model(c), judged, False), 1).run(Limits(None, None, None, None), True)
    assert {name: v.depth for name, v in found.violations.items()} == {"on-token-of-every-message": 3}
