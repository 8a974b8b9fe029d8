"""What starts (issue 29, item 1): which directory a release starts from, with what, or which line of its log says why
not. Compared with real servers with ZABCHECK_EVERY; without, what they did is in benchmarks/results/starting.json."""

from __future__ import annotations

import html
import json
import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.zookeeper.report.audit_document import AuditReport
from tests.servers import official
from tests.zookeeper.directories import directory
from tests.zookeeper.healthy import OLD, TXNS
from tests.zookeeper.start_kinds import KINDS, LIMITS, log_directory, start_tree, started, txns_of
from tests.zookeeper.written import Txn, Written, create, ensemble, server, zxid
from traces import Runner
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.audit.starting import REFUSES, STARTS, Start, candidates, recovered, start_of, starts
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.rules import rules_for
from traces.zookeeper.disk.server import Server, find_directory
from traces.zookeeper.disk.trees import Node
from zabspec.model import Configuration, Model
from zabspec.typed import read
from zabspec.zookeeper.state import WIDTH

RELEASES = ("3.4.10", "3.5.3", "3.8.6", "3.9.5")
EIGHT = ("3.4.14", "3.5.3", "3.5.6", "3.5.10", "3.6.3", "3.7.2", "3.8.6", "3.9.5")  # for names, places and limits
STARTS_OF = [(kind, release) for kinds, all_of in ((KINDS, RELEASES), (LIMITS, EIGHT)) for kind in kinds
             for release in all_of]  # fmt: skip


def disk_of(kind: str, release: str, folder: Path) -> tuple[Server, list[Path]]:
    """A server with a kind of directory, and its directories."""
    directories = log_directory(kind, (KINDS | LIMITS)[kind](txns_of(release)).write(folder / "server1"))
    return audit([find_directory(directories, "server1")], digests=False).servers[0], directories


def compared(release: str, kind: str, work: Path) -> tuple[Start, str]:
    """What the audit says of a kind of directory, and where a real server did otherwise; empty: nowhere."""
    disk, directories = disk_of(kind, release, work)
    said = start_of(disk, release)
    for n, alone in enumerate((False, True) if release.startswith("3.4") and said.outcome == STARTS else (False,)):
        (work / f"run{n}").mkdir()
        seen = started(release, directories, work / f"run{n}", alone)
        wrong = differs(said, seen.zxid, seen.log, alone)
        if not wrong and seen.tree:
            tree = {p or "/" for p in start_tree(disk, rules_for(release))} - {"/zookeeper"}
            wrong = "" if set(seen.tree) == tree else f"its tree has {sorted(set(seen.tree) ^ tree)[:4]} otherwise"
        elif not wrong and said.outcome == STARTS and (alone or not release.startswith("3.4")):
            wrong = "no client could read its tree"
        if wrong:
            return said, wrong
    return said, ""


def differs(said: Start, zxid: int | None, log: str, alone: bool) -> str:
    tail = log[-600:]
    if said.outcome == REFUSES:
        return "" if zxid is None and said.line in log else f"it voted with {zxid} or says something else: {tail}"
    if said.outcome == STARTS and not alone:
        return "" if zxid == said.zxid else f"it voted with {zxid}: {tail}"
    return ""


FIGURES = Path(__file__).parents[2] / "benchmarks/results/starting.json"
LINES = {
    "a": "The current epoch, ", "b": "The accepted epoch, ", "c": "Found ", "d": "No snapshot found, ",
    "e": "Not able to find valid snapshots", "f": "CRC check failed", "g": "Unreasonable length",
    "h": "has invalid magic number", "i": "java.io.EOFException", "j": "Committed proposal cached out of order",
    "k": "Log directory has snapshot files", "l": "Snapshot directory has log files",
}  # fmt: skip


def cell(said: Start) -> str:
    if said.outcome == STARTS:
        return zxid_text(said.zxid)
    return next(letter for letter, line in LINES.items() if said.line.startswith(line))


def rows(folder: Path) -> dict[str, list[str]]:
    """Of each kind of directory what each release comes to."""
    out: dict[str, list[str]] = {}
    for kind, release in STARTS_OF:
        disk, _ = disk_of(kind, release, folder / kind / release)
        out.setdefault(kind.replace("_", " "), []).append(cell(start_of(disk, release)))
    return out


def test_the_figures_have_what_real_servers_were_held_against(tmp_path: Path) -> None:
    """Each cell is what start_of says now; the figures have those that real servers of the release did."""
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert rows(tmp_path) == {kind: said for table in ("kinds", "limits") for kind, *said in kept[table]["rows"]}
    lines = dict(kept["lines"]["rows"])
    assert not [letter for letter, line in LINES.items() if not lines[letter].startswith(f"`{line.strip()}")]


def told(tmp_path: Path, made: Written, release: str = "") -> list[Start]:
    disk = audit([find_directory([made.write(tmp_path / "server1")], "server1")], digests=False).servers[0]
    return starts([disk], [release] if release else candidates([disk]))


