"""The interpreter's opinion of what z3 says: it agrees of protocols as they are, and meets planted faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker.commands.init import START
from checker.opinion.outcome import SecondOpinion
from checker.proofs.symbolic import induction, pool, unroll, views
from checker.proofs.symbolic.assumptions import beside, cut, sized
from checker.proofs.symbolic.bmc import Bounds, Search, check
from checker.proofs.symbolic.enabledness import Possible
from checker.proofs.symbolic.induction import Induction, InductionFinding
from checker.proofs.symbolic.induction_opinion import Claims, second_opinion
from checker.proofs.symbolic.pool import Outcome, Question, Verdict
from checker.proofs.symbolic.solver import Result, SolverAnswer
from checker.proofs.symbolic.transition import Transition
from invariants import properties_of
from invariants.proofs.argument import argument_of
from tests.proofs.symbolic.test_small_protocols import SMALL
from zabspec.model import Configuration, Model
from zabspec.proofs import symbolic_numbers as numbers
from zabspec.proofs import symbolic_terms as terms
from zabspec.proofs.symbolic_statements import SymbolicProgram
from zabspec.proofs.z3_terms import Z3Terms

FAR = """
from __future__ import annotations

from typing import Annotated

from zabcheck.language import Fields, Range, Node, action, declare, safety, shared


class State(Fields):
    count: Annotated[int, Range(0, 40)] = shared("how often it was counted")
    spoilt: bool = shared("whether it was, at the end")


@action(when=lambda s, p: s.count < 40)
def grow(s: State, p: Node) -> None:
    s.count += 1


@action(when=lambda s, p: s.count == 40)
def spoil(s: State, p: Node) -> None:
    s.spoilt = True


def counted(s: State) -> bool:
    return s.count > 0


@safety(witness=counted)
def low(s: State) -> bool:
    'It is not spoilt.'
    return not s.spoilt


