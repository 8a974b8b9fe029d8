"""Servers' own logs at INFO, checked against their release's model: explained, refuted, unknown, and tampered logs."""

from __future__ import annotations

import io
import lzma
import random
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from checker.zookeeper.report.conformed import logs_conformed_result, told_logs
from checker.zookeeper.requests.conform import Conform, answer_logs
from tests.transcript import compare_cases
from traces.zookeeper.conform.excluded import excluded_line, unlike_received, wrong_handshakes, wrong_syncs
from traces.zookeeper.conform.from_lines import (
    EXPLAINED,
    NOT_EXPLAINED,
    UNKNOWN,
    FromLines,
    Replay,
    Written,
    explained_by_lines,
    text_for,
    text_with,
)
from traces.zookeeper.conform.guided import Guided
from traces.zookeeper.conform.server_lines import ServerLines, handled_line, read_server_lines
from traces.zookeeper.conform.unbounded import ReleaseProtocol
from traces.zookeeper.reenact.stores import Disk, read_disk
from traces.zookeeper.server_logs.log_lines import ServerLine
from zabspec.worlds.steps import ACTION, ELECT, JOIN, RECOVER, TO_FOLLOWER, TO_LEADER

DATA = Path(__file__).parents[2] / "data"
COMES_BACK, TRUNC, DEBUG, FIVE = "logs-comes-back", "logs-trunc", "logs-debug", "logs-five"
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
    (release,) = lines_of(folder).releases
    return {n: read_disk(folder / f"server{n}", release) for n in NUMBERS}


def lines_of(folder: Path) -> ServerLines:
    return read_server_lines({n: folder / f"log{n}.txt" for n in NUMBERS})


def tampered(folder: Path, into: Path, server: int, change: Callable[[list[str]], list[str]]) -> ServerLines:
    """Return the lines of logs of which one server's is changed."""
    for n in NUMBERS:
        text = (folder / f"log{n}.txt").read_text().splitlines()
        (into / f"log{n}.txt").write_text("\n".join(change(text) if n == server else text) + "\n")
    return lines_of(into)


def earlier(line: str) -> str:
    """Return a line as it is written a millisecond before."""
    return f"{line[:20]}{int(line[20:23]) - 1:03}{line[23:]}"


def test_the_write_that_comes_back_is_explained_and_flagged(unpacked: Unpacked) -> None:
    done = answer_logs(Conform(str(unpacked(COMES_BACK))))
    assert (done.verdict, done.explained, done.epochs) == (EXPLAINED, done.lines, 6)
    assert done.syncs == {"DIFF": 7, "SNAP": 4}
    flagged = done.broken["epoch-has-its-history"]
    assert flagged is not None
    assert (flagged.server, flagged.kind, flagged.zxid) == (3, "serves", 0x500000000)
    result = logs_conformed_result({}, done)
    assert result.exit_code == 1
    assert any("epoch-has-its-history (by log3.txt:" in str(line) for line in told_logs(done))


def test_logs_with_a_trunc_are_explained_without_a_violation(unpacked: Unpacked) -> None:
    done = answer_logs(Conform(str(unpacked(TRUNC)), release="3.9.5"))
    assert (done.verdict, done.syncs, done.broken) == (EXPLAINED, {"DIFF": 3, "TRUNC": 1}, {})
    assert logs_conformed_result({}, done).exit_code == 0


def test_logs_of_another_release_are_said_to_be(unpacked: Unpacked) -> None:
    assert not answer_logs(Conform(str(unpacked(TRUNC)), release="3.9.5")).named
    done = answer_logs(Conform(str(unpacked(TRUNC)), release="3.6.0"))
    assert done.named == ("3.9.5",)
    assert any("the logs name 3.9.5" in str(line) for line in told_logs(done))


