"""What an induction says of a protocol is what looking at every one of its states says, reachable or not."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from checker.proofs.symbolic.assumptions import beside
from checker.proofs.symbolic.induction import Induction, describe
from checker.proofs.symbolic.solver import SolverAnswer
from invariants.proofs.argument import argument_of
from invariants.registry import STEP, Property
from tests.models import model, python_names
from zabspec.language import Layout, Role, Seq, StateView
from zabspec.language.layout.kinds import Int, Kind, MessageUnion
from zabspec.language.python.reference import RangeError
from zabspec.model import Configuration, Model

TEXT = Path(__file__).parent / "few_states.py"


def configured(path: Path = TEXT) -> Configuration:
    return Configuration(str(path), nodes=2, network="datagrams", channel=1)


# --- looking at every state -----------------------------------------------------------------------------


def values(kind: Kind) -> Iterator[bytes]:
    """Every value of a kind, as bytes."""
    if isinstance(kind, Seq):
        for count in range(kind.capacity + 1):
            for parts in product([*values(kind.element)][1:], repeat=count):  # no message has the tag 0
                yield (count.to_bytes(kind.header, "little") + b"".join(parts)).ljust(kind.size, b"\0")
    elif isinstance(kind, MessageUnion):
        yield bytes(kind.size)
        for tag, message in enumerate(kind.messages, 1):
            envelope = [[bytes(1)] if name == "ahead" else [*values(k)][1:] for name, k in kind.envelope.items()]
            for parts in product(*envelope, *map(values, message.fields.values())):  # from and to somebody
                yield (bytes([tag]) + b"".join(parts)).ljust(kind.size, b"\0")
    else:
        assert isinstance(kind, Int)
        yield from (k.to_bytes(kind.size, "little") for k in range(kind.hi - kind.lo + 1))


def every_state(layout: Layout) -> Iterator[bytes]:
    fields = [f for f in layout.schema.fields if f.role is not Role.SCRATCH]
    places = [(at, f.kind) for f in fields for _, at in layout.elements(f.name)]
    for parts in product(*([*values(kind)] for _, kind in places)):
        data = bytearray(layout.size)
        for (at, _), part in zip(places, parts, strict=True):
            data[at : at + len(part)] = part
        yield bytes(data)


@cache
def clauses() -> tuple[Property, ...]:
    found = argument_of(str(TEXT))
    assert found is not None
    return (*beside(configured()), *found.clauses)


@cache
def targets() -> tuple[Property, ...]:
    found = argument_of(str(TEXT))
    assert found is not None
    return tuple(found.targets)


def keeps(names: dict[str, Any], c: Property, *states: StateView) -> bool:
    try:
        return bool(names[c.holds.__name__](*states))
    except RangeError:
        return False


def successors(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The steps of a state that meet no error, each with the state after it, scratch included."""
    names, layout = python_names(configured()), model(configured()).program.layout
    out = [0] * 512
    names["enabled"](StateView(layout, data), out)
    for word in out[1 : out[0] + 1]:
        choice, choices = 0, 1
        while choice < choices:
            after = StateView(layout, data)
            with contextlib.suppress(RangeError):
                names["apply"](after, word | choice << 32)
                yield word | choice << 32, bytes(after.buffer)
            choices = max(choices, after.choices)
            choice += 1


@cache
def steps() -> list[tuple[frozenset[str], bytes, int, str, bytes]]:
    """Every step from a state that satisfies the clauses about the network: which others it does not satisfy, the
    state, the word, the label, and the state after it."""
    configuration = configured()
    made, names = model(configuration), python_names(configuration)
    layout = made.program.layout
    out, network = [], {c.name for c in beside(configuration)}
    for data in every_state(layout):
        broken: set[str] = set()
        for c in clauses():
            if not keeps(names, c, StateView(layout, data)):
                broken.add(c.name)
                if c.name in network:
                    break
        else:
            for word, after in successors(data):
                label = describe(word, made.protocol)
                if label.startswith("receive"):
                    label += f" {made.union.messages[after[layout.offset('event_message')] - 1].name}"
                out.append((frozenset(broken), data, word, label, after))
    return out


def said(assumed: set[str]) -> dict[str, dict[str, bool]]:
    """Of each step that some state which satisfies what is assumed has, by its label: whether it keeps each clause and
    each property of steps, from all of these states."""
    configuration = configured()
    names, layout = python_names(configuration), model(configuration).program.layout
    kept: dict[str, dict[str, bool]] = defaultdict(lambda: {c.name: True for c in (*clauses(), *targets())})
    for broken, data, _, label, after in steps():
        if not broken & assumed:
            one = kept[label]
            before, then = StateView(layout, data), StateView(layout, after)
            for c in clauses():
                one[c.name] = one[c.name] and keeps(names, c, StateView(layout, after[: layout.size]))
            for p in targets():
                one[p.name] = one[p.name] and keeps(names, p, before, then, then)
    return kept


