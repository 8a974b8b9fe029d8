"""Determine which release of ZooKeeper has which bug: every row of the track record on every release.

    python -m benchmarks.zookeeper_matrix cells.jsonl > docs/explanation/zookeeper-releases.toml

A cell is the release with every known fix that neither is the row's own, nor contains it, nor is contained in it,
explored for the row's property within the row's budgets, with merged steps. It is written to the file as soon as it is
known, so that a stopped run continues (`--stop-after SECONDS` starts no cell later); that takes hours. Cells whose
models are equal function by function are explored once. Cells of another version of the model are refused. Once all are
known, the data file is written that the page of these bugs shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType

from benchmarks.lines import NotRead, read_lines
from benchmarks.zookeeper_mechanisms import RULES
from checker.zookeeper.record import NEWEST, PROTOCOL, configuration, explored, repairs_of
from checker.zookeeper.rows import ROWS, USUAL, Row
from invariants import properties_of
from invariants.binding import bound
from invariants.registry import keeps
from traces import Trace
from zabspec.language.layout.bytecode import all_code
from zabspec.language.python.reference import StateView
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import sources_digest
from zabspec.zookeeper.of_releases import settled

SOURCES = ("zabspec", "invariants", "checker/explore", "checker/zookeeper")
RELEASES = tuple(v or NEWEST for v in PROTOCOLS[PROTOCOL].declared.releases)  # the newest first
BUGS = tuple(r for r in ROWS if not r.issue.endswith("-here"))  # not those of another repair of a bug

HEAD = """\
# Which release has which bug: `python -m benchmarks.zookeeper_matrix FILE`, {day}, three servers, merged
# steps, each row's budgets; costs: benchmarks/results/zookeeper-rows.md.
# `occurs`: after how many steps the bug's mechanism occurs first; 0: it does not, explored to the end.
# `breaks`: after how many steps the row's property is violated; 0: it holds, explored to the end.
# `by_it`: whether the mechanism occurs in that run; otherwise another bug does the harm.
"""


@dataclass(frozen=True)
class Cell:
    """The result for a bug and a release.

    Attributes:
        depth: the number of steps after which the property is violated; 0 if it is not within the budgets.
        trouble: why nothing is known; empty if it is.
        text: a name of the model that was explored.
        seconds: of this machine's cores, for this cell; 0 if another had explored the same model.
        sources: a digest of everything that determines the answer.
    """

    issue: str
    release: str
    occurs: int
    depth: int
    by_it: bool
    states: int
    seconds: float
    trouble: str
    text: str
    sources: str

    @property
    def says(self) -> str:
        if self.trouble:
            return self.trouble
        if not self.occurs:
            return f"absent; breaks by another bug after {self.depth}" if self.depth else "absent"
        if not self.depth:
            return f"occurs after {self.occurs}, no harm"
        return f"harm after {self.depth}" if self.by_it else f"occurs after {self.occurs}; breaks by another bug"


def same_text(release: str, repairs: tuple[str, ...], settings: str = "") -> str:
    """Return a name for what a release with repairs does.

    It is made of the functions that differ from the newest release's, by their code.
    """
    protocol = PROTOCOLS[PROTOCOL]
    variant = protocol.combined(settled("" if release == NEWEST else release, release, settings), ",".join(repairs))
    plain = {name: value for module in protocol.modules for name, value in vars(module).items()}
    changed = []
    for name, function in sorted(protocol.overrides(variant).items()):
        if name not in plain or does(function) != does(plain[name]):
            changed.append(f"{name}={function.__name__}")
    return " ".join(changed)


def does(function: FunctionType) -> tuple[object, ...]:
    """Return the code of a function, without its name and docstring."""
    doc = function.__doc__

    def constants(code: CodeType) -> list[tuple[type, object]]:
        plain = (None if c == doc else c for c in code.co_consts if not isinstance(c, CodeType))
        return [(type(c), c) for c in plain]

    return tuple(
        (c.co_code, c.co_names, c.co_varnames, c.co_freevars, constants(c)) for c in all_code(function.__code__)
    )


def read(file: Path) -> dict[tuple[str, str], Cell]:
    """Return the cells that a file has.

    Raises:
        NotRead: it is not such a file, or has answers of other sources.
    """
    cells = {}
    for number, cell in enumerate(read_lines(Cell, file, "cell of the matrix"), 1):
        if cell.sources != sources_digest(*SOURCES):
            raise NotRead(f"{file}:{number} is of another version of the model; start a new file")
        cells[cell.issue, cell.release] = cell
    return cells


def ask(row: Row, release: str, seconds: float | None) -> Cell:
    """Explore a cell."""
    started = time.process_time()
    c = configuration(release, repairs_of(row), USUAL | row.budget, False, row.start, row.settings)
    mechanism, harm = explored(c, RULES[row.issue], seconds), explored(c, row.breaks, seconds)
    spent = round(time.process_time() - started, 1)
    return Cell(
        row.issue,
        release,
        mechanism.depth,
        harm.depth,
        harm.trace is not None and is_broken_in(harm.trace, RULES[row.issue]),
        max(mechanism.states, harm.states),
        spent,
        mechanism.trouble or harm.trouble,
        same_text(release, repairs_of(row), row.settings),
        sources_digest(*SOURCES),
    )


def is_broken_in(trace: Trace, name: str) -> bool:
    """Whether a step of a run breaks a rule over steps."""
    (rule,) = (p for p in properties_of(PROTOCOL) if p.name == name)
    model = trace.model
    names, layout = bound(model), model.program.layout
    state = model.program.initial()
    for word in trace.schedule:
        before = StateView(layout, state.key())
        names["apply"](state, word)
        if not keeps(rule, names, state, before):
            return True
    return False


def run(
    file: Path, seconds: float | None, limit: float | None, now: Callable[[], float] = time.monotonic
) -> Iterator[Cell]:
    """Yield every cell that the file does not have, each written to it.

    Args:
        seconds: the time limit of each.
        limit: the seconds after which no more is begun.
    """
    cells, end = read(file), None if limit is None else now() + limit
    known = {(c.issue, c.text): c for c in cells.values() if not c.trouble}
    for row in BUGS:
        for release in RELEASES:
            if (row.issue, release) in cells:
                continue
            if end is not None and now() >= end:
                return
            text = same_text(release, repairs_of(row), row.settings)
            other = known.get((row.issue, text))
            cell = (
                ask(row, release, seconds)
                if other is None
                else Cell(**{**asdict(other), "release": release, "seconds": 0.0})
            )
            known[row.issue, text] = cell
            with file.open("a") as out:
                out.write(json.dumps(asdict(cell)) + "\n")
            yield cell


def written(cells: Mapping[tuple[str, str], Cell], day: str) -> str:
    """Return the matrix as TOML.

    Args:
        day: when it was asked, for the first line.

    Raises:
        SystemExit: a cell is missing, or not known.
    """
    wanted = [(row.issue, release) for row in BUGS for release in RELEASES]
    lacking = [key for key in wanted if key not in cells or cells[key].trouble]
    if lacking:
        sys.exit(f"{len(lacking)} cells are not known, {lacking[0]} among them")

    def part(name: str, of: Callable[[Cell], object]) -> str:
        lines = (
            f"{row.issue} = [{', '.join(str(of(cells[row.issue, release])).lower() for release in RELEASES)}]"
            for row in BUGS
        )
        return "\n".join((f"[{name}]", *lines))

    releases = ", ".join(f'"{release}"' for release in RELEASES)
    parts = (
        part("occurs", lambda c: c.occurs),
        part("breaks", lambda c: c.depth),
        part("by_it", lambda c: c.by_it),
    )
    return "\n\n".join((HEAD.format(day=day).rstrip(), f"releases = [{releases}]", *parts))


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m benchmarks.zookeeper_matrix", description=__doc__.split("\n")[0])
    asked.add_argument("file", type=Path, help="where cells are kept")
    asked.add_argument("--stop-after", type=float, metavar="SECONDS", help="start no cell after this time")
    given = asked.parse_args()
    try:
        for cell in run(given.file, None, given.stop_after):
            print(f"ZK-{cell.issue} on {cell.release}: {cell.says} ({cell.states:,} states)", file=sys.stderr)
        print(written(read(given.file), time.strftime("%-d %B %Y")))
    except NotRead as problem:
        sys.exit(str(problem))
    return 0


if __name__ == "__main__":
    sys.exit(main())
