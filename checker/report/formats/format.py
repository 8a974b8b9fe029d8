"""The description of a file format beside stdout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checker.report.result import Result


@dataclass(frozen=True)
class Format:
    """A file format of results.

    Attributes:
        name: its flag.
        help: its help text.
        render: makes the file of a result.
        kinds: the kinds of results that it accepts; empty for every kind.
    """

    name: str
    help: str
    render: Callable[[Result], bytes]
    kinds: tuple[str, ...] = ()
