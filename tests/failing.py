"""What a failing test shows of the runs that it made: a diagram as text, the last steps, and what was expected when.

A run shows itself if it has a method `at_failure`, which is given the expectation that failed. `conftest.py` looks for
such runs among the local variables of the functions that the failure went through.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from traces import Trace
from traces.explain.flights import Fate
from traces.explain.text import configuration_text, steps_text
from traces.pictures.picture import Picture, picture_of

WITH_CHANGES = 6  # of so many last steps all is shown that they changed
LANE = 34  # columns of a process, at most


def diagram(picture: Picture, notes: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Yield the diagram as lines: a column for each process, a line for each step, notes after their steps."""
    received = {a.flight.ended: a for a in picture.arrows if a.flight.fate in (Fate.RECEIVED, Fate.COPIED)}
    lanes = range(len(picture.lanes))
    cells = [
        (row, {p: cell(row.label, received.get(row.number), picture, p) for p in row.processes or lanes})
        for row in picture.rows
    ]
    width = min(LANE, max((len(word) for _, of in cells for word in of.values()), default=0) + 2)
    margin = len(str(len(picture.rows))) + 2
    yield " " * margin + "".join(f"{name:<{width}}" for name in picture.lanes).rstrip()
    yield from (" " * margin + line for line in notes.get(0, ()))
    for row, of in cells:
        words = (of.get(p, "|") for p in lanes)
        folded = [word if len(word) < width else word[: width - 3] + ".." for word in words]
        yield f"{row.number:>{margin - 2}}  " + "".join(f"{word:<{width}}" for word in folded).rstrip()
        yield from (" " * margin + line for line in notes.get(row.number, ()))


def cell(label: str, arrow: Any, picture: Picture, p: int) -> str:
    """What stands in the lane of a process that takes a step, and from whom the message is that it receives."""
    if arrow is None or arrow.flight.message.destination != p:
        return f"o {label}"
    return f"o {label} <- {picture.lanes[arrow.flight.message.source]}"


def shown(trace: Trace, notes: Mapping[int, Sequence[str]]) -> str:
    """The diagram, and of the last steps all that they changed."""
    lines = [configuration_text(trace.configuration), *diagram(picture_of(trace), notes)]
    last = trace.steps[-WITH_CHANGES:]
    if last:
        whole = steps_text(trace)
        start = next(k for k, line in enumerate(whole) if line.split(maxsplit=1)[0] == str(last[0].number))
        lines += ["", f"the last {len(last)} of {len(trace.steps)} steps:" if len(last) > 1 else "the last step:"]
        lines += whole[start:]
    return "\n".join(lines)


def expectation(error: TracebackType | None) -> str:
    """The line of a test that failed, with its place."""
    frames = [f for f in traceback.extract_tb(error) if Path(f.filename).name.startswith("test_")]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line}" if frames else "the test"


def runs_of(error: TracebackType | None) -> list[Any]:
    """The runs among the local variables of the functions that a failure went through, the innermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(error)][::-1]
    found = [value for frame in frames for value in frame.f_locals.values() if hasattr(type(value), "at_failure")]
    return list({id(run): run for run in found}.values())


def differences(expected: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return what differs, a line each: `states 1312 -> 1310`, `po-causal-order: premise 15 -> 14`."""
    lines = []
    for what in [*expected, *(name for name in given if name not in expected)]:
        old, new = expected.get(what), given.get(what)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            one = what.removesuffix("s")
            names = [*old, *(name for name in new if name not in old)]
            lines += [f"{n}: {one} {said(old.get(n))} -> {said(new.get(n))}" for n in names if old.get(n) != new.get(n)]
        elif isinstance(old, list) and isinstance(new, list):
            pairs = enumerate(zip_longest(old, new))
            lines += [f"{what} {k}: {said(a)} -> {said(b)}" for k, (a, b) in pairs if a != b]
        elif old != new:
            lines.append(f"{what} {said(old)} -> {said(new)}")
    return lines


def check_golden(file: Path, expected: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Fail with a line for each number that is another than in a golden file."""
    if given != expected:
        lines = differences(expected, given)
        pytest.fail("\n".join([f"{len(lines)} of {file.name} differ:", *lines]), pytrace=False)


def said(value: Any) -> str:
    return "none" if value is None else str(value) if value != "" else "''"
