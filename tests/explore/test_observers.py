"""Derived observers: which histories are merged, that nothing is judged and nothing happens otherwise without what is
dropped, and that a wrong merge is caught (docs/explanation/reductions.md)."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce import narrowing as large_models
from checker.explore.reduce import observers
from checker.explore.reduce.ample import AmpleExplorer, Narrowing, conclusive
from checker.explore.reduce.observers import (
    Automaton,
    Labels,
    Plan,
    automaton_of,
    classes_of,
    places_of,
    refined,
    renamed_value,
)
from checker.explore.reduce.partly import MOST_WAYS, NotFollowed, Partly
from checker.explore.result import Limits
from checker.requests.base.model import ModelRequest
from checker.requests.explore import Explore
from checker.requests.exploring import restart
from invariants.registry import STATE, STEP, Property
from tests.models import judged
from tests.second.harness.searching import Recording
from zabspec.language.analysis import tree as t
from zabspec.language.python.lang import Node, State, Txn
from zabspec.model import Configuration, Model

ONE = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
USUAL = replace(ONE, txns=2)


@cache
def narrowing(
    configuration: Configuration,
    symmetry: bool = True,
    names: tuple[str, ...] = (),
    wanted: tuple[str, ...] | None = (),
) -> Narrowing:
    """A model with classes; of those properties, or of those judged by default."""
    properties = judged(configuration.protocol)
    asked = [p for p in properties if not names or p.name in names]
    return Narrowing(Model(configuration), asked, symmetry, wanted)


def made_anew(code: Narrowing) -> tuple[Plan, dict[str, frozenset[str]]]:
    """The plan of a model, which machine code from the cache does not have, and what functions read."""
    code.typed_namespace()
    return code.planned(), code.reads


@cache
def automaton(
    configuration: Configuration, names: tuple[str, ...] = ()
) -> tuple[Narrowing, Plan, Automaton, list[Any]]:
    """A model, its plan, its automaton and the label of every value."""
    code = narrowing(configuration, names=names)
    plan, reads = made_anew(code)
    made = automaton_of(code, plan, 1 << 20)
    assert isinstance(made, Automaton)
    return code, plan, made, Labels(code, plan, reads).of(made.values)


def ways_of(made: Automaton) -> list[tuple[int, ...]]:
    """Where each letter leads from each value, or how it ends."""
    count, letters = len(made.values), len(made.letters)
    flat = (ctypes.c_uint32 * (count * letters)).from_address(made.ways.address)
    return [tuple(flat[k * letters : (k + 1) * letters]) for k in range(count)]


def inconsistent(made: Automaton, labels: Sequence[Any], classes: Sequence[int]) -> str:
    """Where two values of one class differ in their label, or in the class that a letter leads to; empty: nowhere."""
    first: dict[int, int] = {}
    ways = ways_of(made)

    def behind(k: int) -> list[int]:
        return [classes[to] if to < len(classes) else to for to in ways[k]]

    for k, c in enumerate(classes):
        one = first.setdefault(c, k)
        if labels[one] != labels[k]:
            return f"values {one} and {k} are judged otherwise"
        if one != k and behind(one) != behind(k):
            return f"from values {one} and {k} a letter leads to two classes"
    return ""


# --- the automaton ---------------------------------------------------------------------------------


@pytest.mark.slow(seconds=2)
def test_every_value_of_a_class_goes_on_as_the_first() -> None:
    """All values and all letters, whichever way the classes were found."""
    code, _, made, labels = automaton(USUAL)
    classes = refined(code, made, labels)
    assert inconsistent(made, labels, classes) == ""
    assert len(set(classes)) == code.classes.classes < len(made.values) / 40
    assert len(made.values) == code.classes.values


@pytest.mark.slow(seconds=8)
def test_every_wrong_merge_is_caught() -> None:
    """Classes cannot be fewer: whichever two are made one, a value of one goes on otherwise than one of the other."""
    code, _, made, labels = automaton(ONE)
    classes = refined(code, made, labels)
    known, source = sorted(set(classes)), random.Random(5)
    for _ in range(200):
        one, other = source.sample(known, 2)
        assert inconsistent(made, labels, [one if c == other else c for c in classes]), (one, other)


@pytest.mark.slow(seconds=1)
def test_without_labels_everything_is_one_but_for_what_the_protocol_sees() -> None:
    """What tells classes apart are properties: blind to them, only what is raw and what breaks at once is left."""
    code, plan, made, labels = automaton(ONE)
    raw = Labels(code, plan, code.reads).projected(made.values, plan.raw)
    assert len(set(refined(code, made, raw))) < code.classes.classes
    assert inconsistent(made, labels, refined(code, made, raw)) != ""


@pytest.mark.slow(seconds=1)
def test_renaming_maps_classes_to_classes() -> None:
    code, plan, made, labels = automaton(ONE)
    classes, places = refined(code, made, labels), places_of(code.layout, plan)
    index = {value: k for k, value in enumerate(made.values)}
    image: dict[tuple[int, tuple[int, ...]], int] = {}
    for k, value in enumerate(made.values):
        for p in permutations(range(3)):
            to = classes[index[renamed_value(code, places, value, p)]]
            assert image.setdefault((classes[k], p), to) == to


def test_the_state_that_is_visited_is_of_the_orbit_and_the_class() -> None:
    """Renamings of a state, and all states of its class, are one to the explorer; of another class they are not."""
    code, plan, made, labels = automaton(ONE)
    classes = refined(code, made, labels)
    held = Labels(code, plan, code.reads)
    seen: dict[int, int] = {}
    for k, value in enumerate(made.values):
        state = held.state(value)
        prints = {code.visited(code.rename(state, p))[0] for p in permutations(range(3))}
        assert len(prints) == 1
        assert seen.setdefault(classes[k], min(prints)) == min(prints)
        standing = code.standing_for(state)
        assert code.visited(standing)[0] == min(prints)
    assert len(set(seen.values())) == code.classes.orbits


# --- states ----------------------------------------------------------------------------------------


def of_steps(code: Narrowing) -> int:
    return sum(1 << k for k, p in enumerate(code.properties) if p.of == STEP)


def of_values(code: Narrowing) -> int:
    return sum(1 << k for k, p in enumerate(code.properties) if p.name in code.broken_by_values)


def verdicts(code: Narrowing, state: bytes, premises: int) -> tuple[int, int]:
    """What a state breaks, all that values break alone being one; and whose premise it meets, of some properties."""
    held, every = code.state(state), (1 << len(code.properties)) - 1
    broken = code.judge_state(held, every & ~of_steps(code))
    alone = of_values(code)
    return -1 if broken & alone else broken, code.witness_state(held, premises & ~of_steps(code))


def unlike(code: Narrowing, one: bytes, other: bytes, premises: int) -> str:
    """Where two states differ in what is judged of them, or in what happens next; empty: nowhere."""
    size, live = code.layout.size, of_steps(code)
    if verdicts(code, one, premises) != verdicts(code, other, premises):
        return "judged otherwise"
    if verdicts(code, one, premises)[0] == -1:
        return ""
    mine, theirs = code.next_states(one), code.next_states(other)
    if [word for word, _ in mine] != [word for word, _ in theirs]:
        return "other steps are possible"
    for (_, here), (_, there) in zip(mine, theirs, strict=True):
        if code.breaks(one, here, live) != code.breaks(other, there, live):
            return "a step is judged otherwise"
        if code.visited(here[:size])[0] != code.visited(there[:size])[0]:
            return "a step leads to two classes"
    return ""


def walked(code: Narrowing, seed: int, runs: int, length: int = 90) -> Iterator[bytes]:
    """The states of random runs: half of their steps are abcasts and deliveries where there are any."""
    source, size = random.Random(seed), code.layout.size
    history = code.layout.history_size
    for _ in range(runs):
        state = code.model.program.initial().key()
        for _ in range(length):
            yield state
            steps = code.next_states(state)
            if not steps:
                break
            shown = [after for _, after in steps if after[:history] != state[:history]]
            after = source.choice(shown if shown and source.random() < 0.5 else [after for _, after in steps])
            state = after[:size]


@pytest.mark.slow(seconds=4)
def test_every_state_goes_on_as_what_stands_for_its_class() -> None:
    """Every orbit that there is, and each of its steps."""
    configuration = replace(USUAL, timeouts=0)
    explorer = Recording(Compiled(Model(configuration), judged("zab"), True))
    explorer.run(Limits())
    code = narrowing(configuration, wanted=None)
    every = (1 << len(code.properties)) - 1
    other = 0
    for _, state in explorer.found:
        standing = code.standing_for(state)
        if standing != state:  # what stands for itself goes on as it does
            other += 1
            assert unlike(code, state, standing, every) == ""
    assert other > len(explorer.found) / 20


@pytest.mark.slow(seconds=6)
def test_what_stands_for_a_class_goes_on_alike() -> None:
    """Of a variant that breaks what values break alone; no premise is kept (all are, above)."""
    configuration = replace(USUAL, variant="propose-to-synced-only", timeouts=2, crashes=1)
    code = narrowing(configuration)
    assert code.classes.classes, code.classes.why_not
    other = 0
    for state in dict.fromkeys(walked(code, 11, 30)):
        standing = code.standing_for(state)
        if standing == state:  # it goes on as it does
            continue
        other += 1
        if verdicts(code, state, 0)[0] == -1:
            continue  # the search ends there
        assert unlike(code, state, standing, code.kept_premises) == ""
    assert other > 50


@pytest.mark.slow(seconds=2)
def test_what_stands_for_another_class_goes_on_otherwise() -> None:
    """The same look at states whose value is another's: a merge that does not belong is seen in states, too."""
    code = narrowing(USUAL)
    plan, reads = made_anew(code)
    held, places = Labels(code, plan, reads), places_of(code.layout, plan)
    states = list(dict.fromkeys(walked(code, 3, 60)))
    found = tried = 0
    source = random.Random(7)
    while tried < 200:
        state, from_other = source.choice(states), source.choice(states)
        words = [(at, bits) for at, bits in places.words if bits]
        mixed = bytearray(state)
        for at, bits in words:
            kept = int.from_bytes(state[at : at + 8], "little") & ~bits
            value = int.from_bytes(from_other[at : at + 8], "little") & bits
            mixed[at : at + 8] = (kept | value).to_bytes(8, "little")
        if code.visited(bytes(mixed))[0] == code.visited(state)[0]:
            continue
        tried += 1
        found += differs_within(code, state, bytes(mixed), 6)
    assert held.items
    assert found > 100


