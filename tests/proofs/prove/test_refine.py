"""The refinement check: zab refines abstract ZAB on small n, variants do not, and no error in it goes unnoticed."""

from __future__ import annotations

import inspect
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from click.testing import CliRunner

from checker.ci.variants import shown
from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.proofs.prove.finite import Table
from checker.proofs.prove.meaning import meaning
from checker.proofs.prove.stepping import Step, beginning, step, truth
from checker.proofs.refine import actions as stubs
from checker.proofs.refine.failure import attempt_of, failure, instance_of, table_of
from checker.proofs.refine.model import CLAUSE, REFINES, RefinedModel
from invariants.binding import bound
from tests.commands.running import assert_refused
from zabspec.language import SetOf, StateView
from zabspec.language.python.lang import AnyMessage, Node, State
from zabspec.model import ConfigError, Configuration, Model
from zabspec.proofs.abstract.logic import FALSE, HISTORY, PROCESS, QUORUM, Sort
from zabspec.proofs.abstract.protocol import AbstractAction, Definition
from zabspec.proofs.abstract.theory import ZAB, Theory

pytestmark = pytest.mark.slow(seconds=1)  # each is small; the model that they share is not

USUAL = Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
PAIR = Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
ONE = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
MARK = "abstract "
AGAIN = 63  # beside the numbers of the steps


@cache
def compiled(configuration: Configuration, symmetry: bool = True) -> Compiled:
    model = RefinedModel(configuration)
    return Compiled(model, model.properties, symmetry)


def explored(configuration: Configuration, symmetry: bool = True, **limits: Any) -> Exploration:
    return Explorer(compiled(configuration, symmetry), 1).run(Limits(**limits))


def fault_of(model: RefinedModel, s: Any) -> tuple[str, str]:
    found = model.fault(s.fault)
    return found.action, found.what


# --- the two states side by side ---------------------------------------------------------------


@cache
def names_of(configuration: Configuration) -> dict[str, Any]:
    return bound(RefinedModel(configuration))


@cache
def walks(count: int = 600, length: int = 60, seed: int = 7) -> tuple[tuple[int, ...], ...]:
    """Schedules of the usual configuration; together they take every action, in each of several ways, and some
    process that has set f.a promises another epoch."""
    code, source = compiled(USUAL), random.Random(seed)
    size, index = code.layout.size, {name: k for k, name in enumerate(code.steps)}
    wanted = {index[MARK + a.name]: 4 for a in ZAB.actions} | {AGAIN: 4}
    kept = []
    for _ in range(count):
        data, words, taken = code.model.program.initial().key(), [], 0
        for _ in range(length):
            possible = code.next_states(data)
            if not possible:
                break
            # a timeout is one of several steps, and would end most runs before anything happens
            late = [x for x in possible if code.view(x[1]).event != 7 or source.random() < 0.1]
            word, after = source.choice(late or possible)
            words.append(word)
            taken |= code.view(after).steps
            data = after[:size]
        taken |= any_later(code.view(data)) << AGAIN
        if any(taken >> k & 1 and left for k, left in wanted.items()):
            wanted = {k: max(0, left - (taken >> k & 1)) for k, left in wanted.items()}
            kept.append(tuple(words))
    assert not any(wanted.values()), "the walks do not take every action"
    return tuple(kept)


def any_later(s: StateView) -> bool:
    """Whether an ACK-E carried an f.a that a NEWLEADER had set."""
    return any(e > 0 for row in s.a_ack_current for cell in row for e in cell)


@cache
def reachable() -> tuple[bytes, ...]:
    """States along the walks, in order."""
    code = compiled(USUAL)
    out = []
    for words in walks():
        data = code.model.program.initial().key()
        for word in words:
            data = dict(code.next_states(data))[word][: code.layout.size]
            out.append(data)
    return tuple(out)


def shaken(model: RefinedModel, data: bytes, source: random.Random, flips: int) -> StateView:
    """The state with some facts of the abstract one turned over: most of these no run reaches."""
    s = StateView(model.program.layout, data)
    fields = [f for f in model.program.schema.fields if f.name.startswith("a_")]
    for _ in range(flips):
        f = source.choice(fields)
        at = getattr(s, f.name)
        sizes = model.program.layout.axis_sizes(f)
        index = [source.randrange(size) for size in sizes]
        for k in index[:-1]:
            at = at[k]
        if isinstance(f.kind, SetOf):
            member = source.randrange(f.kind.count)
            place = at[index[-1]] if index else at
            (place.discard if member in place else place.add)(member)
        else:
            at[index[-1]] = source.randrange(model.epochs + 1)
    return one_beginning(model, s)


