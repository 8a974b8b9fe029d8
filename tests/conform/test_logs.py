"""Servers' own logs at INFO, checked against their release's model: explained, refuted, unknown, and tampered logs."""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from checker.report.conformed_logs import logs_conformed_result, told
from checker.requests.conform import ConformRequest
from checker.requests.conform_logs import answer_logs
from traces.conform.from_lines import (
    EXPLAINED,
    NOT_EXPLAINED,
    UNKNOWN,
    FromLines,
    Replay,
    explained_by_lines,
    text_for,
    unlike_received,
)
from traces.conform.guided import Guided
from traces.conform.server_lines import ServerLine, ServerLines, handled_line, read_server_lines
from traces.reenact.stores import Disk, read_disk

DATA = Path(__file__).parents[1] / "data"
COMES_BACK, TRUNC = "logs-comes-back", "logs-trunc"
NUMBERS = (1, 2, 3)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that unpacks the logs and disks of three servers of 3.9.5."""
    folders: dict[str, Path] = {}

    def unpack(name: str) -> Path:
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            packed = lzma.decompress((DATA / f"{name}.tar.xz").read_bytes())
            with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
                tar.extractall(folders[name], filter="data")
        return folders[name]

    return unpack


Unpacked = Callable[[str], Path]


@cache
def disks_of(folder: Path) -> dict[int, Disk]:
    return {n: read_disk(folder / f"server{n}") for n in NUMBERS}


def lines_of(folder: Path) -> ServerLines:
    return read_server_lines({n: folder / f"log{n}.txt" for n in NUMBERS})


def tampered(folder: Path, into: Path, server: int, change: Callable[[list[str]], list[str]]) -> ServerLines:
    """Return the lines of logs of which one server's is changed."""
    for n in NUMBERS:
        text = (folder / f"log{n}.txt").read_text().splitlines()
        (into / f"log{n}.txt").write_text("\n".join(change(text) if n == server else text) + "\n")
    return lines_of(into)


def replaced(old: str, new: str, count: int = 0) -> Callable[[list[str]], list[str]]:
    """Return a change of one line that has a text; `count`: so many of them are passed over."""

    def change(lines: list[str]) -> list[str]:
        places = [k for k, line in enumerate(lines) if old in line]
        lines = list(lines)
        lines[places[count]] = lines[places[count]].replace(old, new)
        return lines

    return change


def moved(what: str, before: str, count: int = 0) -> Callable[[list[str]], list[str]]:
    """Return a change that puts a line before the last one of another kind above it."""

    def change(lines: list[str]) -> list[str]:
        source = [k for k, line in enumerate(lines) if what in line][count]
        target = max(k for k, line in enumerate(lines[:source]) if before in line)
        line = lines[source]
        return [*lines[:target], line, *lines[target:source], *lines[source + 1 :]]

    return change


def without(what: str, count: int = 0) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        place = [k for k, line in enumerate(lines) if what in line][count]
        return lines[:place] + lines[place + 1 :]

    return change


def twice(what: str) -> Callable[[list[str]], list[str]]:
    """Return a change that writes the first line of a kind twice."""

    def change(lines: list[str]) -> list[str]:
        place = next(k for k, line in enumerate(lines) if what in line)
        return [*lines[:place], lines[place], *lines[place:]]

    return change


def idle_leader(snapshot: str) -> Callable[[list[str]], list[str]]:
    """Return a change that adds a term of a leader without a follower, and with this snapshot."""

    def change(lines: list[str]) -> list[str]:
        leads = [k for k, line in enumerate(lines) if "LEADING - LEADER" in line][1]
        vote = max(k for k in range(leads) if "New election" in lines[k])
        taken = next(line for line in lines[leads:] if "Snapshotting: 0x100000004" in line)
        taken = taken.replace("Snapshotting: 0x100000004", snapshot)
        return [*lines[:vote], lines[vote], lines[leads], taken, *lines[vote:]]

    return change


