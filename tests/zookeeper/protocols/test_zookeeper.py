"""The protocol `zookeeper` (docs/explanation/zookeeper-bugs.md): its start, the engines, a row of the track record."""

from __future__ import annotations

from functools import cache

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.zookeeper.record import Exploring, RowOutcome, ask, configuration
from checker.zookeeper.rows import NOT_FOUND, ROWS, USUAL
from invariants import properties_of
from traces import Runner
from traces.record.trace import StepWord
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.of_releases import variant_of
from zabspec.zookeeper.variants.releases import RELEASES

ROW = next(r for r in ROWS if r.issue == "4685")
# Of a leader's sets, those that keep who was of the quorum: here p2 joins later.
OF_THE_QUORUM = frozenset({"heard", "agreed", "answered", "new_leader_acks", "peer_last"})


def test_the_established_start_is_reached_without_a_fault() -> None:
    """From nothing: p1 elects p0, p2 joins, one transaction goes through, one more is proposed."""
    runner = Runner(Model(Configuration("zookeeper", crashes=0, losses=0, budgets="elections=2,proposals=2")))
    state = runner.state

    def take(kind: str, process: int) -> bool:
        for word in runner.possible():
            parts = StepWord.of(word)
            if parts.kind == kind and parts.process in (process, None):
                runner.step(word)
                return True
        return False

    assert take("elect", 0)
    propose = PROTOCOLS["zookeeper"].actions.index("propose")

    def settle() -> None:
        while True:
            words = [w for w in runner.possible() if StepWord.of(w).kind not in ("elect", "action")]
            words += [w for w in runner.possible() if StepWord.of(w).kind == "action" and w & 255 != propose]
            if not words:
                return
            runner.step(words[0])

    settle()
    for _ in range(2):
        word = next(w for w in runner.possible() if StepWord.of(w).kind == "action" and w & 255 == propose)
        runner.step(word)
        if state.last_proposed[0] % 6 == 1:
            settle()
    start = Runner(Model(Configuration("zookeeper", crashes=0, losses=0, start="established"))).state
    for f in PROTOCOLS["zookeeper"].parts(Model(Configuration("zookeeper")).size(0)).fields:
        if f.name in OF_THE_QUORUM or f.name in ("founded", "acks", "queued_to"):
            continue
        for p in range(3 if "node" in f.axes else 1):
            a, b = getattr(state, f.name), getattr(start, f.name)
            assert str(a[p] if f.axes else a) == str(b[p] if f.axes else b), (f.name, p)
    assert [[str(m) for m in q] for q in state.to_follower] == [[str(m) for m in q] for q in start.to_follower]


@cache
def code() -> Compiled:
    c = configuration(ROW.release, ROW.others, USUAL | ROW.budget)
    made, reason = Compiled.of(Model(c), [p for p in properties_of("zookeeper") if p.name == ROW.breaks], True)
    assert not reason  # ties of elections are free: symmetry holds
    return made


@pytest.mark.slow(seconds=6)
def test_both_engines_count_the_same() -> None:
    limits = Limits(5, None, None, None)
    found = Explorer(code(), 1).run(limits, True)
    plain = Interpreter(code().model, code().properties, True).run(limits, True)
    assert (plain.levels, plain.raw_levels, plain.generated) == (found.levels, found.raw_levels, found.generated)


@pytest.mark.slow(seconds=10)
def test_a_row_is_found_and_its_fix_holds() -> None:
    """Its trace is replayed in the simulator on the way."""
    asked = ask(ROW, 60)
    assert asked.found
    assert asked.as_recorded
    assert asked.without.trace is not None


def test_every_row_is_whole() -> None:
    zookeeper = PROTOCOLS["zookeeper"]
    names = {p.name for p in properties_of("zookeeper")}
    for r in ROWS:
        assert r.breaks in names
        assert r.says.endswith(".")
        assert r.split
        release = ("" if r.release == "3.9.4" else r.release, r.settings)
        zookeeper.combined(",".join(filter(None, release)), ",".join((*r.others, *r.fix)))
        assert not set(r.fix) & set(r.others)
    assert not NOT_FOUND.keys() & {r.issue for r in ROWS}


def test_a_release_is_a_variant_by_its_number() -> None:
    assert [variant_of("zookeeper", r) for r in ("master", "3.8.6", "3.7.1", "3.6.2", "3.5.9", "3.5.10")] == [
        "",
        "3.9.2",
        "3.9.1",
        "3.6.0",
        "3.6.0",
        "3.5.10",
    ]
    assert {v for v in PROTOCOLS["zookeeper"].declared.releases if v} == {
        v.name for v in RELEASES if "before" not in v.name
    }


def outcome(depth: int = 0, complete: bool = True, trouble: str = "") -> Exploring:
    return Exploring(depth, 1, 0.0, complete, trouble, None)


@pytest.mark.parametrize(
    ("without", "repaired", "code"),
    [
        (outcome(ROW.merged, False), outcome(), 0),
        (outcome(ROW.merged + 1, False), outcome(), 1),
        (outcome(), outcome(), 1),
        (outcome(ROW.merged, False), outcome(20, False), 1),
        (outcome(ROW.merged, False), outcome(0, False, "--time-limit 1 s reached"), 3),
        (outcome(0, False, "the premise is not reached"), outcome(), 3),
    ],
)
def test_the_record_ends_as_its_rows_do(
    monkeypatch: pytest.MonkeyPatch, without: Exploring, repaired: Exploring, code: int
) -> None:
    monkeypatch.setattr(
        "checker.zookeeper.record.ask", lambda row, seconds, split, recorded: RowOutcome(row, without, repaired, split)
    )
    assert CliRunner().invoke(main, ["zookeeper", f"ZK-{ROW.issue}"]).exit_code == code
