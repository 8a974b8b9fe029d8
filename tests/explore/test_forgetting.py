"""What a search with ample sets drops of ghosts: nothing is judged otherwise, and nothing happens otherwise, without it
(docs/reduction.md)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations, product
from typing import Any

import pytest

from checker.explore.ample import FORGOTTEN, JUDGED_ALIKE, AmpleExplorer, Narrowing, forgets
from checker.explore.reducible import why_not_narrowed
from checker.explore.result import Limits
from invariants import PROPERTIES, properties_of
from invariants.registry import STEP
from tests.models import much
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS

SMALL = Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
PROTOCOL_NAMES = ("zab", "ladis")


def judged_by(protocol: str) -> list[Any]:
    return [p for p in properties_of(protocol) if p.judges(protocol) and p.name in JUDGED_ALIKE]


@cache
def narrowing(configuration: Configuration) -> Narrowing:
    return Narrowing(Model(configuration), judged_by(configuration.protocol), False)


def all_of(code: Narrowing) -> int:
    return (1 << len(code.properties)) - 1


def judged(code: Narrowing, state: bytes) -> tuple[int, int]:
    """What a state breaks, and whose premise it meets."""
    held = code.state(state)
    return code.judge_state(held, all_of(code)), code.witness_state(held, all_of(code))


def dropped(code: Narrowing, before: bytes, after: bytes) -> bytes:
    """What is left of a state, with its scratch, behind a step."""
    held = code.state(after)
    code.abstract_ghosts(code.state(before), held)
    return bytes(held.raw)


# --- every history of two transactions -------------------------------------------------------------


def histories(code: Narrowing, epochs: int = 2) -> Iterator[bytes]:
    """Every observed history of two transactions that two of three processes may have delivered, in any order, the last
    just abcast: epochs, primaries, instances, what the second's primary had delivered by then."""
    of_one_instance = [(by, by, 0) for by in range(3)]
    attempts = [*of_one_instance, *((a, b, 1) for a, b in product(range(3), repeat=2))]
    orders = [order for n in range(3) for order in permutations(range(2), n)]
    txn = code.model.program.python["Txn"]
    for one, two in product(range(1, epochs + 1), repeat=2):
        possible = attempts if one == two else [(a, b, 0) for a, b in product(range(3), repeat=2)]
        for (first, second, attempt), after, mine, other in product(possible, (False, True), orders, orders):
            s = code.model.program.initial()
            counter = 2 if one == two and attempt == 0 else 1
            txns = (txn(epoch=one, counter=1, value=1), txn(epoch=two, counter=counter, value=2))
            s.abcasts = 2
            for k, (t, by, number) in enumerate(zip(txns, (first, second), (0, attempt), strict=True)):
                s.abcast_txn[k], s.abcast_by[k], s.abcast_attempt[k] = t, by, number
            if after:
                s.abcast_after[1].add(0)
            for p, order in ((0, mine), (1, other)):
                for k in order:
                    s.delivered[p].append(txns[k])
            yield s.key()


def unlike(code: Narrowing, drop: Callable[[bytes], bytes]) -> list[str]:
    """The properties that judge one of these histories otherwise behind `drop`, and how often it dropped anything."""
    found: set[str] = set()
    drops = 0
    for state in histories(code):
        less = drop(state)
        drops += less[: code.layout.size] != state[: code.layout.size]
        (broken, met), (then, still) = judged(code, state), judged(code, less[: code.layout.size])
        found |= {p.name for k, p in enumerate(code.properties) if ((broken ^ then) | (met ^ still)) >> k & 1}
    assert drops > 500
    return sorted(found)


def test_every_history_is_judged_alike() -> None:
    code = narrowing(SMALL)
    one_less = bytearray(code.layout.total)
    one_less[code.layout.offset("abcasts")] = 1
    assert unlike(code, lambda state: dropped(code, bytes(one_less), state)) == []


@pytest.mark.parametrize(
    ("field", "seen_by"), [("abcast_by", {"causal-order"}), ("abcast_after", {"primary-integrity", "po-causal-order"})]
)
def test_what_is_always_dropped_is_missed(field: str, seen_by: set[str]) -> None:
    """The same look at histories that lose who abcast, or what was delivered before, whatever their epochs are."""
    code = narrowing(SMALL)

    def without(state: bytes) -> bytes:
        less = bytearray(state)
        for _, start in code.layout.elements(field):
            less[start : start + code.layout.fields[field].kind.size] = bytes(code.layout.fields[field].kind.size)
        return bytes(less)

    assert seen_by <= set(unlike(code, without))