PROTOCOL = declare(__name__, nodes=2)
"""

# Protocols that between them use what the faults concern, the largest last.
TEXTS = {
    "a helper that returns": SMALL["return before no error"].text,
    "a helper that returns late": SMALL["return before an error"].text,
    "violated at the start": SMALL["violated at the start"].text,
    "errors in a clause": SMALL["an error met before"].text,
    "alternatives": SMALL["three alternatives"].text,
    "an error before a choice": FAR.replace("s.count += 1", "s.count += 30\n    s.spoilt = choose(s, 2) > 1").replace(
        "declare, safety", "choose, declare, safety"
    ),
    "beyond a range": SMALL["beyond a range"].text.replace("s.level[p] += 5", "s.level[p] += 3"),
    "one is skipped": SMALL["as it is"].text.replace("s.level[p] > 2", "s.level[p] == 1"),
    "far away": FAR,
    "beyond a range, far away": FAR.replace("when=lambda s, p: s.count < 40", ""),
    "two-phase commit": START.read_text(encoding="utf-8"),
}


def opinion(path: str) -> SecondOpinion | None:
    """What the interpreter says of the conclusions of a whole induction; None if there are none."""
    c = sized(Configuration(path, nodes=2, channel=2))
    argument = argument_of(path)
    assert argument is not None
    clauses = tuple(p.name for p in (*beside(c), *argument.clauses))
    question = Question(c, clauses, targets=tuple(p.name for p in argument.targets))
    named = question.named
    asked = Induction(
        Model(c), named(clauses), (), named(question.targets), [p.name for p in argument.shapes], argument.cases,
        not pool.told_apart(question),
    )  # fmt: skip
    can = Possible(asked, argument.impossible, cut(c))
    verdicts = {p.name: Verdict(p) for p in named((*clauses, *question.targets))}
    outcome = Outcome(question, list(verdicts.values()), [can.enabled()])
    pool.note(verdicts, asked.initially() + asked.implied())
    for move in asked.moves:
        outcome.taken.append(taken := can.of(move))
        if not taken.impossible:
            pool.note(verdicts, asked.ask(move))
    kept = frozenset(name for name, v in verdicts.items() if v.word == pool.PROVED)
    return second_opinion(asked, Claims(kept, frozenset(outcome.impossible), outcome.erring)) if kept else None


def bounded(path: str) -> str:
    """What the interpreter says of a bounded check that found nothing."""
    judged = [p for p in properties_of(path) if p.default]
    return check(Model(Configuration(path, nodes=2, channel=2)), judged, Bounds(3)).second.difference


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    def to(name: str) -> str:
        path = tmp_path / f"{name.replace(' ', '_').replace('-', '_')}.py"
        path.write_text(TEXTS[name], encoding="utf-8")
        return str(path)

    return to


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ("beyond a range", "one is skipped")])
def test_the_interpreter_agrees(write: Callable[[str], str], name: str) -> None:
    path = write(name)
    found = opinion(path)
    assert found is not None
    assert found.difference == ""
    assert found.states > 50
    assert bounded(path) == ""


# --- planted faults ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plant:
    """A fault: what is replaced, and by what, given the true one; and which of TEXTS shows it."""

    owner: Any
    name: str
    other: Callable[[Any], Any]
    shown: str = "a helper that returns"


def the_last_return(true: Any) -> Any:
    def leave(self: Any, env: Any, value: Any, frame: Any) -> None:
        true(self, env, value, frame)
        frame.value = value

    return leave


def fewer_states(true: Any) -> Any:
    def well_formed(layout: Any, values: Any) -> list[Any]:
        levels = [v for v in values.values() if isinstance(v, terms.Term) and v.width == 3]
        return [*true(layout, values), *(terms.not_(terms.equal(v, 2, 3)) for v in levels)]

    return well_formed


def none_at_the_end(true: Any) -> Any:
    def well_formed(layout: Any, values: Any) -> list[Any]:
        counts = [v for v in values.values() if isinstance(v, terms.Term) and v.width == 6]
        return [*true(layout, values), *(terms.not_(terms.equal(v, 40, 6)) for v in counts)]

    return well_formed


def without_errors(true: Any) -> Any:
    def ask(self: Any, seconds: float) -> Result:
        self.errors_at_end = []
        return true(self, seconds)

    return ask


def negated(true: Any) -> Any:
    return lambda self, t: true(self, terms.not_(t) if getattr(t, "op", "") == "<" else t)


def proved_at_once(true: Any) -> Any:
    def refute(self: Any, solver: Any, what: Any, seconds: float | None = None) -> Result:
        return true(self, solver, what, seconds) if seconds else Result(SolverAnswer.PROVED, 0.0)

    return refute


def never_the_first(true: Any) -> Any:
    def extend(self: Any) -> Any:
        made = true(self)
        made.constraints.append(terms.not_(made.taken[0]))
        return made

    return extend


def all_but_one(true: Any) -> Any:
    return property(lambda self: dict([*true.func(self).items()][1:]))


def initially(true: Any) -> Any:
    return lambda self: [InductionFinding(c.name, "", SolverAnswer.PROVED, 0.0) for c in self.clauses]


def holds(true: Any) -> Any:
    def value(self: Any, clause: Any, state: Any) -> Any:
        true(self, clause, state)
        return self.machine.on_states(clause.holds.__name__, [state], [])[0]

    return value


PLANTS: dict[str, Plant] = {
    "the last return wins": Plant(SymbolicProgram, "leave", the_last_return),
    "no error is recorded": Plant(SymbolicProgram, "report", lambda _: lambda *_: None, "errors in a clause"),
    "the sides of an if are swapped": Plant(
        SymbolicProgram, "join", lambda true: lambda self, test, a, c, *more: true(self, test, c, a, *more)
    ),
    "errors of clauses are ignored": Plant(views.Views, "holds", holds, "errors in a clause"),
    "some states are not considered": Plant(induction, "well_formed", fewer_states),
    "numbers end before their ranges": Plant(induction, "well_formed", none_at_the_end, "far away"),
    "no step meets an error": Plant(Possible, "errors", lambda _: lambda *_: ((), ()), "beyond a range, far away"),
    "errors in properties are not asked": Plant(Search, "ask", without_errors, "errors in a clause"),
    "nothing is left to show": Plant(Induction, "open", lambda _: lambda *_: [], "a helper that returns late"),
    "no step breaks any clause": Plant(
        Induction, "may_break", lambda _: lambda *_: False, "a helper that returns late"
    ),
    "no state is found": Plant(Possible, "some", lambda _: lambda *_: None),
    "the initial state is not judged": Plant(Induction, "initially", initially, "violated at the start"),
    "z3 is told the opposite": Plant(Z3Terms, "truth", negated),
    "one more is no more": Plant(
        numbers, "add", lambda true: lambda a, b: true(a, b) if b != 1 else a, "two-phase commit"
    ),
    "everything is proved at once": Plant(Induction, "refute", proved_at_once),
    "all steps are independent": Plant(unroll.Unrolling, "dependent", lambda _: lambda *_: False, "two-phase commit"),
    "one step is in no round": Plant(unroll.Unrolling, "extend", never_the_first),
    "one step is in no list": Plant(Transition, "guards", all_but_one, "two-phase commit"),
    "there is one alternative": Plant(
        Transition, "actions_of", lambda true: lambda self, word: true(self, word)[:1], "alternatives"
    ),
}


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_planted_faults_are_met(write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    path = write(plant.shown)
    pool.told_apart.cache_clear()
    monkeypatch.setattr(plant.owner, plant.name, plant.other(inspect.getattr_static(plant.owner, plant.name)))
    found = opinion(path)
    assert (found is not None and found.difference) or bounded(path)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("name", "steps", "sentence"),
    [
        ("a helper that returns late", 2, "2 steps violate low"),  # the states before each satisfying it
        ("one is skipped", 4, "a run violates a clause"),  # after one step; no four steps satisfy it before the last
    ],
)
def test_what_several_steps_are_said_to_preserve_is_taken(
    write: Callable[[str], str], name: str, steps: int, sentence: str
) -> None:
    path = write(name)
    c = sized(Configuration(path, nodes=2, channel=2))
    clauses = argument_of(path).clauses  # type: ignore[union-attr]
    claims = Claims(frozenset(), frozenset(), frozenset(), {"low": steps})
    assert sentence in second_opinion(Induction(Model(c), clauses), claims).difference
