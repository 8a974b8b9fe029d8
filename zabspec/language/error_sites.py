"""Run-time errors: whose they are, and how machine code numbers the places where they may be met."""

from __future__ import annotations

__all__ = ["OF_AUTHOR", "TOO_WIDE", "of_author", "remedy", "site_number"]

TOO_WIDE = "would leave 64 bits"
OF_AUTHOR = 1 << 30  # in machine code, added to the number of a site at which an error is of the author


def of_author(problem: str, widen: str) -> bool:
    """Whether an error is of the author of a text, by the origin of the range: one that a flag widens, or that
    machine words have, is a capacity, and whoever runs out of it has no verdict."""
    return not widen and problem != TOO_WIDE


def remedy(widen: str) -> str:
    """What helps where a capacity was too small: a flag, or a sentence of its own."""
    return f"widen it with {widen}" if widen.startswith(("-", "declare(")) else widen


def site_number(noted: int) -> int:
    """The number of an error site, from what machine code notes."""
    return noted & (OF_AUTHOR - 1)
