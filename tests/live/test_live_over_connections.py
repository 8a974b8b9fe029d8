"""A text of one's own over connections, whose oracle names a leader that has no connection with itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.test_live import asked
from traces import read_trace
from traces.replay.replay import replay

TEXT = '''"""A leader that its followers hear from: the oracle names it, it does not connect with itself."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, connect, declare, disconnect, forget, progress, receives, safety,
    send_to_follower, send_to_leader, volatile,
)  # fmt: skip

ELECTION, FOLLOWING, LEADING, DOWN = range(4)

Role = Annotated[int, OneOf("ELECTION", "FOLLOWING", "LEADING", "DOWN")]


class HELLO(MessageType): ...


class WELCOME(MessageType): ...


class State(Fields):
    role: Each[Node, Role] = volatile("where it stands")
    leader: Each[Node, Node] = volatile("whom it follows")
    welcome: Each[Node, bool] = volatile("it was welcomed")


def on_oracle(s: State, p: Node, l: Node) -> None:
    """It leads, or follows."""
    s.leader[p] = l
    if p == l:
        s.role[p] = LEADING
        s.welcome[p] = True
    else:
        s.role[p] = FOLLOWING
        connect(s, p, l)
        send_to_leader(s, p, HELLO())


def on_timeout(s: State, p: Node) -> None:
    """It begins anew."""
    disconnect(s, p)
    forget(s, p)


def on_leader_lost(s: State, p: Node) -> None:
    disconnect(s, p)
    forget(s, p)


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """Nothing."""


@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    send_to_follower(s, l, f, WELCOME())


@receives
def on_welcome(s: State, f: Node, m: WELCOME) -> None:
    s.welcome[f] = True


def some(s: State) -> bool:
    """Somebody is welcome."""
    return s.welcome[0]


@safety(witness=some)
def fine(s: State) -> bool:
    """Nothing is wrong."""
    return True


@progress
def welcomed(s: State, p: Node, named: Node) -> bool:
    """Who is up is welcomed by the process named."""
    return s.role[p] != DOWN and not (s.welcome[p] and s.leader[p] == named)


BUDGETS = {"losses": 1, "timeouts": 1}
PROTOCOL = declare(__name__, nodes=2, world="connections", budgets=BUDGETS)
'''
WELCOME = "    send_to_follower(s, l, f, WELCOME())\n"
ONCE = "    if not s.busy[l]:\n        s.busy[l] = True\n        send_to_follower(s, l, f, WELCOME())\n"
FIELD = '    welcome: Each[Node, bool] = volatile("it was welcomed")\n'
BUSY = '    busy: Each[Node, bool] = volatile("as a leader: it welcomed somebody")\n'


@pytest.mark.slow(seconds=2)
def test_everybody_is_welcomed_however_often_connections_are_lost(tmp_path: Path) -> None:
    (tmp_path / "welcomes.py").write_text(TEXT)
    result = asked("--protocol", "welcomes.py", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert "welcomed holds: no process starves" in " ".join(result.output.split())


@pytest.mark.slow(seconds=2)
def test_who_is_welcomed_once_waits_for_ever_while_the_leader_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lost its connection, and comes back to the same leader, which need not give up."""
    assert WELCOME in TEXT
    assert FIELD in TEXT
    (tmp_path / "once.py").write_text(TEXT.replace(WELCOME, ONCE).replace(FIELD, FIELD + BUSY))
    result = asked("--protocol", "once.py", "--timeouts", "0", cwd=tmp_path)
    assert result.exit_code == 1, result.output
    monkeypatch.chdir(tmp_path)
    trace = read_trace(tmp_path / "zabcheck-once-welcomed.trace.json")
    assert trace.lasso is not None
    assert trace.lasso.loop is None, "nothing more need happen: nobody gives up"
    assert replay(trace).lasso == trace.lasso
