"""Section III.B of DSN'11: Figures 3 and 4 are runs that a search finds; the two primitives do not compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.ci.shipped import FOLDER
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from invariants import Property, properties_of
from tests.copies import copy_of
from traces import build_trace, read_trace, verify, why, write_trace
from traces.judging.simulated import judged_properties, why_not_judged
from traces.record.runner import Runner
from traces.replay.replay import replay
from zabspec.model import Configuration, Model

TOP = Path(__file__).parents[2]
CAUSAL_BROADCAST = str(TOP / "examples" / "causal_broadcast.py")
PO, STRICT, CAUSAL = ORDERS = ("po-causal-order", "strict-causality", "dsn-causal-order")

# The caption of Figure 3: epoch(z) < epoch(z') < epoch(z''). Its text: <v, z> and <v'', z''> are causally related, and
# <v, z> is not delivered; the events are those of two processes.
FIGURE_3 = '''
from zabcheck.language import safety

def of_figure_3(h: State, i: int, j: int, k: int) -> bool:
    """Of three broadcasts the first and the last are of one process, that between of another, in later epochs."""
    if not (i < j and j < k and k < h.abcasts):
        return False
    if h.abcast_by[i] != h.abcast_by[k] or h.abcast_by[i] == h.abcast_by[j]:
        return False
    return h.abcast_txn[i].epoch < h.abcast_txn[j].epoch and h.abcast_txn[j].epoch < h.abcast_txn[k].epoch

def delivers(h: State, p: Node, i: int) -> bool:
    for n in range(len(h.delivered[p])):
        if h.delivered[p][n] == h.abcast_txn[i]:
            return True
    return False

def a_delivery(h: State) -> bool:
    """A process delivers a transaction."""
    for p in range(h.NODES):
        if len(h.delivered[p]) > 0:
            return True
    return False

@safety(witness=a_delivery, over="history")
def figure_3(h: State) -> bool:
    """No run is that of Figure 3."""
    for i in range(h.TXNS):
        for j in range(h.TXNS):
            for k in range(h.TXNS):
                p = h.abcast_by[i]
                q = h.abcast_by[j]
                if of_figure_3(h, i, j, k) and not delivers(h, p, i) and not delivers(h, q, i):
                    if delivers(h, p, j) and delivers(h, p, k) and delivers(h, q, j) and delivers(h, q, k):
                        return False
    return True
'''


def named(protocol: str, *names: str) -> tuple[Property, ...]:
    return tuple(p for name in names for p in properties_of(protocol) if p.name == name)


def explored(configuration: Configuration, *names: str, keep_going: bool = False) -> Exploration:
    code, _ = Compiled.of(Model(configuration), named(configuration.protocol, *names), True)
    return Explorer(code, 1).run(Limits(), keep_going)


def first_broken(configuration: Configuration, schedule: tuple[int, ...]) -> dict[str, int]:
    """After which step of a run each of the orders is first broken."""
    runner, out = Runner(Model(configuration)), {}
    for number, word in enumerate(schedule, 1):
        runner.step(word)
        out |= {p.name: number for p in named("zab", *ORDERS) if p.name not in out and not runner.keeps(p)}
    return out


@pytest.mark.slow(seconds=2)
def test_the_shortest_run_of_zab_that_breaks_causal_order() -> None:
    """Two epochs are enough: it leads twice, and what it lost in the first is never delivered."""
    asked = Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
    found = explored(asked, CAUSAL).violations
    assert found[CAUSAL].depth == 35
    assert first_broken(asked, found[CAUSAL].schedule) == {CAUSAL: 35}
    trace = build_trace(Model(asked), named("zab", CAUSAL)[0], found[CAUSAL].schedule)
    verify(trace)
    assert len(replay(trace).steps) == 35
    assert "broadcast it earlier" in why(trace)


@pytest.mark.slow(seconds=3)
def test_figure_3_is_a_run_of_zab_and_keeps_po_causal_order(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The shortest run with its three epochs, found by a search for it; its last delivery but one breaks III.1."""
    sizes = {"nodes": 2, "txns": 3, "timeouts": 2, "crashes": 0, "losses": 0}
    found = explored(Configuration(copy_of("zab", tmp_path, FIGURE_3), **sizes), "figure-3")  # type: ignore[arg-type]
    run = found.violations["figure-3"]
    assert run.depth == 54
    asked = Configuration("zab", **sizes)  # type: ignore[arg-type]
    assert first_broken(asked, run.schedule) == {CAUSAL: 53}
    trace = build_trace(Model(asked), None, run.schedule)
    sent = [step.abcast for step in trace.steps if step.abcast is not None]
    assert [t["epoch"] for t in sent] == [1, 2, 3]
    delivered = {p: [d.txn["value"] for s in trace.steps for d in s.delivered if d.process == p] for p in (0, 1)}
    assert delivered == {0: [2, 3], 1: [2, 3]}
    assert len(replay(trace).steps) == 54
    path = FOLDER / "dsn11-figure-3.trace.json"
    if request.config.getoption("--rewrite"):
        write_trace(trace, path)
    assert read_trace(path) == trace, "the gallery has it"


@pytest.mark.slow(seconds=1)
def test_zab_keeps_what_figure_4_breaks() -> None:
    """PO causal order and strict causality hold to exhaustion, where causal order breaks."""
    asked = Configuration(nodes=2, txns=2, timeouts=1, crashes=0, losses=0)
    found = explored(asked, *ORDERS, keep_going=True)
    assert found.complete
    assert set(found.witnessed) == set(ORDERS)
    assert {name: v.depth for name, v in found.violations.items()} == {CAUSAL: 36}


@pytest.mark.slow(seconds=1)
def test_a_causal_broadcast_is_causal_and_breaks_strict_causality() -> None:
    """Figure 4: two transactions that do not depend on each other, and both are delivered."""
    asked = Configuration(CAUSAL_BROADCAST, nodes=3, txns=3)
    found = explored(asked, *ORDERS, keep_going=True)
    assert found.complete
    assert sum(found.levels) == 5131
    assert set(found.witnessed) == set(ORDERS)
    assert {name: v.depth for name, v in found.violations.items()} == {STRICT: 3}
    trace = build_trace(Model(asked), named(CAUSAL_BROADCAST, STRICT)[0], found.violations[STRICT].schedule)
    assert len(replay(trace).steps) == 3


def test_a_property_that_is_judged_where_it_is_named_is_no_default() -> None:
    """Nor does it need a ghost of its own: the states are those of PO causal order."""
    asked = Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
    both = [explored(asked, *names, keep_going=True) for names in ((PO,), (PO, CAUSAL))]
    assert both[0].levels == both[1].levels
    assert not named("zab", CAUSAL)[0].default
    assert CAUSAL not in {p.name for p in judged_properties("db19")}
    assert f"`zabcheck judge --property {CAUSAL}`" in why_not_judged("db19", CAUSAL)
