"""`zabcheck zookeeper`: the track record of ZooKeeper's known bugs (docs/zookeeper.md)."""

from __future__ import annotations

import json
from pathlib import Path

import click

from checker.commands.common import Subcommand, seconds, table
from checker.ending import HELD, NO_VERDICT, VIOLATED

__all__ = ["zookeeper"]

HELP = "How long each exploration may take."
MATRIX = "Ask every row of every release instead; what is known is in FILE, and a run goes on where one was stopped."


@click.command(cls=Subcommand)
@click.argument("issues", nargs=-1, metavar="[ZK-NNNN]...")
@click.option("--time-limit", type=float, callback=seconds, metavar="SECONDS", help=HELP)
@click.option(
    "--split", is_flag=True, help="Take each step by itself: the same rows, with several times as many states."
)
@click.option("--matrix", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help=MATRIX)
@click.option("--stop-after", type=float, callback=seconds, metavar="SECONDS", help="Begin no cell of it after that.")
@click.option("--residue", is_flag=True, help="Ask what is left with all known repairs instead.")
@click.option("--release", default="", metavar="NUMBER", help="Whose residue (the newest).")
@click.option("--json", "as_json", is_flag=True, help="The residue as JSON.")
def zookeeper(
    issues: tuple[str, ...],
    time_limit: float | None,
    split: bool,
    matrix: Path | None,
    stop_after: float | None,
    residue: bool,
    release: str,
    as_json: bool,
) -> int:
    """Known bugs of ZooKeeper, found again: a release with every other known fix, without its own and with it.

    0: every row is as recorded; 1: one has changed; 3: one came to no verdict, and none has changed."""
    if residue:
        if issues or split or matrix is not None or stop_after is not None:
            raise click.UsageError("--residue asks its own lines, of merged steps")
        return whole_residue(release, time_limit, as_json)
    if release or as_json:
        raise click.UsageError("--release and --json are for --residue")
    from checker.zookeeper.record import Asked, ask
    from checker.zookeeper.rows import NOT_FOUND, ROWS
    from traces import to_text
    from traces.explain.folding import fitted

    if matrix is not None:
        if issues or split:
            raise click.UsageError("--matrix asks every row, of merged steps")
        return whole_matrix(matrix, time_limit, stop_after)
    if stop_after is not None:
        raise click.UsageError("--stop-after is for --matrix")
    wanted = {i.upper().removeprefix("ZOOKEEPER-").removeprefix("ZK-").lower() for i in issues}
    rows = [r for r in ROWS if not wanted or r.issue in wanted]
    for name in sorted(wanted - {r.issue for r in ROWS}):
        why = NOT_FOUND.get(name)
        raise click.UsageError(f"ZK-{name} has no row: {why}" if why else f"there is no row ZK-{name}")
    asked: list[Asked] = []
    for row in rows:
        one = ask(row, time_limit, split)
        asked.append(one)
        if wanted and one.without.trace is not None:
            click.echo(to_text(one.without.trace))
        if wanted:
            click.echo(fitted(f"{row.says}\nThe paper's step that is split: {row.split}\n"))
    table(
        ("bug", "release", "breaks", "steps", "states", "seconds", "its fix", "with it", "states", "published", "row"),
        [told(one) for one in asked],
    )
    undecided = [one for one in asked if one.undecided]
    changed = [one for one in asked if not one.as_recorded and not one.undecided]
    found = sum(one.found for one in asked)
    more = f"; {len(undecided)} came to no verdict" if undecided else ""
    click.echo(f"{found} of {len(asked)} rows are found; {len(changed) or 'none'} changed{more}")
    if not split:
        click.echo(f"{merged_by_promise()}; --split has each step by itself")
    return VIOLATED if changed else NO_VERDICT if undecided else HELD