def one_beginning(model: RefinedModel, s: StateView) -> StateView:
    """What is said of the beginning is said with every process alike."""
    for f in model.program.schema.fields:
        sizes = model.program.layout.axis_sizes(f)
        if not f.name.startswith("a_") or model.epochs + 1 not in (*sizes[f.node_axes :], getattr(f.kind, "count", 0)):
            continue
        if f.node_axes == 0 or f.name in ("a_promised", "a_current"):
            continue
        for leader in range(1, model.configuration.nodes):
            for rest in itertools.product(*(range(z) for z in sizes[1 : f.node_axes])):
                copy_beginning(f, s, leader, rest)
    return s


def copy_beginning(f: Any, s: StateView, leader: int, rest: tuple[int, ...]) -> None:
    one, other = getattr(s, f.name)[0], getattr(s, f.name)
    if len(f.axes) == f.node_axes:  # a set of epochs
        first = at(one, rest)
        here = at(other[leader], rest)
        (here.add if 0 in first else here.discard)(0)
    else:
        at(other[leader], rest)[0] = at(one, rest)[0]


def at(axis: Any, index: Sequence[int]) -> Any:
    for k in index:
        axis = axis[k]
    return axis


@pytest.mark.slow
def test_the_generated_clauses_are_the_invariant_as_the_proof_reads_it() -> None:
    """In reachable states and in states that no run reaches, in machine code and in CPython."""
    code, source = compiled(USUAL), random.Random(3)
    model, names = code.model, names_of(USUAL)
    assert isinstance(model, RefinedModel)
    broken = dict.fromkeys((c.name for c in model.clauses), 0)
    for data in source.sample(reachable(), 5):
        for flips in (0, 12, 150):
            s = shaken(model, data, source, flips)
            mask = code.judge_state(code.state(s.key()), (1 << len(code.properties)) - 2)
            table = table_of(model, s)
            for k, clause in enumerate(model.clauses, 1):
                expected = truth(clause.formula, table)
                assert (not mask >> k & 1) == expected, clause.name
                assert names[model.generated.clauses[clause.name][0]](s) == expected, clause.name
                broken[clause.name] += not expected
    assert all(broken.values()), [name for name, count in broken.items() if not count]


def arguments(model: RefinedModel, action: AbstractAction, source: random.Random) -> tuple[tuple[int, ...], list[int]]:
    """Arguments of an action, as the proof numbers them and as the text takes them."""
    instance = instance_of(model)
    numbers, values = [], []
    for v in action.parameters:
        k = source.randrange(instance.size(v.sort))
        numbers.append(k)
        values += as_text(model, v.sort, k)
    return tuple(numbers), values


def as_text(model: RefinedModel, sort: Sort, k: int) -> list[int]:
    if sort in (PROCESS, HISTORY):
        return [k]
    if sort == QUORUM:
        return [sum(1 << p for p in instance_of(model).quorums[k])]
    return list(attempt_of(model, k))


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("action", ZAB.actions, ids=lambda a: a.name)
def test_the_generated_action_is_the_action_as_the_proof_reads_it(action: AbstractAction) -> None:
    """The same guard refuses, and the same state comes of it, whether the guards hold or not."""
    model, names, source = RefinedModel(USUAL), names_of(USUAL), random.Random(action.name)
    refused = set()
    for flips in (0, 4, 60):
        for data in source.sample(reachable(), 6):
            s = shaken(model, data, source, flips)
            numbers, values = arguments(model, action, source)
            table = table_of(model, s)
            names[model.generated.actions[action.name]](s, *values)
            given = dict(zip(action.parameters, numbers, strict=True))
            failing = [name for name, guard in action.guards.items() if meaning(guard, given, table) is not True]
            if failing:
                assert fault_of(model, s) == (action.name, failing[0])
                refused.add(failing[0])
            else:
                assert s.fault == 0
            assert_same(table_of(model, s), step(table, Step(action, numbers)))
    assert bool(refused) == bool(action.guards)


def assert_same(found: Table, expected: Table) -> None:
    for symbol, values in expected.values.items():
        assert found.values[symbol] == values, symbol.name


def test_both_begin_as_the_proof_says() -> None:
    model = RefinedModel(USUAL)
    table = table_of(model, model.program.initial())
    assert_same(table, beginning(ZAB, table))