def test_the_write_that_comes_back_is_explained_and_flagged(unpacked: Unpacked) -> None:
    done = answer_logs(ConformRequest(str(unpacked(COMES_BACK))))
    assert (done.verdict, done.explained, done.epochs) == (EXPLAINED, done.lines, 6)
    assert done.syncs == {"DIFF": 7, "SNAP": 4}
    flagged = done.broken["epoch-has-its-history"]
    assert flagged is not None
    assert (flagged.server, flagged.kind, flagged.zxid) == (3, "serves", 0x500000000)
    result = logs_conformed_result({}, done)
    assert result.exit_code == 1
    assert any("epoch-has-its-history (by log3.txt:" in str(line) for line in told(done))


def test_logs_with_a_trunc_are_explained_without_a_violation(unpacked: Unpacked) -> None:
    done = answer_logs(ConformRequest(str(unpacked(TRUNC)), release="3.9.5"))
    assert (done.verdict, done.syncs, done.broken) == (EXPLAINED, {"DIFF": 3, "TRUNC": 1}, {})
    assert logs_conformed_result({}, done).exit_code == 0


def test_logs_of_another_release_are_said_to_be(unpacked: Unpacked) -> None:
    assert not answer_logs(ConformRequest(str(unpacked(TRUNC)), release="3.9.5")).named
    done = answer_logs(ConformRequest(str(unpacked(TRUNC)), release="3.6.0"))
    assert done.named == ("3.9.5",)
    assert any("the logs name 3.9.5" in str(line) for line in told(done))


def test_a_server_that_is_killed_as_it_starts_is_explained(unpacked: Unpacked, tmp_path: Path) -> None:
    """It writes that it starts, and neither what it loads nor its vote."""
    folder = unpacked(TRUNC)
    lines = tampered(folder, tmp_path, 1, lambda text: [x for x in text for _ in range(1 + ("Starting quorum" in x))])
    done = explained_by_lines(lines, disks_of(folder), "")
    assert (done.verdict, done.lines) == (EXPLAINED, len(lines_of(folder).all_of()) + 1), done.why


def test_a_leader_without_a_follower_is_left_out(unpacked: Unpacked, tmp_path: Path) -> None:
    folder = unpacked(COMES_BACK)
    lines = tampered(folder, tmp_path, 2, idle_leader("Snapshotting: 0x100000004"))
    done = explained_by_lines(lines, disks_of(folder), "")
    assert (done.verdict, done.barren) == (EXPLAINED, 1), done.why


REFUTED = {  # where the lines themselves exclude it: server, change, the server of the line at fault, its kind
    "another kind received": (1, replaced("a snapshot from leader", "a diff from the leader"), 1, "got"),
    "another zxid received": (3, replaced("leader 0x300000000", "leader 0x300000001"), 3, "got"),
    "DIFF where nothing lacks": (2, replaced("DIFF zxid=0x100000004", "DIFF zxid=0x100000003"), 2, "syncs"),
    "an epoch acknowledged": (1, replaced("with zxid 300000000", "with zxid 400000000"), 1, "acknowledged"),
    "an epoch that goes back": (3, replaced("current epoch to 4", "current epoch to 2"), 3, "epoch"),
    "a leader with a transaction": (2, replaced("zxid: 0x300000000", "zxid: 0x300000001"), 2, "serves"),
}  # fmt: skip


@pytest.mark.parametrize("how", REFUTED)
def test_tampered_logs_are_refuted_at_the_line(how: str, unpacked: Unpacked, tmp_path: Path) -> None:
    server, change, at_fault, kind = REFUTED[how]
    folder = unpacked(COMES_BACK)
    done = explained_by_lines(tampered(folder, tmp_path, server, change), disks_of(folder), "")
    assert (done.verdict, done.at is not None) == (NOT_EXPLAINED, True), done.why
    assert done.at is not None
    assert (done.at.server, done.at.kind.partition(" ")[0]) == (at_fault, kind)
    assert logs_conformed_result({}, done).exit_code == 1


