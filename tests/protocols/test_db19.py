"""What the explorer finds in the lab's protocol, and what its repairs take away."""

from __future__ import annotations

from functools import cache

import pytest

from checker.ci.variants import shown
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from invariants import PROPERTIES, property_named
from traces import build_trace, verify, why
from traces.record.trace import Trace
from traces.replay.replay import replay
from zabspec.model import Configuration, Model
from zabspec.protocols.db19_variants import REPAIRS, VARIANTS

SHOWN = shown("db19")
JUDGED = tuple(p for p in PROPERTIES if p.default and p.judges("db19"))

NARROW = {"nodes": 3, "txns": 2, "timeouts": 1}
WIDE = {"nodes": 3, "txns": 2, "timeouts": 2, "network": "ordered"}


# With one campaign: each class and the length of its shortest trace.
CLASSES = {
    "delivered-is-chosen": 11,
    "unique-zxid": 11,
    "durability": 11,
    "total-order": 12,
    "local-primary-order": 12,
    "po-causal-order": 12,
    "prefix": 12,
    "delivered-stands": 12,
}


@cache
def explored(variant: str, depth: int, wide: bool = False, heartbeats: int = 0) -> Exploration:
    budget = {**(WIDE if wide else NARROW), "heartbeats": heartbeats}
    configuration = Configuration(protocol="db19", variant=variant, **budget)  # type: ignore[arg-type]
    code, _ = Compiled.of(Model(configuration), JUDGED, False)
    return Explorer(code, 1).run(Limits(depth=depth), True)


def shortest(r: Exploration) -> dict[str, int]:
    assert not r.stopped
    assert not r.error
    return {name: found.depth for name, found in r.violations.items()}


@pytest.mark.slow(seconds=1)
def test_one_campaign_is_enough_for_eight_classes() -> None:
    """A commit that passes over a hole; a zxid used twice by one leader; a transaction skipped because messages
    overtook each other; a delivered entry that vanishes, at who delivered it or at the others."""
    assert shortest(explored("", 12)) == CLASSES


@pytest.mark.slow
def test_a_second_campaign_makes_two_leaders_of_one_epoch() -> None:
    """With two timers, and no message that overtakes another: two leaders in one epoch."""
    found = shortest(explored("", 14, wide=True))
    assert {name: found[name] for name in found if found[name] > 12} == {"one-leader-an-epoch": 14}


@pytest.mark.parametrize("name", CLASSES)
def test_every_counterexample_replays_and_says_why(name: str) -> None:
    found = explored("", 12).violations[name]
    model = Model(Configuration(protocol="db19", **NARROW))  # type: ignore[arg-type]
    trace = build_trace(model, found.property, found.schedule)
    verify(trace)
    assert len(replay(trace).steps) == found.depth
    assert why(trace).endswith(".")


# --- classes that the step tells which breaks the property ----------------------------------------

# With 2 timers on the ordered network; `benchmarks/db19.py told` finds none shorter.
SHORTEST = {
    "stale NewLeader": (
        "durability", 302120960, 285278721, 302055424, 285212935, 285278214, 285212935, 285278216, 285212936,
        285278217, 100728832, 285212937, 285344003, 285278217, 285213193, 285343754, 285213193,
    ),
    "return behind": (
        "prefix", 302055424, 285212930, 285278210, 285344004, 285278722, 285212930, 301989888, 285278210, 100728832,
        285278210, 285212935, 100728832, 285212936, 285278217, 285212935,
    ),
    "winner with a hole": (
        "prefix", 302055424, 285212928, 285278211, 285212932, 285278212, 285212932, 285278213, 100728832, 100728832,
        285212935, 301989888, 285343755, 285213193, 285278218, 285212936, 285278216, 285212937,
    ),
}  # fmt: skip


def trace_of(name: str) -> Trace:
    """The shortest run of a class, which the simulator takes too, and which breaks its property by its last step."""
    broken, *words = SHORTEST[name]
    model = Model(Configuration(protocol="db19", **WIDE))  # type: ignore[arg-type]
    trace = build_trace(model, property_named(str(broken), PROPERTIES), tuple(int(word) for word in words))
    verify(trace)
    assert len(replay(trace).steps) == len(words)
    return trace


def test_a_stale_new_leader_is_taken_while_another_leader_is_followed() -> None:
    trace = trace_of("stale NewLeader")
    before, last = trace.states[-2], trace.steps[-1]
    assert last.message is not None
    assert (len(trace.steps), last.message.kind, last.message.source, last.message.destination) == (
        16,
        "NewLeader",
        2,
        0,
    )
    assert before["leader_id"][0] == last.state["leader_id"][0] == 1, "it follows p1 before and after"
    assert (len(before["history"][0]), len(last.state["history"][0])) == (1, 0)
    assert ", which is in the stable history of {p1}, and not of {p0, p2}, so not of a quorum. " in why(trace)
    assert why(trace).endswith("; step 16: p0.history [t1 <1,1>] -> [].")


def test_who_was_cut_off_is_led_back_behind_what_it_missed() -> None:
    """By a vote that says that the leader has more; the next proposal is appended behind the hole, and delivered."""
    trace = trace_of("return behind")
    back = next(step for step in trace.steps[7:] if step.message is not None and step.message.kind == "Vote")
    assert back.message is not None
    assert (len(trace.steps), back.message.fields["last_zxid"]["counter"], back.state["history"][0]) == (15, 1, [])
    assert (back.state["leader_id"][0], back.state["current_epoch"][0]) == (1, 1)
    assert [t["counter"] for t in trace.states[-1]["history"][0]] == [2]


def test_a_history_with_a_hole_wins_an_election() -> None:
    trace = trace_of("winner with a hole")
    last = trace.states[-1]
    assert (len(trace.steps), last["leader_id"][0], last["synced"][0]) == (17, 0, True)
    assert [[t["counter"] for t in h] for h in last["history"]] == [[2], [2], []], "t1 is nowhere any more"
    assert [len(h) for h in trace.states[9]["history"]] == [0, 2, 0]


# --- repairs -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_repairs_together_hold() -> None:
    """With two timers, to where the lab's own protocol has two leaders in one epoch."""
    r = explored("repaired", 14, True)
    assert not shortest(r)
    assert {"unique-zxid", "prefix", "delivered-is-chosen"} <= set(r.witnessed), "and it does something"


# the last of what they break takes thirteen steps
AT_13 = {"promise-once", "no-holes", "all-but-discovery-once", "all-but-sync-once", "all-but-no-holes"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in VARIANTS if (SHOWN[name].breaks and SHOWN[name].breaks != CLASSES) or name == "repaired"]
)
def test_what_a_variant_breaks_is_what_the_gallery_says(name: str) -> None:
    """As far as is looked here; those that break what the protocol breaks are explored by `zabcheck gallery`."""
    depth, there = 13 if name in AT_13 else 12, SHOWN[name]
    size = there.configuration
    found = shortest(explored(name, depth, heartbeats=size.heartbeats))
    assert list(found.items()) == [(p, at) for p, at in there.breaks.items() if at <= depth]
    assert size == Configuration("db19", size.variant, **NARROW, crashes=0, heartbeats=size.heartbeats)


def test_a_repair_changes_functions_of_its_own() -> None:
    names = [name for repair in REPAIRS for name in repair.overrides]
    assert len(names) == len(set(names))
    assert set(VARIANTS["repaired"].overrides) == set(names)