# --- the same ------------------------------------------------------------------------------------------

CASES = {"TICK": ("level",), "rise": ("level",), "STOP": ("level",)}  # what STOP does depends on no level
WITHOUT: list[set[str]] = [set(), {"not-both-high"}, {"early-is-low", "stopped-when-late"}, {"late-at-the-end"}]


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(
    ("without", "split"),
    [*((without, False) for without in WITHOUT), (WITHOUT[1], True)],
    ids=lambda x: ("whole", "case by case")[x] if isinstance(x, bool) else "+".join(sorted(x)) or "all",
)
def test_each_answer_is_that_of_all_states(without: set[str], split: bool) -> None:
    """Whichever clauses are assumed, and whether the values of fields are asked about one by one; what is said to break
    a clause is a step that does."""
    configuration = configured()
    made, names = model(configuration), python_names(configuration)
    layout = made.program.layout
    left = [c for c in clauses() if c.name not in without]
    induction = Induction(
        made, left[1:], left[:1], targets(), first=[c.name for c in left[2:4]], cases=CASES if split else None
    )
    wanted = said({c.name for c in left})
    for move in induction.moves:
        found = {f.clause: f for f in induction.ask(move)}
        assert set(found) <= {c.name for c in (*left[1:], *targets())}
        for c in (*left[1:], *targets()):
            answer = found[c.name].answer if c.name in found else SolverAnswer.PROVED
            kept = wanted[move.label][c.name] if move.label in wanted else True
            assert (answer is SolverAnswer.PROVED) == kept, (move.label, c.name)
            if kept:
                assert c.name not in found or (found[c.name].before, found[c.name].after) == (b"", b"")
                continue
            f = found[c.name]
            assert (f.move, f.word, answer) == (move.label, move.word, SolverAnswer.COUNTEREXAMPLE)
            before, after = StateView(layout, f.before), StateView(layout, f.after)
            assert all(keeps(names, other, before) for other in left)
            stepped = dict(successors(f.before))[f.word]
            assert stepped[: layout.size] == f.after[: layout.size]
            assert not (keeps(names, c, before, StateView(layout, stepped), StateView(layout, stepped))
                        if c.of == STEP else keeps(names, c, after))  # fmt: skip
    assert set(wanted) <= {m.label for m in induction.moves}, "a step that is taken is asked about"


@pytest.mark.slow(seconds=1)
def test_one_clause_is_asked_about_as_well_as_all() -> None:
    induction = Induction(model(configured()), clauses(), targets=targets())
    for move in induction.moves:
        every = {f.clause: f.answer for f in induction.ask(move)}
        for c in (*clauses(), *targets()):
            alone = induction.ask(move, [c.name])
            assert {f.clause: f.answer for f in alone} == {n: a for n, a in every.items() if n == c.name}


def test_a_move_has_the_names_that_the_protocol_gives() -> None:
    labels = [m.label for m in Induction(model(configured()), clauses()).moves]
    assert len(labels) == len(set(labels))
    kinds = [f"receive(process={p}, source={q}) {name}" for p in (0, 1) for q in (0, 1) for name in ("TICK", "STOP")]
    own = [f"rise(process={p}){choice}" for p in (0, 1) for choice in ("", " choice 1")]
    assert set(labels) == {*kinds, *own, "stop(process=0)", "stop(process=1)", "strike()"}


def test_what_holds_at_first_and_what_follows() -> None:
    made = model(configured())
    names, first = python_names(configured()), made.program.initial()
    induction = Induction(made, clauses(), targets=clauses()[2:])
    at_first = {f.clause: f for f in induction.initially()}
    assert {n for n, f in at_first.items() if f.answer is not SolverAnswer.PROVED} == {
        "begins-high",
        "stopped-when-late",
    }
    for c in clauses():
        f = at_first[c.name]
        assert (f.answer is SolverAnswer.PROVED) == keeps(names, c, first)
        assert f.before == f.after == (b"" if keeps(names, c, first) else first.key())
    assert {(f.clause, f.answer) for f in induction.implied()} == {(c.name, SolverAnswer.PROVED) for c in clauses()[2:]}
    fewer = Induction(made, clauses()[:2], targets=clauses()[2:])
    for f in fewer.implied():
        assert f.answer is SolverAnswer.COUNTEREXAMPLE
        view = StateView(made.program.layout, f.before)
        assert [keeps(names, c, view) for c in clauses() if c in clauses()[:2] or c.name == f.clause] == [
            True,
            True,
            False,
        ]


