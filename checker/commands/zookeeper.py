"""`zabcheck zookeeper`: the track record of ZooKeeper's known bugs (docs/explanation/zookeeper-bugs.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import PATH, Answer, Subcommand, check_writable
from checker.commands.page_option import check_page
from checker.commands.publishing import publish
from checker.ending import HELD, NO_VERDICT, VIOLATED
from checker.report.progress import StatusLine
from checker.report.result import Part, StatedResult, Table, installed_version
from checker.requests.drift import DriftRequest
from checker.requests.matrix import MatrixRequest
from checker.requests.residue import ResidueRequest
from checker.requests.zookeeper import ZookeeperRequest, answer
from checker.terminal import TerminalWatch

if TYPE_CHECKING:
    from checker.zookeeper.record import RowOutcome

HELP = "Time limit of each exploration."
RELEASE = "Check the rows on this release instead of the recorded one; with --residue, the release to check (the "
"newest)."
MATRIX = "Check every row on every release instead; results are kept in FILE, and a stopped run continues from it."


@click.command(cls=Subcommand)
@click.argument("issues", nargs=-1, metavar="[ZK-NNNN]...", shell_complete=completing.rows)
@click.option("--time-limit", type=float, metavar="SECONDS", help=HELP)
@click.option("--split", is_flag=True, help="Do not merge steps: the same rows, with several times as many states.")
@click.option("--matrix", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help=MATRIX)
@click.option("--stop-after", type=float, metavar="SECONDS", help="With --matrix: start no cell after this time.")
@click.option("--residue", is_flag=True, help="Check which faults remain with all known repairs instead.")
@shared.named(
    "--release",
    "NUMBER",
    "Check the rows on this release instead of the recorded one; with --residue, the release to check (the newest).",
    completing.zookeeper_releases,
)
@click.option(
    "--drift",
    metavar="DIR",
    help="Report instead which methods that the model cites a source tree of ZooKeeper changes.",
)
@shared.named(
    "--against",
    "NUMBER",
    "With --drift: the release to compare with (default: the tree's).",
    completing.zookeeper_releases,
)
@click.option("--since", metavar="REV", help="With --drift: changes since a git revision or a fork (A...), or in A..B.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
@click.option(
    "--trace", type=PATH, metavar="FILE", help="With one row: save the run that violates a property of the release."
)
@click.option("--html", "page", type=PATH, metavar="FILE", help="With one row: write its story and the run as a page.")
def zookeeper(
    issues: tuple[str, ...],
    time_limit: float | None,
    split: bool,
    matrix: Path | None,
    stop_after: float | None,
    residue: bool,
    release: str,
    as_json: bool,
    page: Path | None,
    **more: Any,
) -> Answer:
    """Reproduce known bugs of ZooKeeper: in a release with every other known fix, without and with the bug's own fix.

    For a named row the report has its story: what happens, what a client loses, the run with the Java method of each
    step, and what the fix changes. --release checks it on another release than the recorded one, without an
    expectation.

    With --drift: compare methods of ZooKeeper that the model cites, and what they use, with recorded digests.

    Exit codes: 0 every row, or method, is as recorded; 1 one has changed; 2 the request is wrong; 3 one has no verdict,
    and none has changed.
    """
    trace: Path | None = more.pop("trace")
    if (trace is not None or page is not None) and (len(issues) != 1 or residue or matrix is not None):
        raise click.UsageError("--trace and --html are for one row: zabcheck zookeeper ZK-4643 --html FILE")
    if more["drift"] is not None or more["against"] or more["since"] is not None:
        others = (issues, split, residue, release, time_limit is not None, matrix is not None, stop_after is not None)
        return drift_of(**more, more=any(others), as_json=as_json)
    if residue:
        if issues or split or matrix is not None or stop_after is not None:
            raise click.UsageError("--residue checks its own rows, with merged steps")
        return whole_residue(ResidueRequest(release, time_limit), as_json)
    if matrix is not None:
        if issues or split or release or as_json:
            raise click.UsageError(
                "--matrix checks every row on every release, with merged steps, and writes JSON to FILE"
            )
        return whole_matrix(MatrixRequest(str(matrix), time_limit, stop_after))
    if stop_after is not None:
        raise click.UsageError("--stop-after is for --matrix")
    if trace is not None:
        check_writable(trace, "--trace", regular=True)
    check_page(page, [trace])
    return rows(ZookeeperRequest(issues, time_limit, split, release), trace, page, as_json)


def rows(
    request: ZookeeperRequest, saved: Path | None = None, page: Path | None = None, as_json: bool = False
) -> Answer:
    """Report which rows are reproduced. 0: each as recorded; 1: one has changed; 3: one has no verdict.

    Args:
        saved, page: where to write the run of a single requested row: as a trace, and drawn with its story.
    """
    from checker.zookeeper.answered import rows_result, story_parts
    from checker.zookeeper.story import story
    from traces import TraceError, write_trace
    from traces.pictures.html import page as page_of

    files: list[tuple[Path, bytes]] = []
    troubles: list[str] = []
    stories: list[Part] = []
    asked: list[RowOutcome] = []
    with StatusLine() as status:
        for one in answer(request):
            asked.append(one)
            if request.issues:
                stories += story_parts(one)
            run = one.without.trace
            if run is not None and page is not None:
                files.append((page, page_of(run, story=story(one)).encode()))
            try:
                if run is not None and saved is not None:
                    write_trace(run, saved)
            except TraceError as problem:
                troubles.append(str(problem))
            if run is None and (page is not None or saved is not None):
                troubles.append(f"ZK-{one.row.issue} violates nothing, so there is no run to save or draw")
            status.update(f"ZK-{one.row.issue}: {len(asked)} rows are checked")
    result = rows_result(request.as_json(), asked, request.split, stories)
    return publish(result, as_json, more=files, troubles=troubles, long=bool(stories))


def whole_matrix(request: MatrixRequest) -> Answer:
    """Report which release has which bug. 0: every cell is known; 3: some are not."""
    from checker.requests import matrix
    from checker.zookeeper.answered import merged_by_promise
    from checker.zookeeper.matrix import told

    for cell in matrix.answer(request):
        click.echo(
            f"ZK-{cell.issue} on {cell.release}: {cell.says} ({cell.states:,} states, {cell.seconds} s)", err=True
        )
    cells = matrix.known(request)
    head, *rows = told(cells)
    known = sum(not c.trouble for c in cells.values())
    hours = sum(c.seconds for c in cells.values()) / 3600
    there = len(rows) * (len(head) - 2)
    sentence = f"{known} of {there} cells are known, after {hours:.2f} hours of a core"
    text = [Table(rows, head, below=f"{sentence}\n{merged_by_promise()}")]
    return publish(StatedResult(sentence, HELD if known == there else NO_VERDICT, body=text))


def whole_residue(request: ResidueRequest, as_json: bool) -> Answer:
    """Report the remaining faults of a release with all known repairs.

    0: as recorded; 1: a line has changed; 3: one has no verdict.

    Raises:
        RequestError: there is no such release.
    """
    from checker.requests import residue
    from checker.zookeeper.answered import merged_by_promise
    from checker.zookeeper.residue import LINES, repairs_of

    release, found = request.variant(), []
    for one in residue.answer(request, TerminalWatch()):
        line = one.line
        found.append(one)
        click.echo(f"{line.words}, {line.budget}: {one.says} ({one.states:,} states, {one.seconds:.1f} s)", err=True)
    changed = [one for one in found if not one.as_recorded and not one.trouble]
    undecided = [one for one in found if one.trouble]
    code = VIOLATED if changed else NO_VERDICT if undecided else HELD
    content = {
        "zabcheck": installed_version(), "request": request.as_json(), "release": release,
        "merged_by_promise": merged_by_promise(),
        "lines": [
            {
                "repairs": repairs_of(x.line, release),
                "budget": dict(zip(("elections", "proposals", "crashes", "losses"), x.line.budget, strict=True)),
                "breaks": x.breaks, "depth": x.depth, "states": x.states, "premises_not_reached": x.unreached,
                "cpu_seconds": round(x.seconds, 1), "problem": x.trouble, "as_recorded": x.as_recorded,
            }
            for x in found
        ],
        "exit_code": code,
    }  # fmt: skip
    rows = [
        (
            x.line.words, ", ".join(map(str, x.line.budget)), f"{x.states:,}", f"{x.seconds:.1f}", x.says,
            "as recorded" if x.as_recorded else "no verdict" if x.trouble else "CHANGED",
        )
        for x in found
    ]  # fmt: skip
    head = ("repairs", "elections, proposals, crashes, losses", "states", "CPU s", "result", "line")
    sentence = f"all: {', '.join(repairs_of(LINES[0], release))}; {len(changed) or 'none'} changed"
    text = [Table(rows, head, below=f"{sentence}\n{merged_by_promise()}")]
    return publish(StatedResult(sentence, code, content, text, kind="zookeeper-residue"), as_json)


def drift_of(drift: str | None, against: str, since: str | None, more: bool, as_json: bool) -> Answer:
    """Report what a source tree of ZooKeeper changes.

    Args:
        drift: the tree; `against`, `since`: as the options.
        more: whether anything else is requested as well.

    Raises:
        UsageError: something else is, or no tree is named.
    """
    if drift is None:
        raise click.UsageError("--against and --since are for --drift")
    if more:
        raise click.UsageError("--drift goes with no other check: zabcheck zookeeper --drift DIR [--against NUMBER]")
    return whole_drift(DriftRequest(drift, against, since or ""), as_json)


def whole_drift(request: DriftRequest, as_json: bool) -> Answer:
    """Report which cited methods differ in a source tree.

    0: none; 1: one has changed; 3: one is not known, and none has changed.

    Raises:
        RequestError: there is no such tree, release or revision, or no parser of Java.
    """
    from checker.report.drift import stated
    from checker.requests.drift import answer

    return publish(stated(request, *answer(request)), as_json)