def test_a_server_that_is_killed_as_it_starts_is_explained(unpacked: Unpacked, tmp_path: Path) -> None:
    """It writes that it starts, and neither what it loads nor its vote."""

    def change(text: list[str]) -> list[str]:
        return [y for x in text for y in ([earlier(x), x] if "Starting quorum" in x else [x])]

    folder = unpacked(TRUNC)
    lines = tampered(folder, tmp_path, 1, change)
    done = explained_by_lines(lines, disks_of(folder), "")
    assert (done.verdict, done.lines) == (EXPLAINED, len(lines_of(folder).all_of()) + 1), done.why


def test_a_leader_without_a_follower_is_left_out(unpacked: Unpacked, tmp_path: Path) -> None:
    folder = unpacked(COMES_BACK)
    lines = tampered(folder, tmp_path, 2, lambda text: idle_leader(text, "0x100000004"))
    done = explained_by_lines(lines, disks_of(folder), "")
    assert (done.verdict, done.barren) == (EXPLAINED, 1), done.why


def test_logs_of_five_servers_are_explained(unpacked: Unpacked) -> None:
    """A leader is elected, and chooses its epoch, with two learners."""
    done = answer_logs(Conform(str(unpacked(FIVE))))
    assert (done.verdict, done.syncs, done.votes) == (EXPLAINED, {"DIFF": 5}, 60), done.why


CHANGE = re.compile(r"(\d) (\w+)(?:#(\d+))? (.*)")


def changed(lines: list[str], how: str, passed: int, what: str) -> list[str]:
    """Return a log after a change of `tampered.txt`."""
    old, _, new = what.partition(" => " if how == "replace" else " above ")
    places = [k for k, line in enumerate(lines) if old in line]
    at = places[passed] if places else -1
    if how == "replace":
        return [*lines[:at], *lines[at].replace(old, new).split("\\n"), *lines[at + 1 :]]
    if how == "move":
        target = max(k for k, line in enumerate(lines[:at]) if new in line)
        return [*lines[:target], lines[at], *lines[target:at], *lines[at + 1 :]]
    if how == "drop":
        return [*lines[:at], *lines[at + 1 :]]
    if how == "twice":
        return [*lines[: at + 1], *lines[at:]]
    if how == "each":
        return [x for line in lines for x in [line] * (1 + (what in line))]
    if how == "idle":
        return idle_leader(lines, what)
    return [*lines, notified(*what.split()) if how == "hears" else what]


def notified(sender: str, state: str, leader: str, epoch: str, zxid: str) -> str:
    said = (
        f"Notification: my state:LOOKING; n.sid:{sender}, n.state:{state}, n.leader:{leader}, n.round:0x1, "
        f"n.peerEpoch:0x{epoch}, n.zxid:0x{zxid}, message format version:0x2, n.config version:0x0"
    )
    return f"2026-11-27 00:00:00,000 [myid:] - INFO  [WorkerReceiver[myid=2]:X@391] - {said}"


def idle_leader(lines: list[str], snapshot: str) -> list[str]:
    """Return a log with a term of a leader without a follower, and with this snapshot."""
    leads = [k for k, line in enumerate(lines) if "LEADING - LEADER" in line][1]
    vote = max(k for k in range(leads) if "New election" in lines[k])
    taken = next(line for line in lines[leads:] if "Snapshotting: 0x100000004" in line)
    taken = taken.replace("Snapshotting: 0x100000004", f"Snapshotting: {snapshot}")
    return [*lines[:vote], *map(earlier, (lines[vote], lines[leads], taken)), *lines[vote:]]


