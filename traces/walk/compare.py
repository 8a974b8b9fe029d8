"""Run one schedule in two models: how far both take it, and where they first differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from traces.explain.names import headline
from traces.pictures.states import entries
from traces.record.trace import JsonState, StepWord
from traces.record.values import state_json
from traces.walk.walker import Possible, Walker, WalkError, WalkPlace
from zabspec.language.layout.schema import Role
from zabspec.language.python.reference import StateView


@dataclass(frozen=True)
class Difference:
    """The point at which two models first differ.

    Attributes:
        at: the number of steps before it.
        left, right: the names of the steps that are possible in only one of them.
        fields: the fields of the state that differ, each with its values.
    """

    at: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Comparison:
    """The result of taking a schedule in another model.

    Attributes:
        end: the place there, as far as the schedule can be taken.
        first: where they first differ; None if nowhere.
        refused: the name of the step that the other model does not have there; empty if it took all of them.
        alone: fields that only one of the models has, which are not compared.
    """

    end: WalkPlace
    first: Difference | None
    refused: str
    alone: tuple[str, ...]


def compared(whole: WalkPlace, other: Walker) -> Comparison:
    """Take the way to a place in another model.

    Raises:
        WalkError: the models have different processes.
    """
    mine = whole.walker
    nodes = [w.model.configuration.nodes for w in (mine, other)]
    if nodes[0] != nodes[1]:
        raise WalkError(f"these models cannot be compared: one has {nodes[0]} processes, the other {nodes[1]}")
    left, right, first = [*reversed(list(way_to(whole)))], other.start, None
    refused = ""
    for at, place in enumerate(left):
        first = first or difference(at, place, right)
        if at == len(left) - 1:
            break
        wanted = key(mine, left[at + 1].steps[-1].word)
        index = next((p.index for p in right.possible if key(other, p.step.word) == wanted and p.failure is None), None)
        if index is None:
            refused = headline(left[at + 1].steps[-1])
            break
        right = other.after(right, index)
    names = [{f.name for f in w.layout.schema.fields} for w in (mine, other)]
    return Comparison(right, first, refused, tuple(sorted(names[0] ^ names[1])))


def way_to(place: WalkPlace | None) -> Iterator[WalkPlace]:
    """Yield a place and all before it, the last first."""
    while place is not None:
        yield place
        place = place.parent


def key(walker: Walker, word: StepWord) -> tuple[object, ...]:
    """Return a key of a step that holds in another model: an action is identified by its name, not its number."""
    program, operands = walker.model.program, dict(word.operands)
    own = {"action": program.actions, "environment": program.changes}.get(word.kind)
    if own is not None and "which" in operands:
        return word.kind, word.choice, own[operands.pop("which")], *sorted(operands.items())
    return word.kind, word.choice, *sorted(operands.items())


def difference(at: int, left: WalkPlace, right: WalkPlace) -> Difference | None:
    """Return how two places differ, or None if all that both models have is equal."""
    only = [tuple(called(p) for p in only_here(*pair)) for pair in ((left, right), (right, left))]
    found = Difference(at, only[0], only[1], tuple(fields(left, right)))
    return found if found.left or found.right or found.fields else None


def only_here(here: WalkPlace, there: WalkPlace) -> list[Possible]:
    """Return the steps that are possible at one place and not at another place of another model."""
    known = {key(there.walker, p.step.word) for p in there.possible}
    return [p for p in here.possible if key(here.walker, p.step.word) not in known]


def called(p: Possible) -> str:
    return headline(p.step)


def fields(left: WalkPlace, right: WalkPlace) -> Iterator[tuple[str, str, str]]:
    """Yield the fields that both models have with different values, without budgets, which are configuration."""
    theirs = {f.name: f for f in right.walker.layout.schema.fields}
    for f in left.walker.layout.schema.fields:
        if f.role in (Role.SCRATCH, Role.BUDGET) or f.name not in theirs:
            continue
        if left.json[f.name] != right.json[f.name]:
            mine, other = text_of(left, f.name), text_of(right, f.name)
            if mine != other:  # of models with other bounds a field may have more room, and nothing in it
                yield f.name, mine, other


def text_of(place: WalkPlace, name: str) -> str:
    """Return a field as text."""
    layout = place.walker.layout
    f = layout.fields[name]
    nothing: JsonState = state_json(StateView(layout))
    return entries(f.kind, f.axes, place.json[name], nothing[name])