# --- side by side ----------------------------------------------------------------------------------


def rest(code: Narrowing, state: bytes) -> bytes:
    """A state without the ghosts of which anything is dropped."""
    left = bytearray(state[: code.layout.size])
    for name in FORGOTTEN:
        for _, start in code.layout.elements(name):
            size = code.layout.fields[name].kind.size
            left[start : start + size] = bytes(size)
    return bytes(left)


def side_by_side(code: Narrowing, seed: int, number: int) -> int:
    """Random runs, with all ghosts and with what is left of them: the same steps, the same states but for what is
    dropped, and the same judgements of states and steps. Returns in how many states something was missing."""
    source, size, live, missing = random.Random(seed), code.layout.size, all_of(code), 0
    of_steps = sum(1 << k for k, p in enumerate(code.properties) if p.of == STEP)
    for _ in range(number):
        whole = less = code.model.program.initial().key()
        for _ in range(90):
            missing += whole != less
            assert judged(code, whole) == judged(code, less)
            steps, same = code.next_states(whole), code.next_states(less)
            assert [word for word, _ in steps] == [word for word, _ in same]
            if not steps:
                break
            abcasts = [k for k, (_, after) in enumerate(steps) if after[code.layout.offset("abcasts")] != whole[0]]
            k = source.choice(abcasts or range(len(steps)))
            assert code.breaks(whole, steps[k][1], live & of_steps) == code.breaks(less, same[k][1], live & of_steps)
            whole, less = steps[k][1][:size], dropped(code, less, same[k][1])[:size]
            assert rest(code, whole) == rest(code, less)
    return missing


def texts() -> list[tuple[str, str]]:
    """Every variant; without ZABCHECK_EVERY the protocol, and one by which two lead in an epoch."""
    first = [("zab", ""), ("zab", "equal-epoch")]
    every = [(name, v) for name in PROTOCOL_NAMES for v in ("", *PROTOCOLS[name].variants)]
    ordered = first + [text for text in every if text not in first]
    return ordered[: much(len(ordered), len(first))]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("protocol", "variant"), texts(), ids=str)
def test_runs_go_on_alike(protocol: str, variant: str) -> None:
    configuration = Configuration(protocol=protocol, nodes=3, txns=3, timeouts=3, crashes=1, losses=0, variant=variant)
    if why_not_narrowed(Model(configuration)):
        pytest.skip("no states are left out of this text")
    code = narrowing(configuration)
    assert forgets(code.layout, code.properties)
    assert side_by_side(code, 11, 60) > 100


# --- where it is not known -------------------------------------------------------------------------


def test_all_of_this_house_that_is_judged_by_default_is_known() -> None:
    """A new property turns the dropping off until it is known to judge alike."""
    for name in PROTOCOL_NAMES:
        assert {p.name for p in properties_of(name) if p.default and p.judges(name)} <= JUDGED_ALIKE
    assert {p.name for p in PROPERTIES} >= JUDGED_ALIKE


def test_with_a_property_of_ones_own_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it goes by the name of a known one."""
    layout = narrowing(SMALL).layout
    agreement, order = (next(p for p in PROPERTIES if p.name == n) for n in ("agreement", "causal-order"))
    assert forgets(layout, [agreement, order])
    assert not forgets(layout, [agreement, replace(order, holds=agreement.holds)])
    assert not forgets(layout, [agreement, replace(order, name="mine")])
    beside = replace(order, holds=agreement.holds)  # in a file laid beside ours
    monkeypatch.setattr("invariants.PROPERTIES", (*PROPERTIES, beside))
    assert not forgets(layout, [agreement, beside])
    with pytest.raises(ConfigError, match="two properties are called causal-order"):
        properties_of("zab")
    code = Narrowing(Model(SMALL), [agreement, replace(order, name="mine")], False)
    assert not code.numbers["ABSTRACTS_GHOSTS"]
    state = next(histories(code))
    assert dropped(code, bytes(code.layout.total), state)[: code.layout.size] == state


@pytest.mark.slow(seconds=2)
def test_fewer_states_are_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(replace(SMALL, timeouts=0))

    def explored() -> Any:
        return AmpleExplorer(Narrowing(model, judged_by("zab"), True)).run(Limits())

    less = explored()
    monkeypatch.setattr("checker.explore.ample.FORGOTTEN", frozenset({"of no text"}))
    whole = explored()
    assert less.distinct < 0.9 * whole.distinct
    assert less.complete
    assert less.violations == whole.violations == {}
    assert less.witnessed == whole.witnessed
