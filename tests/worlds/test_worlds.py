"""The compiled world against the CPython world, on whole protocols: same successors byte for byte, same
verdicts."""

# ruff: noqa: PT018
from __future__ import annotations

import ctypes
import math
import random
from functools import cache

import pytest

from checker.explore import kernel
from invariants.registry import STEP, Property
from tests.models import (
    CONFIGURATIONS,
    DEFAULT,
    compiled,
    model,
    packed_and_back,
    python_names,
    python_successors,
    walked,
)
from tests.symbolic_states import random_state
from traces.record.trace import StepWord
from zabspec.authoring.checks import OF_WORLDS
from zabspec.language import StateView
from zabspec.language.python.reference import RecordValue
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import BUDGETS, PROCESSES

LAB = Configuration(protocol="db19", nodes=2, txns=1, timeouts=1, crashes=1, heartbeats=1)
STATES = 250  # random states of each configuration


def name(c: Configuration) -> str:
    budgets = f"{c.timeouts}{c.crashes}{c.losses}{c.partitions}{c.drops}{c.duplicates}"
    return "-".join(filter(None, (c.variant, f"n{c.nodes}", f"t{c.txns}", c.network, budgets)))


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name)
@pytest.mark.slow(seconds=1)
def test_successors_are_the_same_byte_for_byte(configuration: Configuration) -> None:
    """On random reachable states both worlds have the same steps in the same order, each with the same state after it,
    what the step says about itself (steps of the paper, event, error, message) included. Of each fourth configuration
    the code is what long runs have, compiled thoroughly."""
    code = compiled(configuration)
    thorough = CONFIGURATIONS.index(configuration) % 4 == 1
    if thorough:
        code.worked(math.inf, math.inf)
    assert code.code.thorough or not thorough
    states = walked(configuration, STATES)
    assert len(states) > 100
    events, steps = set(), 0
    for data in states:
        after = code.next_states(data)
        assert after == list(python_successors(configuration, data))
        for _, raw in after:
            s = StateView(code.layout, raw)
            events.add(s.event)
            steps |= s.steps
            assert s.error == 0
    assert len(events) >= 6 and steps.bit_count() >= 10, "the walks reach most of the protocol"


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", CONFIGURATIONS[:4], ids=name)
def test_one_step_taken_is_the_step_of_the_list(configuration: Configuration) -> None:
    """`take` of a step's word does what the list of successors says it does."""
    code = compiled(configuration)
    for data in walked(configuration, STATES)[::10]:
        for word, raw in code.next_states(data):
            s = code.state(data)
            code.take(s, ctypes.c_int64(word))
            assert s.raw == raw


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name)
def test_a_packed_state_unpacks_to_itself(configuration: Configuration) -> None:
    """Packing keeps every bit, in fewer bytes than the limit, and two states never pack to the same bytes; nothing is
    written beyond a word past the packed size."""
    code = compiled(configuration)
    seen: dict[bytes, bytes] = {}
    for data in walked(configuration, STATES):
        assert seen.setdefault(packed_and_back(code, data), data) == data


def test_messages_of_several_words_unpack_to_themselves() -> None:
    """Of states that are anything: those that runs reach have short histories in flight."""
    configuration = Configuration(nodes=2, txns=7, timeouts=0, crashes=0, losses=0, max_epoch=9)
    code = compiled(configuration)
    assert model(configuration).union.size > 16
    source = random.Random(7)
    out, back = (ctypes.create_string_buffer(n) for n in (code.numbers["PACKED_LIMIT"] + 64, code.layout.total))
    for _ in range(40):
        data = random_state(code.layout, source)
        size = code.pack_state(code.state(data), out)
        assert code.unpack_state(out, back) == size
        assert back.raw[: code.layout.size] == data


# --- verdicts --------------------------------------------------------------------------------------


