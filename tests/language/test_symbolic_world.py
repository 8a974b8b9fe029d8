"""The symbolic world against the compiled one: the same steps are possible, with the same effect on
every field, in any state, reachable or not."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
import z3

from checker.explore.compiled import full_namespace
from checker.proofs.symbolic.solver import Solver, SolverAnswer
from checker.proofs.symbolic.transition import StepChoice, Transition
from tests.models import CONFIGURATIONS, compiled, model, walked
from tests.patience import HANG
from tests.symbolic_states import Z3Text, fill, random_state
from zabspec.language import Role
from zabspec.model import Configuration
from zabspec.proofs.symbolic_memory import bytes_of, state_cells, values_of, well_formed
from zabspec.proofs.symbolic_terms import Term
from zabspec.proofs.z3_terms import Z3Terms

# Every kind of step, over each network; small, so that thousands of states take seconds. The channels of
# db19 hold less than a run can send, so that they overflow, too.
ONE: dict[str, Any] = {"nodes": 2, "txns": 1, "timeouts": 1, "crashes": 1, "losses": 1, "channel": 2}
DB19: dict[str, Any] = {
    "protocol": "db19", "nodes": 2, "txns": 1, "timeouts": 1, "heartbeats": 1, "crashes": 1, "channel": 4,
}  # fmt: skip
WORLDS = (
    CONFIGURATIONS[1],
    Configuration(**ONE, network="lossy", drops=1),
    Configuration(**ONE, network="unordered"),
    Configuration(**{**ONE, "losses": 0}, network="stale"),
    Configuration(**ONE, network="duplicating", duplicates=1),
    Configuration(**DB19),
)
STATES = 24  # reached by random walks; as many with entries changed; half as many that are anything


class Both:
    """One configuration in both worlds, the symbolic one as the Python that its z3 terms are."""

    def __init__(self, configuration: Configuration) -> None:
        m = model(configuration)
        self.code = compiled(configuration)
        self.transition = Transition(m, full_namespace(m))
        self.layout = self.transition.layout
        self.cells = state_cells(self.layout).all
        self.terms = Z3Terms()
        self.text = Z3Text(self.terms)
        fields = [f for f in self.layout.schema.fields if f.role is not Role.SCRATCH]
        self.entries = [(f.kind, at) for f in fields for _, at in self.layout.elements(f.name)]
        self.keys = [key for key, v in self.transition.state.items() if isinstance(v, Term)]
        self.variables = [v for v in self.transition.state.values() if isinstance(v, Term)]
        self.actions = {a.word: a for a in self.transition.actions}
        guards = [(a.guard, 0) for a in self.actions.values()]
        self.guards = self.text.compiled([*guards, (self.transition.enabled[1], 32)], self.variables)
        self.effects: dict[int, Any] = {}

    def effect(self, word: int) -> tuple[list[int], Any]:
        """The cells that a step writes, and a function that gives what it writes."""
        if word not in self.effects:
            after = self.actions[word].after
            keys = [key for key in self.cells if after[key] is not self.transition.state[key]]
            roots = [(after[key], self.cells[key].width) for key in keys]
            self.effects[word] = keys, self.text.compiled(roots, self.variables)
        found: tuple[list[int], Any] = self.effects[word]
        return found

    def error(self, data: bytes) -> int:
        at = self.layout.offset("error")
        return int.from_bytes(data[at : at + 4], "little")

    def without_error(self, data: bytes) -> bytes:
        at = self.layout.offset("error")
        return data[:at] + data[at + 4 :]

    def compare(self, data: bytes) -> dict[int, int]:
        """Hold the two together in one state; returns its steps, each with the error that it meets."""
        values = values_of(self.layout, data)
        assert bytes_of(self.layout, values)[: self.layout.size] == data
        given = [values[key] for key in self.keys]
        *said, asked = self.guards(given)
        possible = {word for word, true in zip(self.actions, said, strict=True) if true}
        met, refused = {}, self.unasked(data)
        for word in possible:
            after = self.taken(data, word)
            keys, function = self.effect(word)
            made = bytes_of(self.layout, {**values, **dict(zip(keys, function(given), strict=True))}, data, keys)
            site = asked or self.error(made)
            mine = self.transition.typed.sites[site - 1].sentence() if site else ""
            theirs = refused or self.error(after)
            assert mine == (self.code.said_of(theirs) if theirs else ""), hex(word)
            assert self.without_error(made) == self.without_error(after), hex(word)
            met[word] = site
        steps = {word: after for word, after in self.code.next_states(data) if self.is_word(word)}
        assert steps == {word: self.taken(data, word) for word in possible if not met[word]}
        return met

    def taken(self, data: bytes, word: int) -> bytes:
        """The state after a step, whatever error that meets."""
        state = self.code.state(data)
        self.code.take(state, word)
        return bytes(state)[: self.layout.total]

    def unasked(self, data: bytes) -> int:
        """The error that asking for the steps of a state meets: it has none then."""
        state, room = self.code.state(data), self.code.model.most_steps + 1
        out = ctypes.create_string_buffer(room * (self.layout.total + 8))
        self.code.successors(state, out, room - 1, self.code._work)
        return self.error(bytes(state))

    @staticmethod
    def is_word(word: int) -> bool:
        """Whether a state that follows nobody did not make the word up (its operand is -1)."""
        return not word >> 63 and (word >> 8 & 0xFF) < 128 and (word >> 16 & 0xFF) < 128

    def state_that_allows(self, actions: Iterable[StepChoice]) -> bytes | None:
        """A state in which one of some steps is possible, if there is one: z3 says so."""
        solver = Solver(seconds=HANG, logic="QF_FD")
        legal = well_formed(self.layout, self.transition.state)
        solver.add(*map(self.terms.truth, legal), z3.Or(*(self.terms.truth(action.guard) for action in actions)))
        result = solver.check()
        assert result.answer is not SolverAnswer.UNDECIDED
        if result.model is None:
            return None
        values = values_of(self.layout, b"")
        for key, v in zip(self.keys, self.variables, strict=True):
            said = result.model.eval(self.terms.bits(v, v.width), model_completion=True)
            values[key] = z3.is_true(said) if v.width == 0 else said.as_long()
        return bytes_of(self.layout, values)[: self.layout.size]

    def mutated(self, data: bytes, source: random.Random) -> bytes:
        """A state with some entries of its fields put in at random."""
        out = bytearray(data)
        for kind, at in source.sample(self.entries, source.randint(1, 4)):
            out[at : at + kind.size] = bytes(kind.size)
            fill(kind, source, out, at)
        return bytes(out)


@cache
def both(configuration: Configuration) -> Both:
    return Both(configuration)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", WORLDS, ids=str)
def test_every_step_in_any_state(configuration: Configuration) -> None:
    """Reachable states, some of them with a few entries changed, and states that are only well-formed: the
    last meet errors, too. z3 finds a state for a step that none of them allows, until it says that there is no more; so
    every step word, with every choice, is taken in one, unless there is none."""
    worlds = both(configuration)
    source = random.Random(7)
    reached = walked(configuration, STATES)
    changed = [worlds.mutated(source.choice(reached), source) for _ in range(STATES)]
    anything = [random_state(worlds.layout, source) for _ in range(STATES // 2)]
    met: dict[int, int] = {}
    errors = 0
    for data in (*reached, *changed, *anything):
        for word, error in worlds.compare(data).items():
            met[word] = met.get(word, 0) + 1
            errors += error > 0
    left = {word: a for word, a in worlds.actions.items() if a.guard is not False and word not in met}
    while (found := worlds.state_that_allows(left.values())) is not None:
        taken = left.keys() & worlds.compare(found)
        assert taken
        left = {word: action for word, action in left.items() if word not in taken}
    assert errors > 0


@pytest.mark.slow(seconds=3)
def test_z3_itself_gives_what_is_tested() -> None:
    """z3's own evaluation of guards and effects, on some states: what the test above reads is what z3 means."""
    configuration = WORLDS[0]
    worlds = both(configuration)
    source = random.Random(3)
    for data in [*walked(configuration, 40)[::4], *(random_state(worlds.layout, source) for _ in range(3))]:
        values = values_of(worlds.layout, data)
        given = [values[key] for key in worlds.keys]
        pairs = [
            (worlds.terms.bits(v, v.width), z3.BoolVal(x) if v.width == 0 else z3.BitVecVal(x, v.width))
            for v, x in zip(worlds.variables, given, strict=True)
        ]
        *said, _ = worlds.guards(given)
        for action, true in zip(worlds.actions.values(), said, strict=True):
            assert z3.is_true(z3.simplify(z3.substitute(worlds.terms.truth(action.guard), *pairs))) == true
            if true:
                keys, function = worlds.effect(action.word)
                expected = function(given)
                for k in source.sample(range(len(keys)), min(len(keys), 12)):
                    width = worlds.cells[keys[k]].width
                    term = worlds.terms.bits(action.after[keys[k]], width)
                    shown = z3.simplify(z3.substitute(term, *pairs))
                    assert (z3.is_true(shown) if width == 0 else shown.as_long()) == expected[k]


@pytest.mark.slow(seconds=1)
def test_states_that_are_ones_and_no_others_are_well_formed() -> None:
    """What is assumed of a state in a proof is true of every state, and of none that breaks it in a cell."""
    worlds = both(WORLDS[0])
    legal = worlds.text.compiled(
        [(t, 0) for t in well_formed(worlds.layout, worlds.transition.state)], worlds.variables
    )
    source = random.Random(5)
    refused = 0
    for data in [*walked(WORLDS[0], 60), *(random_state(worlds.layout, source) for _ in range(60))]:
        values = values_of(worlds.layout, data)
        given = [values[key] for key in worlds.keys]
        assert all(legal(given))
        k = source.randrange(len(given))
        width = worlds.variables[k].width
        other = [*given[:k], source.randrange(1 << width) if width else not given[k], *given[k + 1 :]]
        if not all(legal(other)):
            refused += 1
            continue
        values.update(zip(worlds.keys, other, strict=True))
        again = values_of(worlds.layout, bytes_of(worlds.layout, values)[: worlds.layout.size])
        assert [again[key] for key in worlds.keys] == other  # nothing is lost on the way to bytes and back
    assert refused > 10
