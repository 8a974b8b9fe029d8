"""Disks: crashes keep what is written, power loss what is forced and any prefix of the rest, and processes fail inside
steps. The protocol is a write-ahead log that acknowledges records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.proofs.symbolic.transition import Transition
from invariants import properties_of
from invariants.binding import full_namespace
from tests.models import compiled
from tests.worlds.random_runs import random_run
from traces import Runner, build_trace, to_text, verify
from traces.replay.replay import replay
from zabspec.model import ConfigError, Configuration, Model
from zabspec.proofs.symbolic_memory import values_of
from zabspec.simulator.run import Run, play
from zabspec.worlds.steps import KINDS

LOG = '''"""A log of records, which is acknowledged before it is forced."""

from typing import Annotated

from zabcheck.language import *

Log = Annotated[SeqOf[Annotated[int, Int(0, 3)]], AtMost(lambda size: size.puts)]
Length = Annotated[int, Range(0, lambda size: size.puts)]


class State(Fields):
    log: Each[Node, Log] = on_disk("the records")
    length: Each[Node, Length] = on_disk("how many of them are whole")
    acknowledged: Each[Node, Length] = ghost("how many records were")


def room(s: State, p: Node) -> bool:
    return s.length[p] < s.PUTS


@action(when=room, budget="puts")
def put(s: State, p: Node) -> None:
    append(s, p)
    acknowledge(s, p)
    force(s, p)


def append(s: State, p: Node) -> None:
    while_torn(s, p)
    s.log[p].append(3)
    s.length[p] = s.length[p] + 1


def while_torn(s: State, p: Node) -> None:
    if len(s.log[p]) > s.length[p]:
        s.log[p].remove(s.length[p])


def forced_first(s: State, p: Node) -> None:
    append(s, p)
    force(s, p)
    acknowledge(s, p)


def length_first(s: State, p: Node) -> None:
    while_torn(s, p)
    s.length[p] = s.length[p] + 1
    s.log[p].append(3)


@observation
def acknowledge(s: State, p: Node) -> None:
    s.acknowledged[p] = s.acknowledged[p] + 1


def some(s: State) -> bool:
    """A record was acknowledged."""
    return s.acknowledged[0] > 0


@safety(witness=some)
def acknowledged_is_kept(s: State) -> bool:
    """What was acknowledged is in the log."""
    for p in range(s.NODES):
        if s.acknowledged[p] > s.length[p]:
            return broken(f"p{p} acknowledged {s.acknowledged[p]} records and has {s.length[p]}")
    return True


@safety(witness=some)
def whole(s: State) -> bool:
    """There are as many records as the log says."""
    for p in range(s.NODES):
        if s.length[p] > len(s.log[p]):
            return broken(f"p{p} says {s.length[p]} records and has {len(s.log[p])}")
    return True


PROTOCOL = declare(
    __name__,
    budgets={"puts": 2, "crashes": 0, "power_losses": 0},
    nodes=1,
    variants=[
        Variant("force-first", "forced before it is acknowledged", {"put": forced_first}),
        Variant("length-first", "the length is written before the record", {"append": length_first}),
    ],
)
'''


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.py"
    path.write_text(LOG, encoding="utf-8")
    return str(path)


def explored(log: str, **more: object) -> tuple[Exploration, Configuration]:
    """To exhaustion; that machine code does so too is held by random runs, below and over connections."""
    c = Configuration(log, **more)  # type: ignore[arg-type]
    found = Interpreter(Model(c), properties_of(log), False).run(Limits(), True)
    assert found.complete
    assert not found.error
    return found, c


@pytest.mark.slow(seconds=1)
def test_an_unforced_acknowledged_write_is_lost_with_power_only(log: str) -> None:
    assert not explored(log, crashes=2)[0].violations
    lost = explored(log, power_losses=1)[0]
    assert set(lost.violations) == {"acknowledged-is-kept"}
    assert not explored(log, variant="force-first", crashes=1, power_losses=2)[0].violations


def test_a_process_fails_between_two_writes_of_a_step(log: str) -> None:
    """In a crash too; and a prefix is one in the order of the writes: the record is there before it is counted."""
    found = explored(log, variant="length-first", crashes=1)[0]
    assert set(found.violations) == {"whole"}
    assert found.violations["whole"].depth == 1


def test_a_counterexample_says_where_the_step_broke_off(log: str) -> None:
    found, c = explored(log, power_losses=1)
    (broken,) = found.violations.values()
    trace = build_trace(Model(c), broken.property, broken.schedule)
    verify(trace)
    assert replay(trace).steps == trace.steps
    assert "power loss inside a step (put)" in to_text(trace)


MARKED = '''"""What is marked is whole, whichever field lasts by itself."""

from zabcheck.language import *


class State(Fields):
    record: Each[Node, bool] = on_disk("it is there")
    mark: Each[Node, bool] = stored("it is whole")


def not_yet(s: State, p: Node) -> bool:
    return not s.mark[p]


@action(when=not_yet)
def put(s: State, p: Node) -> None:
    s.record[p] = True
    force(s, p)
    s.mark[p] = True


def mark_first(s: State, p: Node) -> None:
    s.mark[p] = True
    s.record[p] = True
    force(s, p)


def some(s: State) -> bool:
    """It is marked."""
    return s.mark[0]


@safety(witness=some)
def whole(s: State) -> bool:
    """What is marked is there."""
    return s.record[0] or not s.mark[0]


PROTOCOL = declare(
    __name__, budgets={"crashes": 1}, nodes=1,
    variants=[Variant("mark-first", "the mark is written first", {"put": mark_first})],
)
'''


def test_a_step_that_breaks_off_does_so_for_fields_forced_on_writing(tmp_path: Path) -> None:
    path = tmp_path / "marked.py"
    path.write_text(MARKED, encoding="utf-8")
    assert not explored(str(path), crashes=2, power_losses=1)[0].violations
    assert explored(str(path), variant="mark-first")[0].violations["whole"].depth == 1


def test_power_loss_needs_a_disk(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="power-losses is not for db19, which has nothing on a disk"):
        Configuration("db19", power_losses=1)
    with pytest.raises(ConfigError, match="outages is not for db19, which has nothing on a disk"):
        Configuration("db19", outages=1)


SPENDS = '''"""A process that dies of its own accord, or is killed while it does."""

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    tries: Each[Node, Annotated[int, Int(0, 3)]] = on_disk("how often it tried")


def few(s: State, p: Node) -> bool:
    return s.tries[p] < 3


@action(when=few, budget="BUDGET")
def die(s: State, p: Node) -> None:
    s.tries[p] = s.tries[p] + 1


PROTOCOL = declare(
    __name__, budgets={"crashes": 0, "power_losses": 0}, nodes=1
)
'''


@pytest.mark.parametrize(("budget", "kind"), [("crashes", "crash_inside"), ("power_losses", "power_loss_inside")])
def test_an_action_that_spends_a_failure_breaks_off_if_one_is_left(budget: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "spends.py"
    path.write_text(SPENDS.replace("BUDGET", budget), encoding="utf-8")
    for amount in (1, 2):
        c = Configuration(str(path), **{budget: amount})  # type: ignore[arg-type]
        runner = Runner(Model(c))
        kinds = [word >> 24 for word in runner.possible()]
        assert KINDS["action"].number in kinds
        assert kinds.count(KINDS[kind].number) == amount - 1
        explored(str(path), **{budget: amount})
        transition = Transition(Model(c), full_namespace(Model(c)))
        transition.emitted, initial = [], values_of(transition.layout, runner.state.key())
        transition.machine.on_states("enabled", [initial], [[]])
        assert [kind for true, kind, *_ in transition.emitted if true is True] == kinds
        if amount == 2:
            inside = next(word for word in runner.possible() if word >> 24 == KINDS[kind].number)
            assert runner.step(inside).state[f"{budget}_left"] == 0


def test_where_nothing_is_on_a_disk_no_step_spends_a_power_loss(tmp_path: Path) -> None:
    """The state has no such budget then, whatever the protocol declares."""
    path = tmp_path / "spends.py"
    text = SPENDS.replace("BUDGET", "power_losses").replace("on_disk", "stored")
    path.write_text(text.replace('"power_losses": 0', '"power_losses": 1'), encoding="utf-8")
    assert Runner(Model(Configuration(str(path)))).possible() == []
    assert list(play(Run(1, 1, 40, protocol=str(path))).state.tries) == [0]


COPIED = '''"""A record at one process, copied to the other, which forces it or not."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import *

