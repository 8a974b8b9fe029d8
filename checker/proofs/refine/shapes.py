"""Where the abstract protocol's symbols are stored in a state of the executable one.

A configuration bounds the finite instance: its processes; for quorums all sets that are one (a majority, or those of
the model's system), as bit masks; for attempts the pairs of a process and an epoch, those of epoch 0 all being the
beginning; for histories the transactions by their identity, 0 being the empty one; epochs and counters unchanged.

A symbol's value at all arguments is one field `a_<name>`. Its axes are processes first, so that whatever renames
processes renames it with them; the others become numbered axes, the last of a relation's the members of a set. An
action builds its new value in `n_<name>`, which is no part of the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zabspec.language import NODE, Field, Int, Role, SetOf
from zabspec.language.layout.kinds import Kind
from zabspec.model import Model
from zabspec.proofs.abstract.logic import ATTEMPT, EPOCH, HISTORY, PROCESS, Symbol
from zabspec.proofs.abstract.vocabulary import STATE, prefix

KEPT: tuple[Symbol, ...] = (*STATE, prefix)
"""What is kept in the state: all that an action may change, and how the histories extend each other."""


@dataclass(frozen=True)
class Attempt:
    """An attempt in generated source: its process and its epoch."""

    leader: str
    epoch: str


Element = str | Attempt  # an element of any sort, as text


def parameters(values: Iterable[Element]) -> list[str]:
    """Return elements as integer parameters: an attempt is two."""
    return [name for v in values for name in ((v.leader, v.epoch) if isinstance(v, Attempt) else (v,))]


def split(symbol: Symbol, arguments: Sequence[Element]) -> tuple[list[str], list[str]]:
    """Return the arguments as indices: processes, then the rest."""
    if symbol is prefix:  # the second history's prefixes
        arguments = arguments[::-1]
    leaders = [a.leader for a in arguments if isinstance(a, Attempt)]
    epochs = [a.epoch for a in arguments if isinstance(a, Attempt)]
    pairs = [(a, s) for a, s in zip(arguments, symbol.arguments, strict=True) if isinstance(a, str)]
    processes = [a for a, s in pairs if s == PROCESS]
    return leaders + processes, epochs + [a for a, s in pairs if s != PROCESS]


def place(symbol: Symbol, arguments: Sequence[Element], letter: str = "a") -> tuple[str, str]:
    """Return the location in the state that holds the symbol at these arguments, and the member to test in it.

    The member is empty if the location holds the value.
    """
    nodes, rest = split(symbol, arguments)
    member = "" if symbol.result is not None else rest.pop()
    return f"s.{letter}_{symbol.name}" + "".join(f"[{k}]" for k in nodes + rest), member


# The sorts of numbered axes, with the number of elements of each.
STOPS = {ATTEMPT.name: "s.EPOCHS + 1", EPOCH.name: "s.EPOCHS + 1", HISTORY.name: "s.TXNS + 1"}


def axes_of(symbol: Symbol) -> tuple[int, list[str], str]:
    """Return the number of process axes of a symbol's field, the sorts of the others, and of the members.

    The last is "" if the field holds no set.
    """
    nodes, rest = split(symbol, [Attempt("", s.name) if s == ATTEMPT else s.name for s in symbol.arguments])
    member = "" if symbol.result is not None else rest.pop()
    return len(nodes), rest, member


def places(symbol: Symbol) -> list[str]:
    """Return the axes of a symbol's field, as the stops of loops."""
    nodes, rest, _ = axes_of(symbol)
    return ["s.NODES"] * nodes + [STOPS[name] for name in rest]


def fields_of(model: Model) -> tuple[Field, ...]:
    """Return the fields of the abstract state, and of the one that an action builds."""
    txns, epochs = model.configuration.txns, model.epochs
    sizes = {ATTEMPT.name: epochs + 1, HISTORY.name: txns + 1}
    made: list[Field] = []
    for symbol in KEPT:
        processes, rest, member = axes_of(symbol)
        inner = tuple(sizes[name] for name in rest)
        holds: Kind = SetOf(sizes[member]) if member else Int(0, epochs, "--max-epoch")
        made.append(Field(f"a_{symbol.name}", holds, Role.GHOST, (NODE,) * processes + inner, symbol.doc))
        if not symbol.rigid:
            axes = (NODE,) * processes + inner
            made.append(Field(f"n_{symbol.name}", holds, Role.SCRATCH, axes, f"after the action: {symbol.doc}"))
    return tuple(made)
