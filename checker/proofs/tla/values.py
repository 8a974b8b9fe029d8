"""Kinds of values in TLA+: the set of those in range, the least of them, and the notation of a value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from checker.proofs.tla.syntax import TlaText
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import NODE, Field

# What is not a name in TLA+.
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        ACTION ASSUME ASSUMPTION AXIOM BOOLEAN BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE
        ENABLED EXCEPT EXTENDS FALSE HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY
        OTHER PICK PROOF PROPOSITION PROVE QED RECURSIVE SF_ STATE STRING SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM
        TRUE UNCHANGED UNION USE VARIABLE VARIABLES WF_ WITH WITNESS
        """,
    )
)
# Names that a module may not define: keywords, what the modules that it extends define, and those of the export.
WORDS_OF_TLA = KEYWORDS | frozenset(
    re.findall(
        r"\w+",
        """
        Any Append Assert Bag BitAnd BitOr Cardinality Forget Head Infinity Init Int IsFiniteSet IsMessage IsQuorum
        JavaTime Least Len Max Min NOBODY Nat Next NoMessage Node OverNodes Permutations Pick Print PrintT PutAt Quorums
        RandomElement Real RemoveAt SelectSeq Seq SortSeq Spec SubSeq Symmetry TLCEval TLCGet TLCSet Tail Through
        ToString TypeOK View
        choice next state
        """,
    )
)
# Names bound inside exported definitions: an operator of such a name would be defined twice there.
BOUND = frozenset([*"abkmpqstxyS", "from", "left", "to", "Round", *(f"{n}{k}" for n in "ik" for k in range(10))])


def named(name: str) -> str:
    """Return a name that TLA+ accepts: ASCII letters, digits and underscores, at least one letter, no keyword."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else other(c) for c in name)
    if plain in KEYWORDS or plain.startswith(("WF_", "SF_")):
        return f"x_{plain}"
    return plain if any(c.isalpha() for c in plain) else f"x{plain}"


def other(c: str) -> str:
    """Return a replacement for a character that names cannot have."""
    return "_" if c.isascii() else f"u{ord(c):04x}"


def domain(axis: str | int) -> str:
    """Return the set of the indices of an axis."""
    return "Node" if axis == NODE else f"0..{int(axis) - 1}"


def whole(axes: Iterable[str | int], inner: str, arrow: str) -> str:
    """Return a function with `inner` at every entry of some axes, or, with arrow `->`, the set of such functions."""
    for k, axis in reversed(list(enumerate(axes))):
        bound = f"i{k} \\in " if arrow == "|->" else ""
        inner = f"[{bound}{domain(axis)} {arrow} {inner}]"
    return inner


def set_of(kind: Kind) -> str:
    """Return the set of a kind's values."""
    match kind:
        case Bool():
            return "BOOLEAN"
        case NodeId():
            return "Node \\union {NOBODY}"
        case Int():
            return f"{kind.lo}..{kind.hi}"
        case SetOf():
            return "SUBSET Node" if kind.nodes else f"SUBSET (0..{kind.count - 1})"
        case Record():
            return "[" + ", ".join(f"{named(n)}: {set_of(k)}" for n, k in kind.fields.items()) + "]"
        case _:
            raise AssertionError(f"{type(kind).__name__} is tested element by element")


def in_range(kind: Kind, value: str, depth: int = 0) -> str:
    """Return the condition that a value belongs to a kind."""
    match kind:
        case Seq():
            k = f"k{depth}"
            inside = in_range(kind.element, f"{value}[{k}]", depth + 1)
            return f"Len({value}) <= {kind.capacity} /\\ \\A {k} \\in 1..Len({value}) : {inside}"
        case MessageUnion():
            return f"IsMessage({value})"
        case _:
            return f"{value} \\in {set_of(kind)}"


def message_type(union: MessageUnion) -> list[str]:
    """Return the definition of the type of messages for TypeOK."""
    out = ["IsMessage(m) =="]
    for m in union.messages:
        parts = [f'm.kind = "{m.name}"']
        for n, k in (*m.fields.items(), *union.envelope.items()):
            said = in_range(k, f"m.{named(n)}")
            parts.append(f"({said})" if isinstance(k, Seq) else said)
        out.append("  \\/ " + " /\\ ".join(parts))
    return out if union.messages else ["IsMessage(m) == FALSE"]


def type_of(f: Field, of: str) -> str:
    """Return the condition of TypeOK on a field of `of`."""
    if not isinstance(f.kind, (Seq, MessageUnion)):
        inner = set_of(f.kind)
        axes = whole(f.axes, inner, "->") if f.axes else inner
        return f"{of}{f.name} \\in {axes}"
    value, bounds = f"{of}{f.name}", ""
    for k, axis in enumerate(f.axes):
        value += f"[i{k}]"
        bounds += f"\\A i{k} \\in {domain(axis)} : "
    return bounds + "(" + in_range(f.kind, value) + ")" if bounds else in_range(f.kind, value)


def zero(kind: Kind) -> TlaText:
    """Return the value whose bytes are all zero."""
    match kind:
        case Bool():
            return TlaText("FALSE")
        case NodeId():
            return TlaText("NOBODY")
        case Int():
            return number(kind.lo)
        case SetOf():
            return TlaText("{}")
        case Seq():
            return TlaText("<<>>")
        case Record():
            return TlaText("[" + ", ".join(f"{named(n)} |-> {zero(k).text}" for n, k in kind.fields.items()) + "]")
        case _:
            return TlaText("NoMessage")


def number(value: int) -> TlaText:
    return TlaText(str(value)) if value >= 0 else TlaText(f"-{-value}", True)


def value_of(kind: Kind, value: Any, count: int) -> TlaText:
    """Return a value in a state, given as the CPython world reads it."""
    match kind:
        case Bool():
            return TlaText("TRUE" if value else "FALSE")
        case NodeId():
            return node(int(value))
        case Int():
            return number(int(value))
        case SetOf():
            members = [k for k in range(kind.count) if k in value]
            return TlaText("{" + ", ".join(node(k).text if kind.nodes else str(k) for k in members) + "}")
        case Seq():
            return TlaText(
                "<<" + ", ".join(value_of(kind.element, value[k], count).text for k in range(len(value))) + ">>"
            )
        case Record():
            parts = (f"{named(n)} |-> {value_of(k, getattr(value, n), count).text}" for n, k in kind.fields.items())
            return TlaText("[" + ", ".join(parts) + "]")
        case MessageUnion():
            if not value.kind:
                return TlaText("NoMessage")
            m = kind.messages[value.kind - 1] if isinstance(value.kind, int) else kind.named(str(value.kind))
            fields = {**m.fields, **kind.envelope}
            parts = (f"{named(n)} |-> {value_of(k, getattr(value, n), count).text}" for n, k in fields.items())
            return TlaText(f'[kind |-> "{m.name}", ' + ", ".join(parts) + "]")
        case _:
            raise AssertionError(type(kind).__name__)


def node(p: int) -> TlaText:
    """Return a process."""
    return TlaText("NOBODY") if p < 0 else TlaText(f"p{p}")