Heard = Annotated[int, Int(0, 3)]


class COPY(MessageType):
    value: Annotated[int, Int(0, 3)]


class State(Fields):
    log: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 3)]], AtMost(3)]] = on_disk("the records")
    seen: Each[Node, Each[Annotated[int, Range(0, 1)], set[Node]]] = on_disk("whose records")
    last: Each[Node, Node] = on_disk("whose was the last")
    heard: Each[Node, Heard] = volatile("copies since it started")
    mark: Each[Node, Heard] = stored("forced as it is written")
    shown: Each[Node, Annotated[int, Int(0, 15)]] = ghost("how often it was shown")


@action(budget="puts")
def put(s: State, p: Node) -> None:
    take(s, p, p, 1)
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, COPY(value=2))
    show(s, p)
    s.mark[p] = min(s.mark[p] + 1, 3)
    force(s, p)


def take(s: State, p: Node, source: Node, value: int) -> None:
    if len(s.log[p]) == 3:
        s.log[p].remove(0)
    s.log[p].append(value)
    s.seen[p][value % 2].add(source)
    s.last[p] = source


@receives
def on_copy(s: State, p: Node, source: Node, m: COPY) -> None:
    s.heard[p] = min(s.heard[p] + 1, 3)
    take(s, p, source, m.value)
    if choose(s, 2) == 1:
        force(s, p)
        show(s, p)


