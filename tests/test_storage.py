"""Disks: crashes keep what is written, power loss what is forced and any prefix of the rest, and processes fail inside
steps. The protocol is a write-ahead log that acknowledges records."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.compiled import Compiled
from checker.explore import Explorer
from checker.interpret import Interpreter
from checker.result import Exploration, Limits
from invariants import properties_of
from traces import build_trace, to_text, verify
from zabspec.model import ConfigError, Configuration, Model

LOG = '''"""A log of records, which is acknowledged before it is forced."""

from zabcheck.language import *


def state(size):
    return [
        on_disk("log", Seq(Int(0, 3), size.puts), "the records"),
        on_disk("length", Int(0, size.puts), "how many of them are whole"),
        ghost("acknowledged", Int(0, size.puts), "how many records were", NODE),
    ]


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
    state=state,
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
    """To exhaustion, in both engines, which agree."""
    c = Configuration(log, **more)  # type: ignore[arg-type]
    code = Compiled.of(Model(c), properties_of(log), False)[0]
    fast = Explorer(code, 1).run(Limits(), True)
    slow = Interpreter(Model(c), properties_of(log), False).run(Limits(), True)
    assert (fast.levels, fast.generated, fast.event_counts) == (slow.levels, slow.generated, slow.event_counts)
    assert fast.complete
    assert not fast.error
    assert {n: v.depth for n, v in fast.violations.items()} == {n: v.depth for n, v in slow.violations.items()}
    return fast, c


def test_what_is_acknowledged_before_it_is_forced_is_lost_with_power_and_not_in_a_crash(log: str) -> None:
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
    trace = build_trace(Model(c), broken.property, broken.words)
    verify(trace)
    assert "power loss inside a step (put)" in to_text(trace)


def test_power_loss_needs_a_disk(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="power-losses is not for db19, which has nothing on a disk"):
        Configuration("db19", power_losses=1)
    with pytest.raises(ConfigError, match="power-losses is not for zab"):
        Configuration(power_losses=1)