def differs_within(code: Narrowing, one: bytes, other: bytes, depth: int) -> bool:
    """Whether two states that go on by the same steps are judged otherwise, or differ in a step, within a depth."""
    level = [(one, other)]
    for _ in range(depth):
        more: dict[tuple[bytes, bytes], None] = {}
        for a, b in level[:200]:
            if unlike(code, a, b, 0):
                return True
            for (_, x), (_, y) in zip(code.next_states(a), code.next_states(b), strict=True):
                more[x[: code.layout.size], y[: code.layout.size]] = None
        level = list(more)
    return False


# --- searches --------------------------------------------------------------------------------------


@pytest.mark.slow(seconds=3)
def test_premises_that_are_kept_are_met_as_in_a_full_search() -> None:
    full = Explorer(Compiled(Model(USUAL), judged("zab"), True)).run(Limits())
    all_kept = AmpleExplorer(narrowing(USUAL, wanted=None)).run(Limits())
    assert all_kept.witnessed.keys() == full.witnessed.keys()
    assert all(depth >= full.witnessed[name] for name, depth in all_kept.witnessed.items())
    assert conclusive(all_kept)
    none_kept = AmpleExplorer(narrowing(USUAL)).run(Limits())
    assert none_kept.distinct < all_kept.distinct < full.distinct
    steps = {p.name for p in judged("zab") if p.of == STEP}
    assert steps <= none_kept.witnessed.keys() < full.witnessed.keys()


