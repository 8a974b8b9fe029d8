"""Classify run-time errors by whose they are, and number the places where machine code may meet them."""

from __future__ import annotations

import ast

TOO_WIDE = "would leave 64 bits"
SHIFTED = "would leave 64 bits, or be shifted by a number outside 0..63"
ENVELOPE = "the envelope's "  # begins the name of a field that the world writes on every message
BELOW_ZERO = "has no place below 0"
NO_ENTRY = "has no entry there to assign to"
OF_AUTHOR = 1 << 30  # in machine code, added to the number of a site at which an error is of the author


def asserted(test: ast.expr) -> tuple[str, str]:
    """Return what a run-time error says of an `assert` that is false, in its two parts."""
    return f"assert {ast.unparse(test)}", "does not hold"


def members_of(count: int) -> str:
    """Return what is wrong with a member that a set cannot have."""
    return f"takes members 0..{count - 1} only"


def of_author(widen: str) -> bool:
    """Return whether an error is the author's, by the origin of the range.

    A range that an option widens is a capacity, and a run that exceeds it has no verdict. The 64 bits of integers
    belong to the language.
    """
    return not widen


def remedy(widen: str) -> str:
    """Return what helps where a capacity was too small: an option, or a sentence of its own."""
    return f"widen it with {widen}" if widen.startswith(("-", "declare(")) else widen


def site_number(noted: int) -> int:
    """Return the number of an error site, from what machine code records."""
    return noted & (OF_AUTHOR - 1)


def met(error: str) -> str:
    """Return how a report names a run-time error that ends a command without a verdict."""
    kind = "a value would leave its range" if "would leave its range" in error else "a run-time error"
    return f"{kind}: {error}"