def test_releases_that_do_the_same_are_told_together(tmp_path: Path) -> None:
    gap = server([t for t in TXNS if t.zxid != zxid(2, 3)])
    said = told(tmp_path, gap)
    assert [(x.outcome, x.releases[0], x.releases[-1]) for x in said] == [
        (REFUSES, "master", "3.9.4"),
        (STARTS, "3.9.3", "3.6.0"),
    ]


def test_files_say_which_releases_can_have_written_them(tmp_path: Path) -> None:
    marked = server(OLD)
    marked.raw["updatingEpoch"] = b""
    assert [x.releases[0] for x in told(tmp_path / "marked", marked)] == ["3.4.14"]
    assert told(tmp_path / "old", server(OLD))[0].releases[-1] == "3.4.10"
    recent = [*OLD, Txn(OLD[-1].zxid + 1, *create("/c", kind=15))]
    assert told(tmp_path / "recent", server(recent))[0].releases[-1] == "3.5.3"
    assert told(tmp_path / "new", server(TXNS))[0].releases[-1] == "3.6.0"


@cache
def runner() -> Runner:
    return Runner(Model(Configuration("zookeeper", "", timeouts=0, budgets="elections=8,proposals=1")))


@pytest.mark.parametrize(("current", "accepted", "last"), [(1, 3, 3), (3, 2, 3), (3, 3, 3), (7, 9, 3), (0, 0, 0)])
def test_the_step_that_is_asked_is_the_protocols_own(current: int, accepted: int, last: int) -> None:
    """The same files as a state of the protocol, and its step in the text as it is explored."""
    refuses, _ = recovered(0, zxid(last, 6) if last else 0, current, accepted, False)
    made = runner()
    s, names = made.state.copy(), {name.removesuffix("__own"): value for name, value in made.names.items()}
    s.log[0].clear()
    if last:
        s.log[0].append(last * WIDTH + 1)
    s.current_epoch[0], s.accepted_epoch[0] = current, accepted
    names["on_recovery"](s, 0)
    assert bool(s.refused[0]) == refuses


def test_a_release_that_is_not_known_is_refused(tmp_path: Path) -> None:
    folder = server(TXNS).write(tmp_path / "server1")
    answer = CliRunner().invoke(main, ["audit", str(folder), "--release", "9.9.9"])
    assert answer.exit_code == 2
    assert "there is no release '9.9.9'" in answer.output


def test_the_report_says_first_whether_data_is_in_danger_and_what_starts(tmp_path: Path) -> None:
    """As text, as JSON by its schema, and on the page; evidence in the words of ZooKeeper."""
    folders = ensemble(tmp_path, server(TXNS), server(TXNS), directory("all current=2 accepted=3"))
    other = [replace(t, body=t.body.replace(b"data 6", b"date 6")) if t.zxid == zxid(2, 6) else t for t in TXNS]
    folders[0] = server(other).write(tmp_path / "parted")
    words = ["audit", *map(str, folders), "--release", "3.9.5", "--html", str(tmp_path / "a.html")]
    answer = CliRunner().invoke(main, words)
    first = " ".join(answer.output.partition("\nAssumed:")[0].split())  # it is folded as a long line is
    assert first.startswith("VIOLATION: data")
    assert "Do not" in first
    assert "its log has 'The current epoch, 2, is older than the last zxid, 12884901894'" in " ".join(
        answer.output.split()
    )
    assert "zxid 0x200000006, create /n2_6 with 6 bytes" in " ".join(answer.output.split())
    assert '"zxid"' not in answer.output
    said = json.loads(CliRunner().invoke(main, [*words[:-2], "--json"]).output)
    read(said, AuditReport)
    assert [(x["server"], x["outcome"]) for x in said["starts"]] == [
        ("parted", STARTS), ("server2", STARTS), ("server3", REFUSES),
    ]  # fmt: skip
    assert said["headline"] == first
    page = (tmp_path / "a.html").read_text()
    assert "What starts" in page
    assert [part for part in re.split(r"; |(?<=\.) ", first) if html.escape(part.rstrip(".")) not in page] == []


def test_statistics_of_nodes_are_told_as_zookeeper_prints_them() -> None:
    """zxids and sessions in hexadecimal, versions in decimal."""
    said = Node("/a", 0, 4, 1, (zxid(2, 11), zxid(2, 12), 0, 5, 6, 10, 0, 0, -1)).told()
    assert said.startswith("/a (4 bytes, czxid 0x20000000b, mzxid 0x20000000c, pzxid 0x0, version 10, cversion 0, ")
    assert said.endswith(", owner 0xffffffffffffffff)")


@pytest.mark.every
@pytest.mark.parametrize(("kind", "release"), STARTS_OF)
def test_a_real_server_starts_as_it_was_told(kind: str, release: str) -> None:
    official(release)
    with tempfile.TemporaryDirectory(prefix="zabcheck-starts-") as folder:
        said, wrong = compared(release, kind, Path(folder))
        assert not wrong, (said, wrong)