@pytest.mark.slow(seconds=2)
def test_what_is_asked_decides_what_is_merged() -> None:
    alone = narrowing(ONE, names=("one-primary-an-epoch",)).classes
    order = narrowing(ONE, names=("integrity", "total-order")).classes
    assert 0 < alone.classes <= order.classes < narrowing(ONE).classes.classes


@pytest.mark.slow(seconds=2)
def test_one_property_alone_visits_less() -> None:
    """The papers' other properties of values are expected to hold: what breaks them is followed no further."""
    alone, every = narrowing(USUAL, names=("prefix",)), narrowing(USUAL)
    assert alone.classes.values == every.classes.values
    assert alone.classes.expected == 11
    assert "violates any of 11 others" in alone.classes.sentence()
    one, all_of_them = (AmpleExplorer(code).run(Limits()) for code in (alone, every))
    assert one.complete
    assert not one.violations
    assert not one.apart
    assert one.distinct < all_of_them.distinct


@pytest.mark.slow(seconds=2)
def test_what_is_expected_and_breaks_proves_nothing() -> None:
    """`propose-to-synced-only` keeps `unique-zxid` and breaks the prefix property, which is not judged."""
    code = narrowing(replace(USUAL, variant="propose-to-synced-only"), names=("unique-zxid",))
    search = AmpleExplorer(code)
    r = search.run(Limits())
    assert search.unforeseen
    assert not r.violations
    assert not r.complete
    assert not conclusive(r)