def test_the_stubs_say_what_is_generated() -> None:
    """Names and parameters of `actions.py`, which the mapping is read with."""
    functions = RefinedModel(PAIR)._functions
    said = {n: f for n, f in vars(stubs).items() if isinstance(f, FunctionType) and f.__module__ == stubs.__name__}
    generated = {n for n in functions if n.startswith("abstract_")}
    assert generated == {n for n in said if n.startswith("abstract_")}
    for name in generated:
        assert list(inspect.signature(functions[name]).parameters) == list(inspect.signature(said[name]).parameters)


# --- zab refines ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_zab_refines_with_three_processes() -> None:
    """One transaction and one timeout, to exhaustion; the larger budgets are in docs/explanation/proof.md."""
    r = explored(ONE)
    assert r.complete
    assert not r.error
    assert not r.violations
    assert all(r.step_counts[MARK + a.name] for a in ZAB.actions)
    assert r.distinct == 159_351
    # each step is one event; an action is taken at most once for each step of the paper that can be one
    assert r.step_counts[MARK + "l.3.1"] == r.step_counts["l.3.1"]
    assert r.step_counts[MARK + "stutter"] < r.generated


@pytest.mark.slow(seconds=2)
def test_the_bridge_leaves_the_executable_protocol_as_it_is() -> None:
    """The product has the same steps: projected to the plain fields, the same states."""
    plain, both = Model(PAIR), RefinedModel(PAIR)
    names = [f.name for f in plain.program.schema.fields if f.role.value != "scratch"]

    def seen(model: Model) -> set[bytes]:
        engine = Interpreter(model, (), False)
        engine.run(Limits(depth=16))
        layout = model.program.layout
        places = [(at, at + layout.fields[n].kind.size) for n in names for _, at in layout.elements(n)]
        return {b"".join(data[start:end] for start, end in places) for data in engine.seen}

    assert seen(plain) == seen(both)
    assert not any(f.name.startswith(("a_", "n_", "was_")) for f in plain.program.schema.fields)


# --- variants do not -----------------------------------------------------------------------------

UNSAFE = {
    "small-quorum": ("l.1.2", "a quorum"),
    "no-sync": ("l.2.2", "quorum"),
    "commit-on-propose": ("l.3.2", "a quorum"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_variant_does_not_refine(name: str) -> None:
    model = RefinedModel(shown("zab")[name].configuration)
    r = Interpreter(model, model.properties[:1], False).run(Limits())
    words = r.violations[REFINES].schedule
    names, s = bound(model), model.program.initial()
    for word in words:
        assert s.fault == 0
        names["apply"](s, word)
    assert fault_of(model, s) == UNSAFE[name]


@pytest.mark.slow
def test_what_breaks_is_told() -> None:
    """The step, its action, the guard and the clause, long before the violated property."""
    variant = shown("zab")["equal-epoch"]
    configuration = variant.configuration
    r = explored(configuration)
    told = {p: failure(compiled(configuration), found) for p, found in r.violations.items()}
    clause = told[CLAUSE + "chosen with promises"]
    assert "its guard `quorum` does not hold" in told[REFINES].sentence
    assert "the clause `chosen with promises` does not hold (c = p" in clause.sentence
    assert told[REFINES].depth < min(variant.breaks.values())
    assert told[REFINES].trace.schedule == r.violations[REFINES].schedule


# --- nothing in the mapping can be wrong unnoticed -------------------------------------------------


def caught(overrides: Mapping[str, FunctionType] | None = None, theory: Theory = ZAB) -> bool:
    """Whether a walk breaks the refinement check with something changed in it; its clauses are sound and compiled."""
    model, code = RefinedModel(USUAL, replace(theory, clauses=()), overrides), compiled(USUAL)
    assert model.program.schema == code.model.program.schema
    names = bound(model)
    for words in walks():
        s = model.program.initial()
        for word in words:
            names["apply"](s, word)
            if s.fault:
                return True
            if code.judge_state(code.state(s.key()), (1 << len(code.properties)) - 2):
                return True
    return False


@pytest.mark.slow(seconds=6)
def test_the_walks_pass_as_it_is() -> None:
    assert not caught()


def nothing(s: State, f: Node, l: Node, m: AnyMessage) -> None:
    pass


UPDATES = [(a, symbol) for a in ZAB.actions for symbol in a.updates]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("action", "symbol"), UPDATES, ids=lambda x: x.name)
def test_a_missing_update_is_caught(action: AbstractAction, symbol: Any) -> None:
    """Each update of each action: it is what a later guard, a clause or the executable state asks for."""
    fewer = replace(action, updates={s: d for s, d in action.updates.items() if s != symbol})
    assert caught(theory=with_action(fewer))


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("action", [a for a in ZAB.actions if a.guards], ids=lambda a: a.name)
def test_the_last_guard_is_asked(action: AbstractAction) -> None:
    """A guard that never holds refuses a step that zab takes; those before it, which the step met, are asked too."""
    never = replace(action, guards={**action.guards, [*action.guards][-1]: FALSE})
    assert caught(theory=with_action(never))


def with_action(changed: AbstractAction) -> Theory:
    return replace(ZAB, actions=tuple(changed if a.name == changed.name else a for a in ZAB.actions))


def test_an_update_that_says_too_much_is_caught() -> None:
    """A commit that is sent to everybody delivers where zab does not."""
    action = next(a for a in ZAB.actions if a.name == "f.3.3")
    symbol = next(s for s in action.updates if s.name == "in_pass")
    everywhere = Definition(action.updates[symbol].variables, ~FALSE)
    assert caught(theory=with_action(replace(action, updates={**action.updates, symbol: everywhere})))


# --- the command ---------------------------------------------------------------------------------


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["refine", *words])


