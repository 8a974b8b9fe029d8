"""What a format is that is a file beside stdout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checker.report.result import Result

__all__ = ["Format"]


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: its flag.
        help: what `--help` says of it.
        render: makes the file of a result.
        kinds: the kinds of results that it takes; empty: every kind.
    """

    name: str
    help: str
    render: Callable[[Result], bytes]
    kinds: tuple[str, ...] = ()