def mask_of(configuration: Configuration, data: bytes, properties: tuple[Property, ...], which: str) -> int:
    """Bit k: the k-th property is broken (`holds`), or its premise is met (`witness`), in the CPython world."""
    names, s = python_names(configuration), StateView(model(configuration).program.layout, data)
    out = 0
    for k, p in enumerate(properties):
        if p.of != STEP:
            said = bool(names[getattr(p, which).__name__](s))
            out |= (said if which == "witness" else not said) << k
    return out


def spoilt(configuration: Configuration, data: bytes) -> list[bytes]:
    """The state with its history spoilt in ways no run spoils it: so that properties break."""
    layout, out = model(configuration).program.layout, []
    n = configuration.nodes
    for k in range(6):
        s = StateView(layout, data)
        if k == 0 and len(s.delivered[0]) > 0:
            last = s.delivered[0][len(s.delivered[0]) - 1]
            s.delivered[n - 1].clear()
            s.delivered[n - 1].append(last)
        if k == 1:
            s.diverged[0] = True
            s.established[1] = 2
        if k == 2 and s.abcasts > 0:
            s.abcast_attempt[0] = 1
            s.abcast_after[0].clear()
            if len(s.delivered[0]) < configuration.txns:
                s.delivered[0].append(s.abcast_txn[0])
            s.missing_epoch[0] = model(configuration).epochs
        if k == 3 and len(s.delivered[0]) > 1:
            t, u = s.delivered[0][0], s.delivered[0][1]
            s.delivered[0][0], s.delivered[0][1] = u, t
            s.pass_length[0] = 2
        if k == 4:
            s.abcasts = 0
        if k == 5 and s.abcasts > 1:
            first, second = s.abcast_txn[0], s.abcast_txn[1]
            twin = {"epoch": first.epoch, "counter": first.counter, "value": second.value}
            s.abcast_txn[1] = RecordValue(first.record, first.record.pack(twin))
        out.append(s.key())
    return out


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name)
def test_verdicts_and_witnesses_are_the_python_functions(configuration: Configuration) -> None:
    """Machine code says of random states, and of the same with their history spoilt, what the Python functions say; for
    every property both verdicts are seen somewhere (over all configurations: see the test below)."""
    broken, met = verdicts(configuration)
    assert met and broken


@cache
def verdicts(configuration: Configuration) -> tuple[int, int]:
    """Which properties were seen broken, and met, after checking that both worlds say the same."""
    code = compiled(configuration)
    everything = (1 << len(DEFAULT)) - 1
    broken_any = met_any = 0
    states = list(
        dict.fromkeys(x for data in walked(configuration, STATES) for x in (data, *spoilt(configuration, data)))
    )
    for data in states:
        buffer = code.state(data)
        broken, met = code.judge_state(buffer, everything), code.witness_state(buffer, everything)
        assert broken == mask_of(configuration, data, DEFAULT, "holds")
        assert met == mask_of(configuration, data, DEFAULT, "witness")
        assert code.judge_state(buffer, 5) == broken & 5 and code.witness_state(buffer, 9) == met & 9
        broken_any, met_any = broken_any | broken, met_any | met
    return broken_any, met_any


@pytest.mark.slow(seconds=3)
def test_every_property_of_states_is_seen_broken_and_met() -> None:
    """The test above would be empty for a property that no state breaks."""
    broken = met = 0
    for configuration in CONFIGURATIONS:
        b, m = verdicts(configuration)
        broken, met = broken | b, met | m
    of_states = {p.name for p in DEFAULT if p.of != STEP}
    assert {p.name for k, p in enumerate(DEFAULT) if met >> k & 1} == of_states
    missing = of_states - {p.name for k, p in enumerate(DEFAULT) if broken >> k & 1}
    assert not missing, f"never broken: {missing}"


