"""Check whether a loop over processes has the same result in whichever order it visits them.

It does if no round of it sees what another did, and what they all write is the same whoever writes
last. What is accepted, of what a round leaves behind:

    at the loop's own process      anything, of fields that it reads at its own process only
    elsewhere                      one constant; a constant added; a minimum, maximum, union; members
                                   added to a set, or taken out; what is appended to a bag; a step
                                   that is listed; of fields that it does not read
    a local name                   the same, and sums, of names that it does not read
    an early end                   `break` or `return` of one constant, with or without constants set
                                   just before it, of a loop that leaves nothing behind otherwise,
                                   and in no round of which a run-time error may be met

What a name holds within a round only is the round's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.effects import UNKNOWN, Access, Effects, EffectsOf, Write, ends_in
from zabspec.language.analysis.liveness import Liveness
from zabspec.language.analysis.scalarset import Asymmetry


def in_loop(
    s: t.For, function: t.Function, effects: EffectsOf, what: str = "process", errors: bool = True
) -> list[Asymmetry]:
    """Return what in a loop over processes depends on their order.

    Args:
        s: the loop.
        function: the function with the loop.
        effects: of the function, with the loops around this one entered.
        what: what it goes through, for messages: messages of a bag have no order either.
        errors: run-time errors count: those of a user protocol are a verdict.
    """
    round_ = effects.body(s)
    if not errors:
        round_.errs.clear()
    found = list(early_ends(s, round_, effects, what))
    if not any(ends_in(s.body)):
        found = [*left_in_state(s, round_, what), *left_in_names(s, round_, effects.live, what)]
    return [Asymmetry(function.file, line or s.line, why) for line, why in found]


def lasting(s: t.For, round_: Effects, live: Liveness) -> list[tuple[str, str, int]]:
    """Return the local names that an iteration leaves to a later one, or to what follows the loop."""
    return [written for written in round_.names_written if written[0] in live.head(s)]


# --- loops that go through -----------------------------------------------------------------------


def left_in_state(s: t.For, round_: Effects, what: str) -> Iterable[tuple[int, str]]:
    """Yield what in the state depends on the order."""
    places: dict[str, list[Write]] = {}
    for w in round_.writes:
        places.setdefault(w.at.field, []).append(w)
    for name, writes in places.items():
        reads = [r for r in round_.reads if r.field in (name, UNKNOWN)]
        if name == UNKNOWN:
            yield writes[0].line, f"what a round of {loop_text(s)} writes is not known"
        elif not own(s.name, [w.at for w in writes], reads):
            ways = {w.how for w in writes}
            if "" in ways or len(ways) > 1:
                line = next((w.line for w in writes if not w.how), writes[0].line)
                yield (
                    line,
                    f"what {field_text(name)} holds depends on the order in which a loop visits {plural(what)}",
                )
            elif reads:
                yield writes[0].line, f"{loop_text(s)} reads {field_text(name)}, which its other rounds write"


def own(loop: str, writes: Sequence[Access], reads: Sequence[Access]) -> bool:
    """Return whether one axis of processes is indexed by the loop's name wherever a field is read or written."""
    axes = min(len(a.keys) for a in (*writes, *reads))
    return any(all(a.keys[k] == loop for a in (*writes, *reads)) for k in range(axes))


def left_in_names(s: t.For, round_: Effects, live: Liveness, what: str) -> Iterable[tuple[int, str]]:
    """Yield what in the local names depends on the order."""
    names: dict[str, list[tuple[str, int]]] = {}
    for name, how, line in lasting(s, round_, live):
        names.setdefault(name, []).append((how, line))
    for name, writes in names.items():
        ways = {how for how, _ in writes}
        if "" in ways or len(ways) > 1:
            line = next((line for how, line in writes if not how), writes[0][1])
            yield line, f"what {name} holds depends on the order in which a loop visits {plural(what)}"
        elif name in round_.names_read:
            yield writes[0][1], f"{loop_text(s)} reads {name}, which its other rounds write"


# --- loops that end early ------------------------------------------------------------------------


def early_ends(s: t.For, round_: Effects, effects: EffectsOf, what: str) -> Iterable[tuple[int, str]]:
    """Yield what in a loop with early ends depends on the order."""
    blocks = list(ends_in(s.body))
    said, writes, names = set(), 0, 0
    for block in blocks:
        done = [effects.statement(r) for r in block]
        kept = [lasting(s, d, effects.live) for d in done]
        writes, names = writes + sum(len(d.writes) for d in done), names + sum(map(len, kept))
        end, value = block[-1], "break"
        if isinstance(end, t.Return):
            value = repr(end.value.value) if isinstance(end.value, t.Const) else "" if end.value else "return"
        if not value:
            yield end.line, f"what {loop_text(s)} returns depends on which {what} it visits first"
        told = [fixed(r, effects) for r, d, k in zip(block, done, kept, strict=True) if d.writes or k]
        if "" in told:
            yield end.line, f"what {loop_text(s)} does before it ends depends on which {what} it visits first"
        said.add((value, tuple(sorted(told))))
    if len(said) > 1:
        yield blocks[-1][-1].line, f"{loop_text(s)} ends in more than one way: which depends on its order"
    if blocks and (len(round_.writes) > writes or len(lasting(s, round_, effects.live)) > names):
        yield blocks[0][-1].line, f"{loop_text(s)} may end before it has done what it does for each {what}"
    for line in sorted(round_.errs)[:1]:
        yield (
            line,
            f"{loop_text(s)} may end early, or meet a run-time error here: which comes first depends on its order",
        )


def fixed(s: t.Stmt, effects: EffectsOf) -> str:
    """Return which place a statement sets to which constant, in any iteration; empty for other statements."""
    match s:
        case t.Assign(value=t.Const(value=value)):
            return f"{s.name} = {value}"
        case t.Store(value=t.Const(value=value)) if all(invariant(term.index, effects) for term in s.place.terms):
            return f"{place_of(s.place)} = {value}"
        case t.Clear() if all(invariant(term.index, effects) for term in s.place.terms):
            return f"{place_of(s.place)} empty"
    return ""


def invariant(index: t.Expr, effects: EffectsOf) -> bool:
    """Return whether an index is the same in every iteration."""
    return isinstance(index, t.Const) or (isinstance(index, t.Var) and index.name in effects.known)


def place_of(place: t.Memory) -> str:
    names = (i.index.name if isinstance(i.index, t.Var) else str(getattr(i.index, "value", "")) for i in place.terms)
    return f"{place.field} {place.offset} {' '.join(names)}"


def loop_text(s: t.For) -> str:
    """Return the name of a loop for messages; one through a sequence has no printable name."""
    return "this loop" if "." in s.name else f"the loop over {s.name}"


def plural(what: str) -> str:
    return f"{what}es" if what.endswith("s") else f"{what}s"


def field_text(field: str) -> str:
    return f"what {field[1:]} refers to" if field.startswith("@") else field
