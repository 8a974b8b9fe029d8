"""z3: the successors that the terms given to it allow, from some reached states of a protocol."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import z3

from checker.proofs.symbolic.transition import StepChoice, Transition
from invariants.binding import full_namespace
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference, told
from tests.second.harness.question import Question
from tests.second.harness.stepping import Interpreted
from zabspec.proofs.symbolic import Untranslatable
from zabspec.proofs.symbolic_memory import SLOTS, bytes_of, state_cells, values_of
from zabspec.proofs.z3_terms import Z3Terms

MOST = 6  # states of a protocol
LONGEST = 40.0  # CPU seconds, after which no further state is begun


def compared(question: Question, book: Book) -> Difference | str | None:
    """Hold what z3 allows against the reference."""
    if question.model.fails:
        return "texts with disks are not for z3 yet"
    room = 1 + max(flight(state) for state in book.answer["states"])
    small = Question({**question.request, "sizes": {**question.request.get("sizes", {}), "channel": room}})
    try:
        allowed = Allowed(small)
    except Untranslatable as why:
        return str(why)
    end = time.process_time() + LONGEST
    states = [(k, state) for k, state in held_states(small, book) if k not in book.errors]
    for k, state in states[:: max(1, len(states) // MOST)]:
        found = allowed.steps(state)
        wanted = book.steps(k)
        if found != wanted:
            return told("symbolic", book, k, wanted, found)
        if time.process_time() > end:
            break
    return None


def flight(state: Mapping[str, Any]) -> int:
    """The most messages in flight in one place of a state."""
    network = state["network"]
    if "in_flight" in network:
        return len(network["in_flight"])
    return max([0, *(len(c) for row in network["to_leader"] for c in row), *map(len, network["to_follower"])])


def held_states(question: Question, book: Book, most: int = 60) -> Iterator[tuple[int, bytes]]:
    """Some reached states in our memory, in the order in which they are reached."""
    engine = Interpreted(question)
    ahead = deque((book.number[question.plain.text(data)], data) for data in question.starts)
    seen = {k for k, _ in ahead}
    while ahead and most:
        k, state = ahead.popleft()
        if k not in book.expanded_set:
            continue
        yield k, state
        most -= 1
        for _, after in engine.steps(state)[0]:
            number = book.number.get(question.plain.text(after))
            if number is not None and number not in seen:
                seen.add(number)
                ahead.append((number, after))


class Allowed:
    """The steps of a model as z3 has them."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.transition = Transition(question.model, full_namespace(question.model))
        self.terms = Z3Terms()
        self.layout = self.transition.layout
        self.cells = state_cells(self.layout).all
        self.variables = [
            (key, self.terms.bits(v, self.cells[key].width))
            for key, v in self.transition.state.items()
            if not isinstance(v, (int, bool))
        ]
        self.error = self.layout.offset("error") << SLOTS

    def steps(self, state: bytes) -> dict[str, set[str]]:
        """The successors of a state by their texts, with labels."""
        values = values_of(self.layout, state)
        given = [(v, self.constant(values[key], key)) for key, v in self.variables]

        def worth(term: Any, width: int) -> int | bool:
            if isinstance(term, (int, bool)):
                return term
            found = z3.simplify(z3.substitute(self.terms.bits(term, width), given))
            if width:
                return int(found.as_long())
            assert z3.is_true(found) or z3.is_false(found)
            return z3.is_true(found)

        out: dict[str, set[str]] = {}
        for action in self.transition.actions:
            if worth(action.guard, 0) and not worth(action.error, 32):
                after = self.after(action, state, values, worth)
                out.setdefault(self.question.plain.text(after), set()).add(self.question.label(action.word))
        return out

    def constant(self, value: int | bool, key: int) -> Any:
        width = self.cells[key].width
        return z3.BitVecVal(int(value), width) if width else z3.BoolVal(bool(value))

    def after(self, action: StepChoice, state: bytes, values: Mapping[int, int | bool], worth: Any) -> bytes:
        changed = {key: worth(action.after[key], self.cells[key].width) for key in action.changes}
        return bytes_of(self.layout, {**values, **changed}, state, action.changes)