REPORT, BROKEN, WITNESSED = kernel.REPORT, kernel.R_BROKEN, kernel.R_STEP_WITNESSES


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name)
def test_verdicts_on_steps_are_the_python_functions(configuration: Configuration) -> None:
    """The same of properties of steps, on steps as they are and on steps whose `after` was spoilt."""
    step_verdicts(configuration)


def test_every_property_of_steps_is_seen_broken_and_met() -> None:
    """The test above would be empty for a property that no step breaks."""
    broken = met = 0
    for configuration in CONFIGURATIONS:
        b, m = step_verdicts(configuration)
        broken, met = broken | b, met | m
    of_steps = {p.name for p in DEFAULT if p.of == STEP}
    assert {p.name for k, p in enumerate(DEFAULT) if met >> k & 1} == of_steps
    missing = of_steps - {p.name for k, p in enumerate(DEFAULT) if broken >> k & 1}
    assert not missing, f"never broken: {missing}"


@cache
def step_verdicts(configuration: Configuration) -> tuple[int, int]:
    """Which properties of steps were seen broken, and met, after checking that both worlds say the same."""
    code, names, layout = compiled(configuration), python_names(configuration), model(configuration).program.layout
    everything = (1 << len(DEFAULT)) - 1
    seen_broken = seen_met = 0
    for data in walked(configuration, STATES)[::2]:
        before = StateView(layout, data)
        for word, raw in code.next_states(data):
            for spoil in (False, True):
                after = StateView(layout, raw)
                if spoil:
                    p = word >> 16 & 255
                    if not after.accepts and after.event != 2:
                        continue
                    p = p if p < configuration.nodes else 0
                    after.accept_epoch = 0
                    after.history[p].clear()
                    after.log[p].clear()
                report = ctypes.create_string_buffer(8 * REPORT)
                code.judge_one_step(code.state(data), code.state(bytes(after.buffer)), report, everything, everything)
                words = [int.from_bytes(report.raw[8 * k : 8 * k + 8], "little") for k in range(REPORT)]
                for k, p_ in enumerate(DEFAULT):
                    if p_.of != STEP:
                        continue
                    broken = not names[p_.holds.__name__](before, after, after)
                    met = names[p_.witness.__name__](before, after, after)
                    assert bool(words[BROKEN + k]) == bool(broken), p_.name
                    assert bool(words[WITNESSED] >> k & 1) == bool(met), p_.name
                    seen_broken, seen_met = seen_broken | broken << k, seen_met | bool(met) << k
    return seen_broken, seen_met


# --- what a step says of itself -------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [CONFIGURATIONS[1], LAB], ids=name)
def test_a_step_says_who_took_it_and_who_is_at_the_other_end(configuration: Configuration) -> None:
    """In the order of its operands; nobody is at the other end of what a process does alone, and no process takes
    a cut of the network."""
    kinds = set()
    for data in walked(configuration, 120):
        for word, raw in python_successors(configuration, data):
            step, s = StepWord.of(word), StateView(model(configuration).program.layout, raw)
            who = [value for name, value in step.operands.items() if name in PROCESSES]
            assert (s.event_process, s.event_peer) == (*who, -1, -1)[:2], step
            kinds.add(step.kind)
    assert len(kinds) >= 5


@pytest.mark.parametrize(
    "asked",
    [
        {"network": "stale", "partitions": 1, "power_losses": 1, "outages": 1},
        {"protocol": "db19", "heartbeats": 1, "network": "ordered", "drops": 1},
        {"protocol": "example:resending", "crashes": 1},
    ],
)
def test_a_user_protocol_has_no_field_with_a_name_of_any_world(asked: dict[str, object]) -> None:
    """Traces, pictures and replay know these by their names: `link` of a protocol over datagrams ended a report."""
    made = Model(Configuration(**asked))  # type: ignore[arg-type]
    fields = {f.name for f in made.world.fields(made.configuration, made.union, made.channels)}
    assert fields
    assert fields | {f"{name}_left" for name in BUDGETS} | {"crashed"} <= OF_WORLDS
