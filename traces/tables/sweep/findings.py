"""Find the first run of a sweep that violates each property, and rerun it to confirm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from traces.judging.simulated import judge
from traces.shorten.realise import command_line
from traces.tables.sweep.block import answer
from traces.tables.sweep.grid import Grid
from traces.tables.sweep.summary import Summary
from zabspec.errors import NoVerdict
from zabspec.simulator.run import Run


class NotRepeated(NoVerdict):
    """A rerun differs from its row, because of a bug or another machine; the message says how."""


@dataclass(frozen=True)
class SweepFinding:
    """A property that a program violates.

    Attributes:
        program: protocol, variant, network, oracle.
        name: the name of the property.
        violated, tested: the number of runs of this program that violate it, and that put it to the test.
        number: the number of the first run that violates it.
        tick: the tick at which that run does.
        sha256: the digest of its dump.
        command: the command that reruns and checks it.
    """

    program: tuple[str, ...]
    name: str
    violated: int
    tested: int
    number: int
    tick: int
    sha256: str
    command: str


def findings(
    question: Grid, summary: Summary, sha256: Callable[[int], str], parse: Callable[[str], Run] | None = None
) -> tuple[SweepFinding, ...]:
    """Return the violations of a sweep by program, in the order of their first runs.

    Args:
        question: the grid.
        summary: the summary of its runs.
        sha256: returns the digest of a run, by its number.
        parse: parses a command line to a run; if given, every command is compared with its run.

    Raises:
        NotRepeated: a run's digest or verdict is not its row's, or its command means another run.
    """
    out = []
    for program, group in summary.programs.items():
        broken = [(tally.first, name) for name, tally in group.tallies.items() if tally.first >= 0]
        for number, name in sorted(broken):
            tally = group.tallies[name]
            run, digest = question.run(number), sha256(number)
            tick = next(v.broken_at for v in judge(run)[1] if v.of.name == name)
            if tick < 0 or answer(run)[0] != digest:
                raise NotRepeated(f"run {number} of the sweep differs from its row; {command_line(run)}")
            command = command_line(run)
            if parse is not None and parse(command) != run:
                raise NotRepeated(f"{command} is not the run of row {number}")
            out.append(SweepFinding(program, name, tally.violated, tally.tested, number, tick, digest, command))
    return tuple(out)