DEFINED = '''"""Who is up goes to the top and back."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, invariant, volatile


class State(Fields):
    level: Each[Node, Annotated[int, Range(0, 2)]] = volatile("0: down, 2: on top")


def is_up(s: State, p: Node) -> bool:
    return s.level[p] > 0


@action(when=is_up)
def turn(s: State, p: Node) -> None:
    s.level[p] = 3 - s.level[p]


def all_up(s: State) -> int:
    return (1 if s.level[0] > 0 else 0) + (1 if s.level[1] > 0 else 0)


def on_top(s: State, p: Node) -> bool:
    return s.level[p] == 2


def below(s: State, p: Node) -> bool:
    return s.level[p] == 1


@invariant
def some_claim(s: State) -> bool:
    """Who is on top, or below it, is up, and then not all are down."""
    for p in range(s.NODES):
        if (on_top(s, p) or below(s, p)) and not (is_up(s, p) and all_up(s) > 0):
            return False
    return True


PROTOCOL = declare(__name__, nodes=2)
'''
Definition = tuple[str, tuple[int, ...]]


class Watched(Induction):
    """Keeps which definitions each step was found to leave as they were, and every formula that was asked about."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.now = ""  # the step
        self.left: dict[str, set[Definition]] = {}
        self.asked: dict[Any, bool] = {}  # and whether it was refuted

    def refute(self, solver: Any, formula: Any, *more: Any) -> Any:
        assert formula not in self.asked
        found = super().refute(solver, formula, *more)
        self.asked[formula] = found.proved
        return found

    def unchanged(self, solver: Any, state: Any, asked: Any) -> Any:
        kept, equations = super().unchanged(solver, state, asked)
        supposed = self.views.supposed.items()
        self.left[self.now] = {(name.removesuffix("__own"), args) for (name, args), e in supposed if e in equations}
        return kept, equations


def left_alone(made: Model, p: int) -> set[Definition]:
    """Which definitions the turn of a process leaves as they are, wherever it is possible."""
    assert made.protocol.text is not None
    names = vars(made.protocol.text.module)
    found: set[Definition] = {("all_up", ()), ("on_top", (p,)), ("below", (p,)), ("is_up", (p,))}
    for levels in product(range(3), repeat=2):
        before, after = made.program.initial(), made.program.initial()
        for q, level in enumerate(levels):
            before.level[q] = after.level[q] = level
        if names["is_up"](before, p):
            names["turn"](after, p)
            found = {(n, args) for n, args in found if names[n](before, *args) == names[n](after, *args)}
    return found


def test_what_a_step_leaves_of_a_definition_is_found_and_asked_about_once(tmp_path: Path) -> None:
    """A state in which some definitions change says nothing against the others, and answers for all that do."""
    path = tmp_path / "defined.py"
    path.write_text(DEFINED, encoding="utf-8")
    found = argument_of(str(path))
    assert found is not None
    made = Model(Configuration(str(path), nodes=2))
    induction = Watched(made, found.clauses)
    for p, move in enumerate(induction.moves):
        induction.now, induction.asked = move.label, {}
        assert move.label == f"turn(process={p})"
        assert not [f for f in induction.ask(move) if f.answer is not SolverAnswer.PROVED]
        assert list(induction.asked.values()).count(False) == 1, "`below` changes in the state in which `on_top` does"
        assert induction.left[move.label] == left_alone(made, p) == {("all_up", ()), ("is_up", (p,))}


def test_an_action_is_made_once() -> None:
    """It is large, and asked for by each message and each case."""
    induction = Induction(model(configured()), clauses())
    for word in {move.word & (1 << 32) - 1 for move in induction.moves}:
        assert induction.actions_of(word) is induction.actions_of(word)


READS = {
    "as it is": ("", "", True),
    "a clause": ("return s.late ==", "return len(s.in_flight) > 0 or s.late ==", False),
    "a sequence": ("return s.late ==", "return len(s.past[0]) > 1 or s.late ==", True),  # which is no bag
}
LEVEL = "level: Each["


@pytest.mark.parametrize(("old", "new", "unordered"), READS.values(), ids=READS.keys())
def test_one_place_stands_for_all_where_nothing_reads_the_flight(
    old: str, new: str, unordered: bool, tmp_path: Path
) -> None:
    path = tmp_path / "few.py"
    text = TEXT.read_text(encoding="utf-8")
    assert old in text
    text = text.replace(
        LEVEL, f'past: Each[Node, Annotated[SeqOf[bool], AtMost(1)]] = volatile("a sequence")\n    {LEVEL}'
    )
    text = text.replace("import (\n", "import (\n    AtMost,\n    SeqOf,\n", 1)
    path.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    found = argument_of(str(path))
    assert found is not None
    c = Configuration(str(path), nodes=2, network="datagrams", channel=2)
    induction = Induction(Model(c), (*beside(c), *found.clauses))
    assert induction.unordered == unordered
    places = {m.label for m in induction.moves if m.name == "TICK"}
    assert any("place=1" in label for label in places) != unordered
    assert not any("place=0" in label for label in places)
