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
from traces import Runner, build_trace
from traces.replay.replay import replay
from zabspec.model import ConfigError, Configuration, Model
from zabspec.proofs.symbolic_memory import values_of
from zabspec.simulator.run import Run, play
from zabspec.worlds.steps import KINDS


def explored(log: str, **more: object) -> tuple[Exploration, Configuration]:
    """To exhaustion; that machine code does so too is held by random runs, below and over connections."""
    c = Configuration(log, **more)  # type: ignore[arg-type]
    found = Interpreter(Model(c), properties_of(log), False).run(Limits(), True)
    assert found.complete
    assert not found.error
    return found, c


def test_power_loss_needs_a_disk(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="power-losses is not for db19, which has nothing on a disk"):
        Configuration("db19", power_losses=1)
    with pytest.raises(ConfigError, match="outages is not for db19, which has nothing on a disk"):
        Configuration("db19", outages=1)


SPENDS = '''"""A process that dies of its own accord, or is killed while it does."""

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    tries: Each[Node, Annotated[int, Range(0, 3)]] = on_disk("how often it tried")


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

Heard = Annotated[int, Range(0, 3)]


class COPY(MessageType):
    value: Annotated[int, Range(0, 3)]


class State(Fields):
    log: Each[Node, Annotated[SeqOf[Annotated[int, Range(0, 3)]], AtMost(3)]] = on_disk("the records")
    seen: Each[Node, Each[Annotated[int, Range(0, 1)], set[Node]]] = on_disk("whose records")
    last: Each[Node, Node] = on_disk("whose was the last")
    heard: Each[Node, Heard] = volatile("copies since it started")
    mark: Each[Node, Heard] = stored("forced as it is written")
    shown: Each[Node, Annotated[int, Range(0, 15)]] = ghost("how often it was shown")


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
        s.log[p].pop(0)
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


WRITES = [  # statements of a handler after which it has nothing for a moment, each of which a power loss may follow
    "s.log[p].clear()",
    "s.log[p].pop()",
    "s.log[p].pop(0)",
    "x = s.log[p].pop(0)",
    "x: int = s.log[p].pop(0)",
    "x, y = s.log[p].pop(0), 1",
    "s.log[p] = s.log[p][1:]",
    "s.log[p] = []",
    "cut(s, p)",
    "x, y = cut(s, p), 1",
    "x = 1 if cut(s, p) == 1 else 0",
    "if cut(s, p) == 1:\n        s.done[p] = False",
    "s.empty[p], s.done[p] = True, False\n    s.empty[p], s.done[p] = False, False",
]
WRITING = '''"""A log that has nothing for a moment."""

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    log: Each[Node, Annotated[SeqOf[Annotated[int, Range(0, 2)]], AtMost(2)]] = on_disk("what it has")
    empty: Each[Node, bool] = on_disk("what it has does not count")
    had: Each[Node, bool] = on_disk("it had something")
    done: Each[Node, bool] = on_disk("it has something new")


@action(when=lambda s, p: not s.had[p])
def begin(s: State, p: Node) -> None:
    s.log[p] = [1]
    s.had[p] = True
    force(s, p)


def cut(s: State, p: Node) -> int:
    s.log[p].clear()
    return 1


@action(when=lambda s, p: s.had[p] and len(s.log[p]) == 1 and not s.done[p])
def move(s: State, p: Node) -> None:
    STATEMENT
    s.log[p] = [2]
    s.empty[p] = False
    s.done[p] = True


@safety
def has_something(s: State) -> bool:
    """A log that had something has something."""
    return all((len(s.log[p]) > 0 and not s.empty[p]) or not s.had[p] for p in range(s.NODES))


PROTOCOL = declare(__name__, budgets={"crashes": 0, "power_losses": 1}, unforced=8, nodes=1)
'''


@pytest.mark.parametrize("statement", WRITES)
def test_power_may_be_lost_behind_every_statement_that_writes(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "writing.py"
    path.write_text(WRITING.replace("STATEMENT", statement), encoding="utf-8")
    assert [(name, v.depth) for name, v in explored(str(path), power_losses=1)[0].violations.items()] == [
        ("has-something", 2)
    ]


def test_what_is_never_empty_is_not_found_empty(tmp_path: Path) -> None:
    path = tmp_path / "writing.py"
    path.write_text(WRITING.replace("STATEMENT", "pass").replace("[2]", "[*s.log[p], 2]"), encoding="utf-8")
    assert not explored(str(path), power_losses=1)[0].violations
