"""Run the peers, and keep a table of each model in benchmarks/results/peers.json; see the package."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import RESULTS, Figures
from benchmarks.peers.tools import HERE, WAYS, Missing, Run, Way, is_symmetric

FILES = {"zabcheck": "model.py", "SPIN": "model.pml.j2", "Stateright": "main.rs.j2", "TLC": "Model.tla"}
# processes: for some seconds, and for 10^7 states or so, where there is such a number
SIZES = {
    "two_phase_commit": (8, 9), "filter_lock": (6, 7), "paxos": (4,), "ring_election": (10, 11),
    "readers_writers": (7, 8),
}  # fmt: skip
TITLES = ("tool", "setting", "states", "transitions, M", "CPU-s", "to compile it", "MB", "lines")
PEERS = ("zabcheck", "SPIN", "Stateright")


def lines_of(model: str, tool: str) -> int:
    """Return the lines of a tool's model that are not empty, without zabcheck's docstring of the module."""
    text = (HERE / model / FILES[tool]).read_text().split('"""', 2)[-1]
    return sum(bool(line.strip()) for line in text.splitlines())


def row(way: Way, model: str, run: Run, expected: int) -> tuple[str, ...]:
    """Return a row: with figures only if the states are as many as zabcheck has."""
    states = f"{run.states:,}{' orbits' if way.orbits and is_symmetric(model) else ''}"
    if run.states != expected:
        return way.tool, way.setting, f"{states}: not {expected:,}", "", "", "", "", str(lines_of(model, way.tool))
    figures = (f"{run.transitions / 1e6:.2f}", f"{run.seconds:.1f}", f"{run.building:.1f}", f"{run.memory:,.0f}")
    return way.tool, way.setting, states, *figures, str(lines_of(model, way.tool))


def rows(model: str, n: int, scratch: Path, tools: set[str]) -> Iterator[tuple[str, ...]]:
    """Run every way to explore a model, zabcheck's first, and yield its row."""
    expected: dict[bool, int] = {}
    for way in WAYS:
        if tools and way.tool not in tools | {"zabcheck"}:
            continue
        if way.orbits and way.tool != "zabcheck" and not is_symmetric(model):
            continue
        if way.tool == "TLC" and n > SIZES[model][0]:
            continue
        try:
            run = way.run(model, n, scratch / model)
        except Missing as why:
            yield way.tool, way.setting, f"left out: {' '.join(str(why).split())}", "", "", "", "", ""
            continue
        yield row(way, model, run, expected.setdefault(way.orbits, run.states))


def best(measured: list[list[str]], tool: str) -> list[str]:
    """Return of a table the row of a tool that took least CPU time on all states, or one without figures."""
    whole = [row for row in measured if row[0] == tool and row[3] and "orbits" not in row[2]]
    return min(whole, key=lambda row: float(row[4]), default=[""] * len(TITLES))


def summarize() -> None:
    """Keep a table of every model's best run of each tool on equal states."""
    tables = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    head = [f"{title}: {tool}" if tool == "zabcheck" else tool for title in ("CPU-s", "MB", "lines") for tool in PEERS]
    kept = Figures("peers", "all", ("model", "states", *head))
    for _, model in sorted((sizes.index(n), name(model, n)) for model, sizes in SIZES.items() for n in sizes):
        if one := tables.get(model):
            found = [best(one["rows"], tool) for tool in PEERS]
            kept.add(model, found[0][2], *(row[column] for column in (4, 6, 7) for row in found))


def name(model: str, n: int) -> str:
    """Return the name of a model's table for a number of processes."""
    return f"{model.replace('_', '-')}-{n}"


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--model", choices=SIZES, action="append", help="only this model")
    parser.add_argument("--tool", action="append", default=[], help="only zabcheck and this tool")
    parser.add_argument("--nodes", type=int, help="processes; by default, as many as take some seconds")
    parser.add_argument("--scratch", type=Path, help="where the tools are built, to keep them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for model in given.model or SIZES:
            for n in [given.nodes] if given.nodes else SIZES[model]:
                print(f"{model}, {n} processes")
                kept = Figures("peers", name(model, n), TITLES)
                for found in rows(model, n, given.scratch or Path(folder), set(given.tool)):
                    kept.add(*found)
    summarize()


if __name__ == "__main__":
    main()