def in_order(server: int, *kinds: tuple[str, int]) -> list[ServerLine]:
    """Return lines of a server's main thread."""
    return [
        ServerLine(server, k, f"log{server}.txt", "", kind, values=(zxid,)) for k, (kind, zxid) in enumerate(kinds, 1)
    ]


@pytest.mark.parametrize(("first", "refuted"), [((), 1), ((("got SNAP", 0x400000001), ("looks", 0)), 0)])
def test_a_term_without_an_acknowledgement_refutes_nothing(first: tuple[tuple[str, int], ...], refuted: int) -> None:
    """The leader's log ends early: what it sent in the learner's second term of the epoch is not in it."""
    sent = ServerLine(3, 3, "log3.txt", "", "syncs", learner=2, sends=("SNAP", 0x400000001))
    learner = in_order(2, ("starts", 0), ("looks", 0), *first, ("got DIFF", 0x500000002), ("acknowledged", 5 << 32))
    leader = in_order(3, ("starts", 0), ("serves", 5 << 32))
    assert len(list(unlike_received(ServerLines({2: learner, 3: leader}, {2: [], 3: [sent]})))) == refuted


def test_a_leader_that_always_sends_a_snap_is_not_refuted(unpacked: Unpacked, tmp_path: Path) -> None:
    """With zookeeper.forceSnapshotSync its release sends what the model does not."""
    forced = "[LearnerHandler-/127.0.0.1:1] - Forcing snapshot sync - should not see this in production"
    change = replaced("Sending DIFF zxid=0x100000004", f"{forced}\nSending DIFF zxid=0x100000003")
    folder = unpacked(COMES_BACK)
    done = explained_by_lines(tampered(folder, tmp_path, 2, change), disks_of(folder), "")
    assert (done.verdict, "always sends a SNAP" in done.why) == (UNKNOWN, True)


NOT_KNOWN = {  # what the model excludes, and only a search of all runs could refute
    "another vote": (1, replaced("proposed zxid=0x100000004", "proposed zxid=0x100000003")),
    "another start": (3, replaced("highest zxid is 0x100000005", "highest zxid is 0x100000004")),
    "another committed log": (3, replaced("minCommittedLog=0x100000005", "minCommittedLog=0x100000004")),
    "another last": (3, replaced("lastProcessedZxid=0x100000005", "lastProcessedZxid=0x100000004")),
    "another peer": (2, replaced("peerLastZxid=0x100000005", "peerLastZxid=0x100000003")),
    "another quorum": (2, replaced("sids: [[1, 2]]", "sids: [[2, 3]]")),
    "another leader's zxid": (3, replaced("zxid: 0x500000000", "zxid: 0x700000000")),
    "an acknowledgement before its epoch": (1, moved("Sent NEWLEADER ack", "Set the current epoch", 2)),
    "UPTODATE before the acknowledgement": (1, moved("received UPTODATE", "Sent NEWLEADER ack", 1)),
    "NEWLEADER before DIFF": (1, moved("received NEWLEADER", "Getting a diff", 1)),
    "a term without a leader": (2, without("LEADING - LEADER")),
    "no vote": (1, without("New election", 1)),
    "no transfer": (2, without("Synchronizing with", 3)),
    "no start": (3, without("Starting quorum peer", 1)),
    "no first start": (3, without("Starting quorum peer")),
    "a leader twice in one term": (2, twice("LEADING - LEADER")),
    "another snapshot of a leader": (2, idle_leader("Snapshotting: 0x100000001")),
    "a transfer received twice": (1, twice("Getting a snapshot")),
    "DIFF outside a term": (1, moved("FOLLOWING - LEADER", "New election", 2)),
    "a line twice": (1, lambda lines: [x for line in lines for x in [line] * (1 + ("received UPTODATE" in line))]),
}  # fmt: skip