def whole_matrix(file: Path, time_limit: float | None, stop_after: float | None) -> int:
    """Which release has which bug. 0: every cell is known; 3: some are not."""
    from checker.zookeeper.matrix import read, run, told
    from traces.record.lines import NotRead

    try:
        for cell in run(file, time_limit, stop_after):
            click.echo(
                f"ZK-{cell.issue} on {cell.release}: {cell.says} ({cell.states:,} states, {cell.seconds} s)", err=True
            )
        cells = read(file)
    except NotRead as problem:
        raise click.UsageError(str(problem)) from None
    head, *rows = told(cells)
    table(head, rows)
    known = sum(not c.trouble for c in cells.values())
    hours = sum(c.seconds for c in cells.values()) / 3600
    click.echo(f"{known} of {len(rows) * (len(head) - 2)} cells are known, in {hours:.2f} hours of a core")
    click.echo(merged_by_promise())
    return HELD if known == len(rows) * (len(head) - 2) else NO_VERDICT


def whole_residue(number: str, time_limit: float | None, as_json: bool) -> int:
    """What is left of a release with all known repairs. 0: as recorded; 1: a line has changed; 3: one has no verdict.

    Raises:
        ConfigError: there is no such release.
    """
    from checker.report.report import installed_version
    from checker.zookeeper.record import NEWEST
    from checker.zookeeper.releases import variant_of
    from checker.zookeeper.residue import LINES, Left, ask, repairs_of

    release = (variant_of("zookeeper", number) if number else "") or NEWEST
    found: list[Left] = []
    for line in LINES:
        one = ask(line, release, time_limit)
        found.append(one)
        click.echo(f"{line.words}, {line.budget}: {one.says} ({one.states:,} states, {one.seconds:.1f} s)", err=True)
    changed = [one for one in found if not one.as_recorded and not one.trouble]
    undecided = [one for one in found if one.trouble]
    code = VIOLATED if changed else NO_VERDICT if undecided else HELD
    if as_json:
        lines = [
            {
                "repairs": repairs_of(x.line, release),
                "budget": dict(zip(("elections", "proposals", "crashes", "losses"), x.line.budget, strict=True)),
                "breaks": x.breaks, "depth": x.depth, "states": x.states, "premises_not_reached": x.unreached,
                "cpu_seconds": round(x.seconds, 1), "trouble": x.trouble, "as_recorded": x.as_recorded,
            }
            for x in found
        ]  # fmt: skip
        answer = {
            "zabcheck": installed_version(), "release": release, "merged_by_promise": merged_by_promise(),
            "lines": lines, "exit_code": code,
        }  # fmt: skip
        click.echo(json.dumps(answer, indent=1))
        return code
    table(
        ("repairs", "elections, proposals, crashes, losses", "states", "CPU s", "what is left", "line"),
        [
            (
                x.line.words, ", ".join(map(str, x.line.budget)), f"{x.states:,}", f"{x.seconds:.1f}", x.says,
                "as recorded" if x.as_recorded else "no verdict" if x.trouble else "CHANGED",
            )
            for x in found
        ],
    )  # fmt: skip
    click.echo(f"all: {', '.join(repairs_of(LINES[0], release))}; {len(changed) or 'none'} changed")
    click.echo(merged_by_promise())
    return code


def merged_by_promise() -> str:
    """What every answer about merged steps rests on."""
    from checker.report.promises import PAGE
    from checker.zookeeper.record import MERGED

    return f"holds: with steps merged by promise of variant {MERGED} ({PAGE})"


def told(one: object) -> tuple[str, ...]:
    """A row of the table."""
    from checker.zookeeper.record import Asked

    assert isinstance(one, Asked)
    row, a, b = one.row, one.without, one.repaired
    verdict = f"breaks at {b.depth}" if b.depth else b.trouble or "holds"
    state = ("found" if one.found else "not found") + ("" if one.as_recorded else ", CHANGED")
    state = "no verdict" if one.undecided else state
    return (
        f"ZK-{row.issue}", row.release, row.breaks, str(a.depth) if a.depth else a.trouble or "holds", f"{a.states:,}",
        f"{a.seconds:.1f}", ",".join(row.fix), verdict, f"{b.states:,}", row.published, state,
    )  # fmt: skip
