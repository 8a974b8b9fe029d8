"""What a reduced search rests on in texts of somebody's own: at which end of a connection a message is received follows
from where it is sent, not from what it says of itself; and a witness that errs is part of the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce.ample import AmpleExplorer, Narrowing, conclusive
from checker.explore.reduce.reducible import why_not_narrowed
from checker.explore.result import Exploration, Limits
from invariants import Property, properties_of
from tests.sources import BOUNDED, FOLLOWS_ITSELF, LEADS_OR_FOLLOWS, LOOK, ROLES, never
from traces.record.simulated import simulated_trace
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import Run

TEXT = (
    '''"""A follower learns of a loss after another was heard."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, AnyMessage, Each, Fields, MessageType, Node, OneOf, connect, declare, disconnect,
    ghost, observation, receives, safety, send_to_follower, send_to_leader, volatile,
)

LOOKING, FOLLOWING, LEADING = range(3)
{names}


class HELLO(MessageType{end}): ...


'''
    + ROLES
    + """    gave_up: bool = ghost("somebody has given up")
    heard_since: bool = ghost("a leader has heard somebody since")
    late: Each[Node, bool] = ghost("it has learned of a loss after that")


"""
    + FOLLOWS_ITSELF
    + """

@observation
def learned(s: State, f: Node) -> None:
    if s.heard_since:
        s.late[f] = True


@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    heard(s, l)


def on_leader_lost(s: State, f: Node) -> None:
    learned(s, f)
    look(s, f)


def on_timeout(s: State, p: Node) -> None:
    give_up(s, p)
    look(s, p)


"""
    + LOOK
    + '''
{more}

def any_state(s: State) -> bool:
    """Any state."""
    return True


'''
    + never("nobody_is_late", "s.late[p]", "Nobody learns of a loss after a leader has heard somebody.", "any_state")
    + BOUNDED
)
BUDGETS = {"nodes": 3, "txns": 1, "timeouts": 1, "crashes": 0, "losses": 0}
NO_LIMITS = Limits(None, None, None, None)


def model_of(folder: Path, end: str, names: str = "", more: str = "") -> Model:
    path = folder / "ends.py"
    path.write_text(TEXT.format(end=end, names=names, more=more))
    return Model(Configuration(str(path), **BUDGETS))  # type: ignore[arg-type]


Reduced = Callable[[Model, list[Property], bool], Explorer]


def with_ample(model: Model, judged: list[Property], symmetry: bool) -> Explorer:
    return AmpleExplorer(Narrowing(model, judged, symmetry), 1)


def searched(model: Model, name: str, *reduced: Reduced, symmetry: bool = True) -> list[Exploration]:
    """What a full search of one property comes to, and then each reduced one."""
    judged = [p for p in properties_of(model.configuration.protocol) if p.name == name]
    code = Compiled.of(model, judged, symmetry)[0]
    found = [Explorer(code, 1).run(NO_LIMITS, True)]
    return found + [way(model, judged, code.symmetry).run(NO_LIMITS, True) for way in reduced]


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("end", ["", ', to="follower"'])
def test_a_reduced_search_breaks_what_a_full_one_does(end: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, end)
    assert why_not_narrowed(model) == ""
    full, ample = searched(model, "nobody-is-late", with_ample)
    assert [*full.violations] == [*ample.violations] == ["nobody-is-late"]
    assert not conclusive(ample)


PASSED_ON = """
def receive_as_follower(s: State, f: Node, m: AnyMessage) -> None:
    if m.kind == HELLO:
        {passed}
"""


@pytest.mark.parametrize(
    ("passed", "ends"),
    [("send_to_leader(s, f, HELLO())", "leader"), ("send_to_leader(s, f, m)", "leader"),
     ("send_to_follower(s, f, f, m)", ""), ("send_to_follower(s, f, f, HELLO())", "")],
)  # fmt: skip
def test_where_a_message_is_sent_is_followed_as_far_as_it_is_passed_on(passed: str, ends: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, ', to="follower"', more=PASSED_ON.format(passed=passed))
    assert [m.to for m in model.union.messages] == [ends]


def test_what_released_protocols_say_of_their_messages_is_so() -> None:
    from zabspec.authoring.reading import check_released
    from zabspec.protocols.registry import NAMES

    for name in ("zab", "ladis"):
        model = Model(Configuration(name))
        said = {m.name: m.to for m in model.union.messages}
        found = check_released(NAMES[name]).sent_to
        assert "" not in found
        assert {kind: {"a leader": "leader", "a follower": "follower"}[end] for kind, (end,) in found.items()} == said
        assert PROTOCOLS[name].text.sent_to == {}


ERRS = (
    '''"""A witness that errs in a state that a reduced search would leave out."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, Range, connect, declare, disconnect, ghost, observation, receives,
    safety, send_to_leader, stored, volatile,
)

LOOKING, FOLLOWING, LEADING = range(3)


'''
    + ROLES
    + """    gone: Each[Node, bool] = stored("it has given up")
    gave_up: bool = ghost("somebody has given up")
    times: Annotated[int, Range(0, 9)] = ghost("how often")
    heard_since: bool = ghost("a leader has heard somebody since")


class HELLO(MessageType): ...


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    return not s.gone[l]


"""
    + FOLLOWS_ITSELF
    + """        s.times = min(s.times + 1, 9)


@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    heard(s, l)


def on_leader_lost(s: State, f: Node) -> None:
    look(s, f)


def on_timeout(s: State, p: Node) -> None:
    if s.role[p] == LEADING:
        give_up(s, p)
    s.gone[p] = True
    look(s, p)