@pytest.mark.slow(seconds=6)
def test_tampered_logs_are_never_explained(
    unpacked: Unpacked, built: list[int], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Refuted at the line, or unknown. What is checked at the end relies on nothing that the construction of a run has
    checked: a run that is replayed does not write tampered logs either."""

    def said(title: str, lines: list[str]) -> Iterator[str]:
        folder, place = unpacked(lines[0]), tmp_path / title.replace(" ", "_")
        place.mkdir()
        logs = {n: (folder / f"log{n}.txt").read_text().splitlines() for n in NUMBERS}
        for line in filter(None, map(CHANGE.fullmatch, lines)):
            logs[int(line[1])] = changed(logs[int(line[1])], line[2], int(line[3] or 0), line[4])
        for n, log in logs.items():
            (place / f"log{n}.txt").write_text("\n".join(log) + "\n")
        found = lines_of(place)
        done = explained_by_lines(found, disks_of(folder), "")
        assert done.verdict in (NOT_EXPLAINED, UNKNOWN), title
        assert not done.broken, title
        assert logs_conformed_result({}, done).exit_code == (1 if done.verdict == NOT_EXPLAINED else 3), title
        at = f" log{done.at.server}.txt:{done.at.number} {done.at.kind}" if done.at else ""
        yield f"{done.verdict}{at}: {done.why}"
        if "replayed" in lines:
            model = text_for(lines_of(folder), disks_of(folder), "")
            wrong = Replay(model, found, set()).run(built, FromLines()) or found.problems
            assert wrong, title
            yield f"replayed: {wrong}"

    compare_cases(Path(__file__).with_name("tampered.txt"), said, request)


def test_votes_are_compared_with_the_run(unpacked: Unpacked, tmp_path: Path) -> None:
    """A server that looks votes with its current epoch, one that follows or leads with its leader's."""
    folder = unpacked(COMES_BACK)
    votes = [notified("1", state, "3", epoch, "100000005") for state, epoch in (("LOOKING", "1"), ("FOLLOWING", "5"))]
    done = explained_by_lines(tampered(folder, tmp_path, 2, lambda text: [*text, *votes]), disks_of(folder), "")
    assert (done.verdict, done.votes) == (EXPLAINED, 2), done.why
    assert any("2 notifications" in str(line) for line in told_logs(done))


@pytest.mark.parametrize("version", [0, 0x100000002])
def test_a_reconfigured_ensemble_is_not_refuted(version: int, unpacked: Unpacked, tmp_path: Path) -> None:
    """Its quorums are not those of all servers all the time."""
    folder = unpacked(COMES_BACK)

    def change(text: list[str]) -> list[str]:
        votes = [notified("1", "LOOKING", "3", "0", "0").replace("config version:0x0", f"config version:0x{v:x}")
                 for v in (0, version)]  # fmt: skip
        return [line.replace("sids: [[1, 2]]", "sids: [[2]]") for line in [*text, *votes]]

    done = explained_by_lines(tampered(folder, tmp_path, 2, change), disks_of(folder), "")
    assert (done.verdict, "no reconfiguration" in done.why) == ((UNKNOWN, True) if version else (NOT_EXPLAINED, False))


@pytest.mark.parametrize(("server", "hours"), [(1, 5)])
def test_servers_in_other_time_zones_are_explained(
    server: int, hours: int, unpacked: Unpacked, tmp_path: Path
) -> None:  # fmt: skip
    folder = unpacked(COMES_BACK)

    def moved_by(text: list[str]) -> list[str]:
        return [
            str(datetime.fromisoformat(line[:19]) + timedelta(hours=hours)) + line[19:] if line[:2] == "20" else line
            for line in text
        ]

    done = explained_by_lines(tampered(folder, tmp_path, server, moved_by), disks_of(folder), "")
    assert (done.verdict, any("clocks" in str(line) for line in told_logs(done))) == (EXPLAINED, True), done.why
    assert sorted(done.shifted) == ([2, 3] if server == 1 else [3])


def test_a_snap_may_have_what_was_applied_meanwhile(unpacked: Unpacked) -> None:
    """Its zxid is read after the line with the leader's last."""
    folder = unpacked(COMES_BACK)
    text = text_for(lines_of(folder), disks_of(folder), "")
    for zxid, expected in ((0x300000000, 0), (0x300000002, 0), (0x200000009, 1)):
        line = ServerLine(1, 1, "log1.txt", "", "syncs", 0, (0x100000004, 0x100000001, 0x300000000, 0x200000000), 2)
        line.sends = ("SNAP", zxid)
        assert len(list(wrong_syncs(ServerLines({1: []}, {1: [line]}), text))) == expected


def test_a_hole_in_one_file_refutes_nothing(unpacked: Unpacked) -> None:
    """Whatever lines of one server are missing, those that are there contradict neither each other nor the disks."""
    draw = random.Random("holes")
    folder = unpacked(COMES_BACK)
    disks, whole = disks_of(folder), lines_of(folder)
    text = text_for(whole, disks, "")
    for server in NUMBERS * 25:
        first, last = sorted(draw.sample(range(2, 80), 2))
        lines = ServerLines(dict(whole.main), dict(whole.handled))
        for of_servers in (lines.main, lines.handled):
            of_servers[server] = [line for line in of_servers[server] if not first <= line.number < last]
        assert excluded_line(lines, disks, text) is None, (server, first, last)


@pytest.mark.parametrize(
    ("what", "digits"), [("Getting a diff from the leader 0x100000004", 5), ("ack to leader with zxid", 4)]
)
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_torn_line_refutes_nothing(
    what: str, digits: int, goes_on: bool, unpacked: Unpacked, tmp_path: Path
) -> None:  # fmt: skip
    """A server is killed as it writes, and starts on the same line, or its log ends there."""
    folder = unpacked(COMES_BACK)
    text = (folder / "log1.txt").read_text().splitlines()
    torn = next(k for k, line in enumerate(text) if what in line)
    start = max(k for k, line in enumerate(text) if "[main:" in line and "Starting quorum" in line)
    tampered(folder, tmp_path, 1, lambda text: text)
    rest = "\n".join(text[start:]) + "\n" if goes_on else ""
    (tmp_path / "log1.txt").write_text("\n".join(text[: torn + 1])[:-digits] + rest)
    done = explained_by_lines(lines_of(tmp_path), disks_of(folder), "")
    assert done.verdict == UNKNOWN, done.why
    assert [x.kind for x in lines_of(tmp_path).main[1]].count("starts") == 1 + goes_on


@pytest.mark.parametrize("again", ["each line", "a stretch", "the file"])
def test_a_log_with_lines_twice_is_not_refuted(again: str, unpacked: Unpacked, tmp_path: Path) -> None:
    """As of two appenders, or of files that overlap."""
    changes: dict[str, Callable[[list[str]], list[str]]] = {
        "each line": lambda text: [x for x in text for _ in range(2)],
        "a stretch": lambda text: text[:20] + text[10:],
        "the file": lambda text: text + text,
    }
    folder = unpacked(COMES_BACK)
    done = explained_by_lines(tampered(folder, tmp_path, 2, changes[again]), disks_of(folder), "")
    assert (done.verdict, "the file has lines twice" in done.why) == (UNKNOWN, True), done.why


@pytest.mark.parametrize("clock", ["set back", "in seconds"])
def test_times_that_show_nothing_join_no_lines(clock: str, unpacked: Unpacked, tmp_path: Path) -> None:
    """A hole between two terms is none of a second where the clock was set back, or is not finer than that."""

    def change(text: list[str]) -> list[str]:
        text = text[:35] + text[43:]
        if clock == "in seconds":
            return [line[:11] + "20:34:50" + line[23:] for line in text]
        return [text[0].replace("2026-11-26", "2026-11-28"), *text[1:]]

    folder = unpacked(COMES_BACK)
    done = explained_by_lines(tampered(folder, tmp_path, 1, change), disks_of(folder), "")
    assert done.verdict == UNKNOWN, done.why


def test_nothing_excludes_a_run_of_the_model() -> None:
    """Random runs, written down as logs without a pause between the lines."""
    text = text_with("", 3, 20, 1000)
    kinds: set[str] = set()
    for seed in range(4):
        lines, disks = random_run(text, seed, 300)
        kinds |= {line.kind for line in lines.all_of()}
        assert excluded_line(lines, disks, text) is None, seed
    assert {"syncs", "serves", "got DIFF", "acknowledged", "loaded"} <= kinds


def random_run(text: ReleaseProtocol, seed: int, steps: int) -> tuple[ServerLines, dict[int, Disk]]:
    """Return what a random run of the protocol writes, and its disks in the end."""
    draw, s = random.Random(seed), text.begin()
    lines = ServerLines({n: [] for n in NUMBERS}, {n: [] for n in NUMBERS})
    replay, room = Replay(text, lines, set()), [0] * (4 * text.most_steps + 1)
    life = dict.fromkeys(NUMBERS, -1)

    def write(found: Iterable[Written]) -> None:
        for w in found:
            number = len(lines.all_of()) + 1
            life[w.server] += w.kind == "starts"
            line = ServerLine(w.server, number, "log", f"2026-01-01 00:00:00.{number:06d}", w.kind, life[w.server])
            line.values, line.sends, line.members = tuple(v or 0 for v in w.values), w.sends, w.members
            line.took = 0 if w.kind in ("leads", "follows") else -1
            line.learner = w.thread
            (lines.handled if w.thread else lines.main)[w.server].append(line)

    weights = {TO_LEADER: 10.0, TO_FOLLOWER: 10.0, JOIN: 10.0, ACTION: 4.0, RECOVER: 1.0, ELECT: 0.5}
    for p, n in enumerate(NUMBERS):
        write(replay.at_start(s, n, p))
    for _ in range(steps):
        text["enabled"](s, room)
        words = room[1 : room[0] + 1]
        word = draw.choices(words, [weights.get(word >> 24 & 255, 0.02) for word in words])[0]
        before = s.copy()
        text["apply"](s, word)
        write(replay.lines_of_step(before, s, word))
    logs = [tuple(replay.real(z) for z in s.log[p]) for p in range(3)]
    return lines, {
        n: Disk(logs[p], (), int(s.current_epoch[p]), int(s.accepted_epoch[p])) for p, n in enumerate(NUMBERS)
    }


def in_order(server: int, *kinds: tuple[str, int]) -> list[ServerLine]:
    """Return lines of a server's main thread, without a pause between them."""
    return [
        ServerLine(server, k, f"log{server}.txt", f"2026-01-01 00:00:00.{k:06d}", kind, values=(zxid,), took=0)
        for k, (kind, zxid) in enumerate(kinds, 1)
    ]


E1, E2 = 1 << 32, 2 << 32
HANDSHAKES = {  # lines of one thread; whether the last one contradicts another
    "a start that votes with something else": ((("starts", 0), ("loaded", 5), ("looks", 6)), 1),
    "a start": ((("starts", 0), ("loaded", 5), ("looks", 5)), 0),
    "a DIFF to less": ((("looks", E1 + 5), ("follows", 0), ("got DIFF", E1 + 4)), 1),
    "a DIFF to nothing more": ((("looks", E1 + 5), ("follows", 0), ("got DIFF", E1 + 5)), 0),
    "a TRUNC that cuts nothing": ((("looks", E1 + 5), ("follows", 0), ("got TRUNC", E1 + 5)), 1),
    "a TRUNC": ((("looks", E1 + 5), ("follows", 0), ("got TRUNC", E1 + 4)), 0),
    "a transfer of a later epoch": ((("looks", 0), ("follows", 0), ("got SNAP", E2 + 1), ("acknowledged", E1)), 1),
    "a leader of its vote's epoch": ((("looks", E1 + 5), ("leads", 0), ("serves", E1)), 1),
    "a leader": ((("looks", E1 + 5), ("leads", 0), ("snapshot", E1 + 5), ("serves", E2)), 0),
}  # fmt: skip


@pytest.mark.parametrize("how", HANDSHAKES)
@pytest.mark.parametrize("pause", [0, 1])
def test_lines_of_one_thread_contradict_each_other(how: str, pause: int) -> None:
    """Only where no term of the server has room between them."""
    kinds, refuted = HANDSHAKES[how]
    lines = in_order(1, *kinds)
    lines[-1].time = f"2026-01-01 00:00:0{pause}.{len(lines):06d}"
    assert len(list(wrong_handshakes(ServerLines({1: lines}, {1: []})))) == (0 if pause else refuted)


@pytest.mark.parametrize(("high", "last", "peer", "refuted"), [
    (5, 5, 0, 0), (5, 4, 0, 1), (5, 6, 0, 1), (4, 4, 0, 1), (5, 5, E2, 1),
])  # fmt: skip
def test_a_leader_that_does_not_serve_has_its_vote(high: int, last: int, peer: int, refuted: int) -> None:
    main = in_order(1, ("looks", E1 + 5), ("leads", 0), ("snapshot", E1 + 5), ("serves", E2))
    sync = ServerLine(1, 3, "log1.txt", main[2].time, "syncs", 0, (E1 + high, E1 + 1, E1 + last, peer), 2)
    main[3].number, main[3].members = 4, frozenset((1, 2))
    lines = ServerLines({1: main, 2: []}, {1: [sync], 2: []})
    found = list(wrong_handshakes(lines)) or list(wrong_syncs(lines, text_with("", 3, 4, 100)))
    assert len(found) == refuted


def test_a_leader_has_applied_what_it_has_committed() -> None:
    for high, refuted in ((5, 0), (6, 1)):
        line = ServerLine(1, 1, "log1.txt", "", "syncs", 0, (E1 + high, E1 + 1, E1 + 5, 0), 2)
        assert len(list(wrong_syncs(ServerLines({1: []}, {1: [line]}), text_with("", 3, 4, 100)))) == refuted


@pytest.mark.parametrize(("first", "refuted"), [((), 1), ((("got SNAP", 0x400000001), ("looks", 0)), 0)])
def test_a_term_without_an_acknowledgement_refutes_nothing(first: tuple[tuple[str, int], ...], refuted: int) -> None:
    """The leader's log ends early: what it sent in the learner's second term of the epoch is not in it."""
    sent = ServerLine(3, 3, "log3.txt", "", "syncs", learner=2, sends=("SNAP", 0x400000001))
    learner = in_order(2, ("starts", 0), ("looks", 0), *first, ("got DIFF", 0x500000002), ("acknowledged", 5 << 32))
    leader = in_order(3, ("starts", 0), ("serves", 5 << 32))
    assert len(list(unlike_received(ServerLines({2: learner, 3: leader}, {2: [], 3: [sent]})))) == refuted


@pytest.fixture(scope="module")
def built(unpacked: Unpacked) -> list[int]:
    """Return the steps of the run that is built from the logs as they are."""
    folder = unpacked(COMES_BACK)
    lines, disks = lines_of(folder), disks_of(folder)
    run = Guided(text_for(lines, disks, ""), lines, disks)
    run.run()
    return run.words


def test_a_run_with_a_step_less_is_not_one(built: list[int], unpacked: Unpacked) -> None:
    folder = unpacked(COMES_BACK)
    lines = lines_of(folder)
    text = text_for(lines, disks_of(folder), "")
    wrong = Replay(text, lines, set()).run([*built[:100], *built[101:]], FromLines())
    assert wrong


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
    done = answer_logs(Conform(str(unpacked(COMES_BACK)), variant="snap-tail"))
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


# --- DEBUG ------------------------------------------------------------------------------------------------


def test_a_log_at_debug_is_explained(unpacked: Unpacked) -> None:
    done = answer_logs(Conform(str(unpacked(DEBUG))))
    assert (done.verdict, done.transactions, done.votes) == (EXPLAINED, 471, 44), done.why
    assert any("471 lines at DEBUG" in str(line) for line in told_logs(done))
    assert {line.life for line in lines_of(unpacked(DEBUG)).main[1]} == {0}  # a thread writes 'Starting', too


def test_a_run_has_each_transaction_at_debug(unpacked: Unpacked) -> None:
    """The check at the end relies on nothing that the construction has checked."""
    folder = unpacked(DEBUG)
    lines, disks = lines_of(folder), disks_of(folder)
    text = text_for(lines, disks, "")
    run = Guided(text, lines, disks)
    run.run()
    replay = Replay(text, lines, set())
    assert replay.run(run.words, FromLines()) is None
    for kind, sentence in (("proposes", "server 3 does not propose"), ("commits", "no leader commits")):
        replay.transactions = [ServerLine(3, 1, "log3.txt", "", kind, values=(0x100000056,))]
        assert sentence in str(replay.not_done())