@pytest.mark.slow(seconds=4)
def test_a_search_in_which_another_breaks_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is merged then, and what was asked for is decided."""
    monkeypatch.setattr(large_models, "SMALL", 20_000)
    merging: list[bool] = []
    real = Narrowing.__init__

    def noted(self: Narrowing, *of: Any) -> None:
        real(self, *of)
        merging.append(self.merging)

    monkeypatch.setattr(Narrowing, "__init__", noted)
    model = ModelRequest(
        nodes=3, txns=2, variant="propose-to-synced-only", budgets={"timeouts": 1, "crashes": 0, "losses": 0}
    )
    found = Explore(**vars(model), properties=("unique-zxid",), trace="").answer()
    assert merging == [True, False]
    assert found.exploration.complete
    assert not found.exploration.violations
    assert not found.exploration.merged


def test_a_call_that_was_not_foreseen_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without deliveries by p2, say: the search notes that there is no class, and is not conclusive."""
    real = observers.letters_of
    foreseen = [*observers.LETTERS].index("abdeliver")
    monkeypatch.setattr(observers, "letters_of", lambda *of: [x for x in real(*of) if x[:2] != (foreseen, 2)])
    monkeypatch.setattr(Narrowing, "also_key", lambda self: ("a letter less",))
    code = Narrowing(Model(ONE), judged("zab"), False, ())
    r = AmpleExplorer(code, 1).run(Limits())
    assert r.apart
    assert not conclusive(r)


def test_a_search_that_goes_on_past_violations_merges_nothing() -> None:
    code = narrowing(ONE)
    on = AmpleExplorer(code, 1).run(Limits(), keep_going=True)
    merged = AmpleExplorer(code, 1).run(Limits())
    assert on.distinct > merged.distinct
    assert not on.merged
    assert "classes" in merged.merged


@pytest.mark.slow(seconds=1)
def test_what_values_break_alone_is_suspected_together() -> None:
    """Which of such properties a full search would find broken, a search that merges does not know."""
    code = narrowing(replace(USUAL, variant="propose-to-synced-only"))
    r = AmpleExplorer(code, 1).run(Limits())
    assert r.violations.keys() & set(code.broken_by_values)
    assert r.suspects_one
    assert set(r.suspected) >= {*code.broken_by_values, *r.violations}
    assert r.suspicion.startswith("at least one of ")
    assert max(r.witnessed.values()) < r.depth


# --- the plan --------------------------------------------------------------------------------------


def planned(properties: Sequence[Property]) -> Plan:
    """The plan for some properties of a model."""
    code = narrowing(ONE)
    made_anew(code)
    typed = code.model.program.typed(("enabled", "apply"))
    program = t.TypedProgram(typed.functions, typed.sites, typed.steps, code.reads)
    return observers.plan_of(code.model, program, properties, (), ())


def test_what_the_protocol_sees_is_raw() -> None:
    plan = planned(judged("zab"))
    assert plan.raw == {
        "abcasts",
        "abcast_txn",
    }  # `establish` looks for what was abcast, and an abcast is the last or not
    assert plan.fields - plan.raw >= {"abcast_by", "abcast_after", "delivered", "pass_length", "diverged"}
    assert not plan.fields & {"accepted", "chosen_epoch", "missing_epoch", "established"}


def test_what_a_property_of_steps_reads_is_raw() -> None:
    """It is judged of two states, of which only the first has the value that stands for its class."""
    agreement = next(p for p in judged("zab") if p.name == "agreement")
    assert not planned([agreement]).raw & {"delivered", "diverged"}
    assert {"delivered", "diverged"} <= planned([replace(agreement, of=STEP)]).raw


def test_a_letter_of_another_text_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabspec.history.abdeliver", lambda s, p, txn: None)
    assert planned(judged("zab")).why_not == "abdeliver is not the one of zabspec/history.py"


def test_effects_that_are_mixed_are_refused() -> None:
    """What a letter writes of explicit ghosts may not depend on what is merged, nor the other way about."""
    code = narrowing(ONE)
    typed = code.model.program.typed(("enabled", "apply"))
    hidden = {"abcast_by", "abcast_attempt", "abcast_in_pass", "delivered", "abcast_after"}
    explicit = {"missing_epoch", "established", "accepted", "chosen_epoch"}
    assert observers.why_mixed(typed, "abcast", hidden, explicit) == ""
    said = observers.why_mixed(typed, "abcast", {*hidden, "abcasts"}, explicit)
    assert said == "what abcast writes to missing_epoch may depend on merged values"
    said = observers.why_mixed(typed, "abcast", hidden, {*explicit, "abcast_attempt"})
    assert said.startswith("what abcast writes")