@pytest.fixture(scope="module")
def built(unpacked: Unpacked) -> list[int]:
    """Return the steps of the run that is built from the logs as they are."""
    folder = unpacked(COMES_BACK)
    lines, disks = lines_of(folder), disks_of(folder)
    run = Guided(text_for(lines, disks, ""), lines, disks)
    run.run()
    return run.words


@pytest.mark.parametrize("how", NOT_KNOWN)
def test_a_run_that_is_replayed_does_not_write_tampered_logs(
    how: str, built: list[int], unpacked: Unpacked, tmp_path: Path
) -> None:
    """What is checked at the end relies on nothing that the construction of the run has checked."""
    folder = unpacked(COMES_BACK)
    text = text_for(lines_of(folder), disks_of(folder), "")
    lines = tampered(folder, tmp_path, *NOT_KNOWN[how])
    wrong = Replay(text, lines, set()).run(built, FromLines())
    if how in READING:
        assert lines.problems
    else:
        assert wrong


READING = ("no first start",)  # refused when the logs are read


def test_a_run_with_a_step_less_is_not_one(built: list[int], unpacked: Unpacked) -> None:
    folder = unpacked(COMES_BACK)
    lines = lines_of(folder)
    text = text_for(lines, disks_of(folder), "")
    wrong = Replay(text, lines, set()).run([*built[:100], *built[101:]], FromLines())
    assert wrong


@pytest.mark.parametrize("how", NOT_KNOWN)
def test_tampered_logs_are_never_explained(how: str, unpacked: Unpacked, tmp_path: Path) -> None:
    server, change = NOT_KNOWN[how]
    folder = unpacked(COMES_BACK)
    done = explained_by_lines(tampered(folder, tmp_path, server, change), disks_of(folder), "")
    assert done.verdict != EXPLAINED
    assert done.why
    assert not done.broken
    assert logs_conformed_result({}, done).exit_code in (1, 3)


@pytest.mark.parametrize("part", ["log", "snapshots", "current", "accepted"])
def test_another_disk_in_the_end_is_not_explained(part: str, unpacked: Unpacked) -> None:
    folder = unpacked(TRUNC)
    disks = disks_of(folder)
    last = disks[2]
    other = {
        "log": Disk((*last.log[:-3], *last.log[-2:]), last.snapshots, last.current, last.accepted),
        "snapshots": Disk(last.log, (*last.snapshots, last.log[0]), last.current, last.accepted),
        "current": Disk(last.log, last.snapshots, last.current - 1, last.accepted),
        "accepted": Disk(last.log, last.snapshots, last.current, last.accepted + 1),
    }
    done = explained_by_lines(lines_of(folder), disks | {2: other[part]}, "")
    assert (done.verdict, "server 2" in done.why) == (UNKNOWN, True), done.why


def test_the_repaired_model_does_not_explain_the_write(unpacked: Unpacked) -> None:
    """With the repair, the tail is gone when the server with it votes again: the vote in its log has it."""
    done = answer_logs(ConformRequest(str(unpacked(COMES_BACK)), variant="snap-tail"))
    assert done.verdict == UNKNOWN
    assert done.at is not None
    assert (done.at.server, done.at.kind, done.at.zxid) == (3, "looks", 0x100000005)


def test_a_trunc_that_is_logged_and_not_sent_is_a_diff() -> None:
    """Up to 3.8, to a learner whose last zxid is <epoch, 0>, queueCommittedProposals logs TRUNC and sends DIFF."""
    at_hand: dict[str, ServerLine] = {}
    found: list[ServerLine] = []
    for peer in ("200000000", "200000001"):
        line = ServerLine(1, 1, "log1.txt", "", "syncs")
        numbers = {"sid": "2", "high": "100000003", "low": "100000001", "last": "100000003", "peer": peer}
        handled_line("syncs", numbers, line, "thread", at_hand, found)
        handled_line("sends TRUNC", {"zxid": "100000003"}, line, "thread", at_hand, found)
    assert [line.sends for line in found] == [("DIFF", 0x100000003), ("TRUNC", 0x100000003)]