"""
    + LOOK
    + '''

def tested(s: State) -> bool:
    """It errs."""
    left = 1
    if s.heard_since:
        for p in range(s.NODES):
            if s.role[p] == FOLLOWING and s.leader[p] != NOBODY:
                if s.gone[s.leader[p]]:
                    left = 0
    return 6 // left > 3 and s.times > 1


@safety(witness=tested)
def heard_after(s: State) -> bool:
    """Heard since, since somebody gave up."""
    return s.gave_up or not s.heard_since


'''
    + BOUNDED
)


@pytest.mark.slow(seconds=5)
def test_a_reduced_search_leaves_out_no_state_in_which_a_witness_errs(tmp_path: Path) -> None:
    path = tmp_path / "errs.py"
    path.write_text(ERRS)
    model = Model(Configuration(str(path), **BUDGETS))  # type: ignore[arg-type]
    full, ample = searched(model, "heard-after", with_ample)
    assert [*full.violations] == [*ample.violations] == ["no-runtime-error"]
    assert not conclusive(ample)


ONE_LEADER = (
    '''"""A leader sends to one follower in two steps that have nothing else in common."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, abcast, connect, declare, disconnect, ghost,
    observation, receives, safety, send_to_follower, send_to_leader, stored, volatile,
)

LOOKING, FOLLOWING, LEADING = range(3)


'''
    + ROLES
    + """    welcome: Each[Node, bool] = stored("it was welcomed")
    early: Each[Node, bool] = ghost("it had news before that")


class HELLO(MessageType): ...


class WELCOME(MessageType): ...


class NEWS(MessageType): ...


"""
    + LEADS_OR_FOLLOWS
    + """@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    send_to_follower(s, l, f, WELCOME())


def may_abcast(s: State, p: Node) -> bool:
    return s.role[p] == LEADING


def on_abcast(s: State, p: Node) -> None:
    abcast(s, p, 1, 1)
    for f in range(s.NODES):
        if f != p:
            send_to_follower(s, p, f, NEWS())


@receives
def on_welcome(s: State, f: Node, m: WELCOME) -> None:
    s.welcome[f] = True


@observation
def has_news(s: State, f: Node, welcome: bool) -> None:
    if not welcome:
        s.early[f] = True


@receives
def on_news(s: State, f: Node, m: NEWS) -> None:
    has_news(s, f, s.welcome[f])


def on_leader_lost(s: State, f: Node) -> None:
    look(s, f)


def on_timeout(s: State, p: Node) -> None:
    look(s, p)


"""
    + LOOK
    + '''

def any_state(s: State) -> bool:
    """Any state."""
    return True


@safety(witness=any_state)
def nobody_is_early(s: State) -> bool:
    """Nobody has news before it is welcomed (it is violated)."""
    for p in range(s.NODES):
        if s.early[p]:
            return False
    return True


'''
    + BOUNDED
)


@pytest.mark.slow(seconds=5)
def test_what_a_leader_sends_in_two_steps_has_an_order(tmp_path: Path) -> None:
    """To one follower; what two leaders send it has none, since it has an open connection to one of them."""
    path = tmp_path / "one_leader.py"
    path.write_text(ONE_LEADER)
    model = Model(Configuration(str(path), nodes=2, txns=1, timeouts=0, crashes=0, losses=0))
    assert why_not_narrowed(model) == ""
    full, ample = searched(model, "nobody-is-early", with_ample, symmetry=False)
    assert [*full.violations] == [*ample.violations] == ["nobody-is-early"]


ORACLE_SEES = (
    '''"""An oracle that looks at who has abcast."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, History, Node, OneOf, abcast, declare, disconnect, establish, stored, volatile
)

LOOKING, FOLLOWING, LEADING = range(3)


'''
    + ROLES
    + """    left: Each[Node, bool] = stored("it has led, and left")
    history: Each[Node, History] = stored("what it has")


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    return not s.left[l] or s.abcast_by[0] == l


def on_oracle(s: State, p: Node, l: Node) -> None:
    s.role[p] = LEADING
    establish(s, 1, s.history[p])


def may_abcast(s: State, p: Node) -> bool:
    return s.role[p] == LEADING


def on_abcast(s: State, p: Node) -> None:
    abcast(s, p, 1, 1)


def on_timeout(s: State, p: Node) -> None:
    disconnect(s, p)
    s.left[p] = True
    s.role[p] = LOOKING


"""
    + BOUNDED
)


@pytest.mark.slow(seconds=3)
def test_no_ghost_is_dropped_that_an_oracle_looks_at(tmp_path: Path) -> None:
    """Whom it names next follows from who has abcast."""
    path = tmp_path / "sees.py"
    path.write_text(ORACLE_SEES)
    model = Model(Configuration(str(path), nodes=1, txns=1, timeouts=1, crashes=0, losses=0))
    assert why_not_narrowed(model) == ""
    full, ample = searched(model, "one-leader-an-epoch", with_ample, symmetry=False)
    assert [*full.violations] == [*ample.violations] == ["one-leader-an-epoch"]


@pytest.mark.slow(seconds=3)
def test_who_does_not_lead_abcasts_in_no_simulated_run(tmp_path: Path) -> None:
    """As in no explored one, whatever the protocol says of it; each step of such a run is one of the explorer's."""
    path = tmp_path / "one_leader.py"
    path.write_text(ONE_LEADER.replace("    return s.role[p] == LEADING\n", "    return True\n"))
    trace = simulated_trace(Run(1, 2, 24, proposals=7, protocol=str(path)))
    roles = [step.word.kind for step in trace.steps]
    assert "abcast" in roles
    assert roles.index("oracle") < roles.index("abcast")