@observation
def show(s: State, p: Node) -> None:
    s.shown[p] = min(s.shown[p] + 1, 15)


def some(s: State) -> bool:
    """It was shown."""
    return s.shown[0] > 0


@safety(witness=some)
def never_thrice(s: State) -> bool:
    """No process has three records."""
    return len(s.log[0]) < 3 and len(s.log[1]) < 3


PROTOCOL = declare(
    __name__, budgets={"puts": 2, "crashes": 1}, nodes=2, unforced=12,
)
'''


@pytest.mark.parametrize("network", ["datagrams", "fifo"])
@pytest.mark.slow(seconds=2)
def test_random_runs_with_disks_are_alike_in_both_worlds_and_replayed(tmp_path: Path, network: str) -> None:
    path = tmp_path / "copied.py"
    path.write_text(COPIED, encoding="utf-8")
    c = Configuration(str(path), crashes=2, power_losses=2, network=network)
    code = compiled(c, False, properties_of(str(path)))
    seen: set[str] = set()

    def of_any_kind(chance: random.Random, words: Sequence[int]) -> int:
        kind = chance.choice(sorted({word >> 24 & 255 for word in words}))
        return chance.choice([word for word in words if word >> 24 & 255 == kind])

    for seed in range(6):
        run = random_run(code, seed, of_any_kind, lambda taken: taken % 3 == 0)
        seen |= {step.word.kind for step in run.steps}
    assert seen >= {"action", "receive", "power_loss", "crash_inside", "power_loss_inside", "recover"}


REMEMBERED = '''"""What a crash makes of memory is made of what was there when the process failed."""

from zabcheck.language import *


class State(Fields):
    record: Each[Node, bool] = on_disk("it is there")
    noticed: Each[Node, bool] = volatile("it has been seen there")
    done: Each[Node, bool] = stored("it is dealt with")
    torn: Each[Node, bool] = stored("it crashed between the two")


def not_yet(s: State, p: Node) -> bool:
    return not s.done[p]


@action(when=not_yet)
def put(s: State, p: Node) -> None:
    s.record[p] = True
    s.noticed[p] = True
    s.done[p] = True


def on_crash(s: State, p: Node) -> None:
    if s.noticed[p] and not s.done[p]:
        s.torn[p] = True
    forget(s, p)


def some(s: State) -> bool:
    """It is there, and not dealt with."""
    return s.record[0] and not s.done[0]


@safety(witness=some)
def never_torn(s: State) -> bool:
    """Between the two nothing lasts, so that no crash falls there."""
    return not s.torn[0]


PROTOCOL = declare(__name__, budgets={"crashes": 2, "power_losses": 1}, nodes=1)
'''


def test_a_crash_inside_a_step_finds_memory_as_it_was_there(tmp_path: Path) -> None:
    path = tmp_path / "remembered.py"
    path.write_text(REMEMBERED, encoding="utf-8")
    found = explored(str(path))[0]
    assert not found.violations
    assert "never-torn" in found.witnessed


@pytest.mark.parametrize("kind", ["crash_inside", "power_loss_inside"])
def test_the_receipt_of_a_copy_breaks_off_too(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "copied.py"
    path.write_text(COPIED, encoding="utf-8")
    model = Model(Configuration(str(path), crashes=1, power_losses=1, duplicates=1))
    runner = Runner(model)
    put = next(word for word in runner.possible() if word >> 24 == KINDS["action"].number)
    runner.step(put)
    inside = [w for w in runner.possible() if (w >> 24, w >> 8 & 255) == (KINDS[kind].number, KINDS["repeat"].number)]
    assert len(inside) == 1
    for choice in range(3):
        trace = build_trace(model, None, [put, inside[0] | choice << 32])
        assert replay(trace).steps == trace.steps
        last = trace.steps[-1]
        assert last.state["duplicates_left"] == 0
        assert len(last.state["in_flight"]) == 1, "the copy was received, and the message is still on its way"
        assert last.label == f"{KINDS[kind].called} (receive a copy)"