PAIR_WORDS = ("--nodes", "2", "--txns", "1")


def test_quorums_are_those_of_the_system() -> None:
    """Of weights 2,1,1 p1 and p2 are none, though they are more than half; the generated text asks the system too."""
    model = RefinedModel(replace(ONE, quorums="weights 2,1,1"))
    assert set(instance_of(model).quorums) == {frozenset(q) for q in ({0, 1}, {0, 2}, {0, 1, 2})}
    asking = [a for a in ZAB.actions if any(v.sort == QUORUM for v in a.parameters)]
    assert model.generated.text.count(", is_quorum(s, q))") == len(asking) == 3
    assert "MAJORITY" not in model.generated.text


def test_quorums_that_do_not_intersect_break_the_axioms() -> None:
    model = RefinedModel(replace(ONE, quorums="weights 3,3,-3", timeouts=0))
    found = Interpreter(model, model.properties, True).run(Limits(depth=1)).violations
    assert {name: v.depth for name, v in found.items()} == {CLAUSE + "axioms": 0}


@pytest.mark.slow(seconds=3)
def test_the_command_says_that_zab_refines() -> None:
    done = run(*PAIR_WORDS, "--json")
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert said["verdict"] == "refines"
    assert said["coverage"]["exhausted"]
    assert said["actions"]["f.1.2"] > 0
    assert said["never_taken"] == ["l.3.3", "l.3.4"]
    assert len(said["clauses"]) == len(ZAB.clauses) + 1


@pytest.mark.slow(seconds=3)
def test_the_command_shows_the_step_that_does_not(tmp_path: Path) -> None:
    file = tmp_path / "run.trace.json"
    done = run("--txns", "1", "--variant", "equal-epoch", "--trace", str(file))
    assert done.exit_code == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith("does not refine: step 14 (l.1.2, l.2.1) is l.1.2(p")
    assert "its guard `quorum` does not hold" in " ".join(done.stdout.split())
    assert CliRunner().invoke(main, ["replay", str(file)]).exit_code == 0


@pytest.mark.slow(seconds=3)
def test_a_limit_gives_no_verdict() -> None:
    done = run(*PAIR_WORDS, "--max-states", "30")
    assert done.exit_code == 3
    assert done.stdout.startswith("no verdict: --max-states 30 reached")


def test_a_depth_is_part_of_the_verdict() -> None:
    done = run(*PAIR_WORDS, "--depth", "9")
    assert done.exit_code == 0
    assert "never taken within these bounds: " in done.stdout
    assert "explored to depth 9 and no further" in " ".join(done.stdout.split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--variant", "no-promises"), "there is no variant 'no-promises'; did you mean"),
        (("--nodes", "9"), "--nodes must be 1 to 7, not 9"),
        (("--depth", "-1"), "--depth must be 0 or more, not -1"),
        (("--timeouts", "15", "--crashes", "15", "--losses", "15"), "the refinement check takes at most 60 epochs"),
    ],
)
def test_wrong_questions(words: tuple[str, ...], sentence: str) -> None:
    assert_refused(run(*words), f"zabcheck: {sentence}")


def test_there_is_no_bridge_from_another_protocol() -> None:
    with pytest.raises(ConfigError, match="there is none for db19"):
        RefinedModel(Configuration(protocol="db19"))