def test_too_many_values_are_refused() -> None:
    code = narrowing(ONE)
    plan, reads = made_anew(code)
    assert classes_of(code, plan, reads, most=50).why_not == "observations lead to more than 50 values"


# --- what is left of a property --------------------------------------------------------------------


def left(function: str, values: Sequence[Callable[[Any], None]]) -> list[object]:
    """What is left of a property for some values."""
    code = narrowing(USUAL)
    plan, reads = made_anew(code)
    partly = Partly(code.model, plan.fields, reads)
    found: list[object] = []
    for change in values:
        s = code.model.program.initial()
        change(s)
        found.append(partly.left_of(function, s.key()))
    return found


def with_delivered(*processes: int) -> Callable[[Any], None]:
    def change(s: Any) -> None:
        txn = s_txn(1)
        s.abcasts = 1
        s.abcast_txn[0] = txn
        for p in processes:
            s.delivered[p].append(txn)

    return change


def s_txn(value: int) -> Any:
    return narrowing(USUAL).model.program.python["Txn"](epoch=1, counter=value, value=value)


@pytest.mark.slow(seconds=1)
def test_durability_asks_what_was_delivered_not_by_whom() -> None:
    nobody, first, last, two = left(
        "durability", [with_delivered(), *map(with_delivered, (0, 2)), with_delivered(0, 1)]
    )
    assert nobody is True
    assert first == last == two
    assert first not in (True, False)


def test_a_question_is_asked_once_and_in_one_order() -> None:
    partly = Partly(Model(ONE), (), {})
    one = partly.choice("b", partly.choice("a", True, False), False)
    other = partly.choice("a", partly.choice("b", True, False), False)
    assert one == other == ("a", ("b", True, False), False)
    assert partly.choice("a", True, True) is True


@pytest.mark.slow(seconds=1)
def test_what_is_not_followed_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    left("durability", [with_delivered(0)])  # the code is made, and cached, as it is
    monkeypatch.setattr("checker.explore.reduce.partly.MOST_WAYS", 1)
    with pytest.raises(NotFollowed):
        left("durability", [with_delivered(0)])
    assert MOST_WAYS > 1


# Properties of somebody's own, each broken only after a delivery, by a step that changes nothing that was observed.
# They read more of the protocol than there are combinations for.


def some(s: State) -> bool:
    counted: bool = s.abcasts >= 0
    return counted


def has_none(s: State, p: Node) -> bool:
    none: bool = len(s.history[p]) == 0
    return none


def first_of(s: State, p: Node) -> Txn:
    return s.history[p][0]


def share(s: State, p: Node) -> int:
    part: int = len(s.history[p]) // s.role[p]
    return part


def calculates(s: State) -> bool:
    for p in range(s.NODES):
        if len(s.delivered[p]) > 0 and s.role[p] == 0 and not has_none(s, p) and s.promised_epoch[p] + 1 > 1:
            if s.delivered[p][0] == first_of(s, p) and first_of(s, p).epoch > 0:
                return False
    return True


def compares_sets(s: State) -> bool:
    for p in range(s.NODES):
        if len(s.delivered[p]) > 0 and s.role[p] == 0 and s.Q[p] == s.acked[p]:
            return False
    return True


def errs(s: State) -> bool:
    if len(s.delivered[0]) > 0 and share(s, 0) > 0:
        return True
    return True


@pytest.mark.slow(seconds=7)
@pytest.mark.parametrize("own", [calculates, compares_sets, errs])
def test_properties_of_ones_own_are_broken_as_in_a_full_search(own: Any) -> None:
    """By a request, which merges: whatever they do with what is not known of a value, which is not followed or followed
    as it is; an error, too."""
    properties = [Property("own", STATE, "here", "", own, some)]
    models = [Model(ONE), Model(ONE)]
    for model in models:
        model.program.extra = {f.__name__: f for f in (own, some, has_none, first_of, share)}
    full = Explorer(Compiled(models[0], properties, own is not errs), 1).run(Limits())
    task: Any = SimpleNamespace(run=lambda search: search.run(Limits()))
    less = large_models.narrowed(models[1], properties, {"own"}, restart.searching(task, own is not errs, 1))
    assert less.merged
    assert full.violations
    assert (less.violations.keys(), less.error) == (full.violations.keys(), full.error)
