"""Expressions of TLA+, and their layout in lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import dataclass_transform

WIDTH = 110


@dataclass_transform(frozen_default=True)
class TlaPart:
    """Base of the parts of expressions; each of its subclasses is a dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class TlaText(TlaPart):
    """An expression that fits on a line. `loose`: it needs parentheses next to an operator."""

    text: str
    loose: bool = False

    @property
    def tight(self) -> str:
        return f"({self.text})" if self.loose else self.text


class Let(TlaPart):
    """LET names IN body."""

    names: tuple[tuple[str, Node], ...]
    body: Node


class If(TlaPart):
    """IF test THEN then ELSE other."""

    test: Node
    then: Node
    other: Node


class Many(TlaPart):
    """A conjunction or disjunction; `op` is the operator."""

    op: str
    parts: tuple[Node, ...]


class Quantified(TlaPart):
    """A quantification over a set; `quantifier` is the operator."""

    quantifier: str
    name: str
    over: str
    body: Node


Node = TlaText | Let | If | Many | Quantified

TRUE, FALSE = TlaText("TRUE"), TlaText("FALSE")


def let(names: Sequence[tuple[str, Node]], body: Node) -> Node:
    """Return a LET, merged with that of its body, without unused names and names that are only the body."""
    names = asked_for(names, body)
    if not names:
        return body
    if isinstance(body, TlaText) and body.text == names[-1][0]:
        return let(names[:-1], names[-1][1])
    if isinstance(body, Let):
        return Let((*names, *body.names), body.body)
    return Let(tuple(names), body)


def asked_for(names: Sequence[tuple[str, Node]], body: Node) -> Sequence[tuple[str, Node]]:
    """Return the definitions that a body uses, directly or through later ones."""
    if body in (TRUE, FALSE):
        return ()
    said, kept = words(body), []
    for head, value in reversed(names):
        name = head.removeprefix("RECURSIVE ").partition("(")[0]
        if name in said:
            said |= words(value)
            kept.append((head, value))
    return kept[::-1]


def words(e: Node) -> set[str]:
    """Return every name in an expression."""
    return set(re.findall(r"\w+", flat(e).text))


def many(op: str, parts: Iterable[Node], unit: Node, zero: Node) -> Node:
    found: list[Node] = []
    for p in parts:
        if p == zero:
            return zero
        for part in p.parts if isinstance(p, Many) and p.op == op else (p,):
            if part != unit and part not in found:
                found.append(part)
    if not found:
        return unit
    return found[0] if len(found) == 1 else Many(op, tuple(found))


def conj(*parts: Node) -> Node:
    """Return the conjunction of expressions, simplified."""
    return many("/\\", parts, TRUE, FALSE)


def disj(*parts: Node) -> Node:
    """Return the disjunction of expressions, simplified."""
    return many("\\/", parts, FALSE, TRUE)


def neg(e: Node) -> Node:
    """Return the negation of an expression, simplified."""
    if e in (TRUE, FALSE):
        return FALSE if e == TRUE else TRUE
    text = flat(e)
    if text.text.startswith("~") and not text.loose:
        return TlaText(text.text[1:])
    for op, other in ((" = ", " # "), (" # ", " = "), (" \\in ", " \\notin ")):
        left, found, right = text.text.partition(op)
        if found and text.loose and plain(left) and plain(right):
            return TlaText(f"{left}{other}{right}", True)
    return TlaText(f"~{text.tight}")


def plain(text: str) -> bool:
    """Return whether a side of a comparison has no operator of its own that binds less."""
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0 and not any(
        op in text for op in ("/\\", "\\/", "=>", " = ", " # ", "IF ", "\\A", "\\E", "LET ", "<", ">")
    )


def either(test: Node, then: Node, other: Node) -> Node:
    """Return IF test THEN then ELSE other, in its simplest form."""
    if test == TRUE:
        return then
    if test == FALSE:
        return other
    if then == other:
        return then
    if then == TRUE and other == FALSE:
        return test
    if then == FALSE and other == TRUE:
        return neg(test)
    if then == FALSE:
        return conj(neg(test), other)
    if then == TRUE:
        return disj(test, other)
    if other == FALSE:
        return conj(test, then)
    if other == TRUE:
        return disj(neg(test), then)
    return If(test, then, other)


def flat(e: Node) -> TlaText:
    """Return an expression in one line."""
    match e:
        case TlaText():
            return e
        case Let():
            names = " ".join(f"{name} == {flat(value).text}" for name, value in e.names)
            return TlaText(f"LET {names} IN {flat(e.body).text}", True)
        case If():
            return TlaText(f"IF {flat(e.test).text} THEN {flat(e.then).text} ELSE {flat(e.other).text}", True)
        case Many():
            return TlaText(f" {e.op} ".join(flat(p).tight for p in e.parts), True)
        case Quantified():
            return TlaText(f"{e.quantifier} {e.name} \\in {e.over} : {flat(e.body).text}", True)


def laid_out(e: Node, column: int = 0) -> list[str]:
    """Return the lines of an expression that begins at a column; the first without its indentation."""
    one = flat(e).text
    if len(one) + column <= WIDTH and "LET" not in one and one.count("IF ") < 2:
        return [one]
    pad = " " * column
    match e:
        case Let():
            out = []
            for k, (name, value) in enumerate(e.names):
                head = f"{name} == "
                lines = headed(head, value, column + 4)
                out += [("LET " if k == 0 else pad + "    ") + lines[0], *lines[1:]]
            body = laid_out(e.body, column + 4)
            return [*out, f"{pad}IN  {body[0]}", *body[1:]]
        case If():
            out = []
            for word, part in (("IF   ", e.test), ("THEN ", e.then), ("ELSE ", e.other)):
                lines = laid_out(part, column + 5)
                out += [(pad if out else "") + word + lines[0], *lines[1:]]
            return out
        case Many():
            out = []
            for part in e.parts:
                lines = laid_out(part, column + 3)
                out += [f"{pad if out else ''}{e.op} {lines[0]}", *lines[1:]]
            return out
        case Quantified():
            lines = laid_out(e.body, column + 2)
            return [f"{e.quantifier} {e.name} \\in {e.over} :", pad + "  " + lines[0], *lines[1:]]
        case TlaText():
            return [one]


def headed(head: str, value: Node, column: int) -> list[str]:
    """Return the lines of `name == value`, with a long value below the name."""
    lines = laid_out(value, column + len(head))
    if len(lines) == 1 or len(head) <= 8:
        return [head + lines[0], *lines[1:]]
    lines = laid_out(value, column + 2)
    return [head.rstrip(), " " * (column + 2) + lines[0], *lines[1:]]


def definition(head: str, body: Node) -> str:
    """Return the lines of `head == body`."""
    one = flat(body).text
    if len(head) + len(one) + 4 <= WIDTH and "LET" not in one:
        return f"{head} == {one}"
    lines = laid_out(body, 2)
    return "\n".join([f"{head} ==", "  " + lines[0], *lines[1:]])
