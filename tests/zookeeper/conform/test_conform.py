"""Records of free-running servers held against their release's text: what is explained, what is not, and where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.errors import RequestError
from checker.zookeeper.requests.conform import Conform
from tests.transcript import compare_cases
from tests.zookeeper.conform.tampering import APPLIED, COMES_BACK, TRUNC, WAITS, Line, put, sample, where
from traces.record.runner import Runner
from traces.zookeeper.conform.explained import (
    EXPLAINED,
    NOT_EXPLAINED,
    UNKNOWN,
    Conformed,
    Replay,
    conformed,
    lost_writes,
    text_of,
)
from traces.zookeeper.conform.record import BadRecord, Record, read_record
from traces.zookeeper.conform.search import Node, RecordSearch, drains_first
from traces.zookeeper.conform.unbounded import ReleaseProtocol
from zabspec.language.layout.kinds import Seq, SetOf
from zabspec.language.layout.schema import Role
from zabspec.model import Configuration, Model
from zabspec.zookeeper.state import WIDTH


def record_of(folder: Path, lines: list[Line]) -> Record:
    return read_record(put(folder / "record.jsonl", lines))


def asked(folder: Path, lines: list[Line], variant: str = "") -> Conformed:
    return conformed(record_of(folder, lines), variant)


def test_a_record_of_real_servers_is_explained(tmp_path: Path) -> None:
    """A follower is killed and started, then the leader: two epochs, five synchronizations, fourteen writes."""
    done = asked(tmp_path, sample())
    assert (done.verdict, done.explained, done.elections, done.syncs) == (EXPLAINED, done.total, 2, {"DIFF": 5})
    assert (done.unjudged, done.broken, done.lost) == (0, {}, [])


def tampered(lines: list[Line], changes: list[str]) -> list[Line]:
    """Return a record after the changes of a case of `tampered-records.txt`."""
    for change in changes:
        how, *words = change.partition(" # ")[0].split()
        places = [int(word) for word in words if "=" not in word]
        fields = {name: json.loads(value) for name, _, value in (word.partition("=") for word in words if "=" in word)}
        line = lines[places[0]] if how in ("set", "twice") else lines.pop(places[0])
        if how == "set":
            line |= fields
        elif how != "drop":
            lines.insert(places[1], line | fields)
    return lines


@pytest.mark.slow(seconds=5)
def test_a_tampered_record_is_refuted_where_it_is_wrong(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    def said(title: str, lines: list[str]) -> Iterator[str]:
        done = asked(tmp_path, tampered(sample(f"{lines[0]}.jsonl.xz"), lines[1:]))
        assert done.verdict == NOT_EXPLAINED, title
        assert done.at is not None
        assert done.reasons, title
        yield f"line {done.at.number - 1}: {done.at.told()}"

    compare_cases(Path(__file__).with_name("tampered-records.txt"), said, request)


def test_a_trunc_is_explained(tmp_path: Path) -> None:
    """A leader that was not heard by its followers, was killed, and returns with three proposals of its own."""
    done = asked(tmp_path, sample(TRUNC))
    assert (done.verdict, done.syncs, done.broken, done.unjudged) == (EXPLAINED, {"DIFF": 3, "TRUNC": 1}, {}, 0)


@pytest.mark.parametrize(("name", "variant"), [(WAITS, ""), (APPLIED, "3.4.14")])
def test_what_servers_did_under_faults_is_explained(name: str, variant: str, tmp_path: Path) -> None:
    """Server 3 leads, elected by server 1, which has not connected yet: it disconnects server 2, which is ahead; 2
    connects again before 1 does. In the other record a leader removes a proposal from toBeApplied, and does not send it
    again behind a DIFF."""
    done = asked(tmp_path, sample(name), variant)
    assert (done.explained, done.verdict, done.at) == (done.total, UNKNOWN, None)


# Said beforehand, of a record without TRUNC and SNAP in which nobody reads a tree: what sends or logs otherwise.
TOLD_APART = {
    "mutant-accepted-unwritten": "FOLLOWERINFO", "mutant-proposed-unwritten": "FOLLOWERINFO",
    "mutant-counter-goes-on": "PROPOSAL", "mutant-leader-unlogged": "COMMIT", "mutant-diff-uncommitted": "COMMIT",
}  # fmt: skip


@pytest.mark.parametrize("mutant", TOLD_APART)
def test_a_mutant_that_sends_otherwise_is_refuted(mutant: str, tmp_path: Path) -> None:
    done = asked(tmp_path, sample(), mutant)
    assert done.verdict == NOT_EXPLAINED
    assert done.at is not None
    assert done.at.kind == TOLD_APART[mutant]


def test_a_record_that_is_not_whole_is_not_explained(tmp_path: Path) -> None:
    """Whatever of it is explained: without its end, a disk, or a connection that was read, nothing is said."""
    lines = sample()
    disk = where(lines, what="disk")
    unread = {"what": "unread", "s": 0.0, "connection": 5, "message": "nonsense"}
    unserved = [x for x in lines if x.get("what") != "served"]
    short = lines[:disk]  # up to the disks: what follows is quick to search
    for cut in (short, [*lines[:40], lines[-1]], [*lines[:9], unread, *lines[9:]], unserved):
        done = asked(tmp_path, cut)
        assert (done.verdict, bool(done.why)) == (UNKNOWN, True)
    miscounted = put(tmp_path / "record.jsonl", lines).read_text().replace('"observations": ', '"observations": 1')
    (tmp_path / "record.jsonl").write_text(miscounted)
    assert not read_record(tmp_path / "record.jsonl").whole


def test_a_run_is_explained_only_as_the_text_replays_it(tmp_path: Path) -> None:
    """The steps that were found are taken again without the search: one that is not possible, or sends another packet,
    is found."""
    record = record_of(tmp_path, sample())
    text = text_of(record, "")
    search = RecordSearch(record, text)
    for k, o in enumerate(record.observations):
        assert search.see(o, k) is None
    words = search.nodes[0].run_by_observation()
    replay = Replay(record, text, set())
    assert replay.run(words, Conformed()) is None
    assert not replay.ends_otherwise(search.nodes[0].state)
    assert replay.ends_otherwise(text.begin())
    lacking = [(k, steps[1:] if n == 20 else steps) for n, (k, steps) in enumerate(words)]
    assert "is not possible" in str(Replay(record, text, set()).run(lacking, Conformed()))
    other = sample()
    other[where(other, 5, kind="COMMIT")]["zxid"] += 1
    assert "it sends" in str(Replay(record_of(tmp_path, other), text, set()).run(words, Conformed()))


def test_a_state_without_bounds_is_the_one_with_bounds() -> None:
    """The same schedules in both, field by field, where both have room."""
    import random

    configuration = Configuration(
        "zookeeper", "", timeouts=1, crashes=1, losses=1, budgets="elections=3,proposals=2,write_errors=0"
    )
    model = Model(configuration)
    text = ReleaseProtocol("", 3, 3, WIDTH, {})
    names = {f.name: f for f in model.program.schema.fields if f.role in (Role.PERSISTENT, Role.VOLATILE, Role.NETWORK)}
    steps = 0
    for seed in range(2):
        draw, runner, s = random.Random(seed), Runner(model), text.begin()
        while words := list(runner.possible()):
            word = draw.choice(words)
            runner.step(word)
            text["apply"](s, word)
            steps += 1
            for name, f in names.items():
                assert plain(getattr(s, name), f.kind, len(f.axes)) == plain(
                    getattr(runner.state, name), f.kind, len(f.axes)
                ), (name, seed, steps)
    assert steps > 50


def plain(value: Any, kind: Any, axes: int) -> Any:
    """A field's value, told alike of both."""
    if axes:
        sizes = WIDTH if type(value).__name__ == "SparseRow" else None
        return [plain(value[k], kind, axes - 1) for k in range(sizes or len(value))]
    if isinstance(kind, Seq):
        return [int(m) if isinstance(m, int) else str(m.kind) for m in value]
    if isinstance(kind, SetOf):
        return sorted(value)
    return int(value)


def test_what_clients_were_told_is_held_against_what_is_served(tmp_path: Path) -> None:
    lines = sample()
    served = where(lines, 1, what="served")
    path = next(x["path"] for x in lines if x.get("outcome") == "acknowledged")
    lines[served]["paths"].remove(path)
    told = where(lines, what="answered", path=path)
    later = [
        *lines[: told + 1],
        lines[told] | {"outcome": "unknown"},
        *lines[told + 1 :],
    ]  # acknowledged once is enough
    lost = lost_writes(record_of(tmp_path, later))
    assert lost == [f"{path} was acknowledged, and is not served by server {lines[served]['server']}"]
    lines[served]["paths"] += [path, "/zabcheck/strange"]
    (strange,) = lost_writes(record_of(tmp_path, lines))
    assert strange.startswith("/zabcheck/strange (nobody wrote it) is served by some servers")


HEAD = '{"format": "zabcheck record", "version": 1, "servers": [1]}'
BAD = [
    ("nonsense", "line 1: this is not JSON"),
    ("{}", "its first line is not that of a record"),
    ('{"format": "zabcheck record", "version": 9}', "a record of version 9"),
    (HEAD.replace("[1]", "[1, 1]"), "names a server twice"),
    (HEAD + '\n{"what": "x"}\n\n', "no observation 'x'"),
    (HEAD + '\n{"what": "starts", "server": 2}', "no server 2"),
    (
        HEAD + '\n{"what": "answered", "path": "/a", "outcome": "acked"}',
        "an outcome is one of acknowledged, refused, unknown",
    ),
    (HEAD + 2 * '\n{"what": "served", "server": 1, "paths": []}', "line 3: server 1 served, for the second time"),
    (
        HEAD + 2 * '\n{"what": "closed", "connection": 1, "follower": 1, "leader": 1, "by": 1}',
        "line 3: server 1 has closed connection 1 of 1 to 1, for the second time",
    ),
    (HEAD + "".join(f'\n{{"what": "note", "message": "", "s": {s}}}' for s in (2, 1)), "line 3: it was seen before"),
    (HEAD + '\n{"what": "starts"}', "starts needs server"),
    (HEAD + '\n{"what": "starts", "server": 1, "s": NaN}', "s is not a number of seconds"),
    (HEAD + '\n{"what": "starts", "server": 1, "s": 1' + "0" * 400 + "}", "s is not a number of seconds"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_is_no_record_is_refused_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text(text)
    with pytest.raises(BadRecord, match=said):
        read_record(path)
    with pytest.raises(RequestError, match=said):
        Conform(record=str(path)).answer()


def test_the_release_is_the_one_the_record_says(tmp_path: Path) -> None:
    lines = sample()
    path = put(tmp_path / "record.jsonl", lines)
    own = read_record(path).release
    assert Conform(record=str(path)).variant_of(own, "") == ""
    assert Conform(record=str(path), release="3.9.2").variant_of(own, "") == "3.9.2"
    of_settings = Conform(record=str(path), variant="3.5.10,walk").variant_of(own, "")
    assert of_settings == "3.5.10,walk,before-2418"
    with pytest.raises(RequestError, match=r"both: --variant 3\.9\.3,mutant-ack-log"):  # it would be one of 3.9.5
        Conform(record=str(path), release="3.9.3", variant="mutant-ack-log").validate()
    lines[0]["release"] = ""
    put(path, lines)
    with pytest.raises(RequestError, match="--release"):
        Conform(record=str(path)).answer()
    assert json.loads(path.read_text().splitlines()[0])["release"] == ""


def test_the_write_that_comes_back_is_explained_and_flagged(tmp_path: Path) -> None:
    """Real servers of 3.9.5 behind passive proxies (benchmarks/comes_back.py): see docs/findings/snap-tail.md."""
    record = record_of(tmp_path, sample(COMES_BACK))
    done = conformed(record, "")
    assert (done.verdict, done.unjudged) == (EXPLAINED, 0)
    assert {"epoch-has-its-history", "memory-is-the-disk", "served-is-on-a-quorum"} <= set(done.broken)
    assert done.lost == ["/zabcheck/back (unknown) is served by some servers, and not by 3"]
    repaired = conformed(record, "snap-tail")
    assert repaired.verdict == NOT_EXPLAINED
    assert repaired.at is not None
    assert (repaired.at.kind, repaired.at.leader) == ("SNAP", 3)


def test_ends_of_terms_differ_in_what_they_do_first() -> None:
    """Where the tree is brought up to the log before the rest is logged, it matters what was logged by then."""
    names = ("", "3.6.0", "3.9.2", "3.5.3")
    assert [drains_first(ReleaseProtocol(name, 3, 3, WIDTH, {})["end_running"]) for name in names] == [
        True,
        False,
        False,
        True,
    ]


def test_what_was_outstanding_at_a_transfer_was_proposed_before_it(tmp_path: Path) -> None:
    """However long it is: the other follower's packets may be late, and the first that is seen of a proposal may stand
    behind all of a DIFF."""
    record = record_of(tmp_path, sample())
    search = RecordSearch(record, text_of(record, ""))
    kinds = [o.fields.get("kind") for o in record.observations]
    connections = [o.fields.get("connection") for o in record.observations]
    diff = [k for k, kind in enumerate(kinds) if kind == "DIFF"][2]
    behind = next(k for k in range(diff, len(kinds)) if kinds[k] == "PROPOSAL" and connections[k] == connections[diff])
    lines = sample()
    for line in lines:
        if line.get("zxid") == lines[behind + 1]["zxid"] and line.get("connection") != connections[behind]:
            line["kind"] = "PING"
    late = RecordSearch(record_of(tmp_path, lines), search.text)
    assert late.proposed_at[record.observations[behind].zxid] == diff
    assert search.proposed_at[record.observations[behind].zxid] < diff


def test_a_transfer_takes_two_steps(tmp_path: Path) -> None:
    """What is committed while a learner is brought up to date comes before NEWLEADER, behind what was outstanding when
    that began. It waits for its quorum, and for its proposal; and the learner answers to nothing of it."""
    lines = sample()
    began = where(lines, 2, kind="DIFF")
    zxid, connection = lines[began]["zxid"], lines[began]["connection"]
    lines[began]["zxid"] = zxid - 1  # the last of what is carried is outstanding, and committed meanwhile
    carried = where(lines, kind="PROPOSAL", zxid=zxid, connection=connection)
    for kind in ("COMMIT", "ACK"):
        k = where(lines, kind=kind, zxid=zxid)
        assert lines[k]["connection"] != connection
        lines.insert(carried - 1, lines.pop(k))
        carried -= 1
    carried = where(lines, kind="PROPOSAL", zxid=zxid, connection=connection)
    slow = asked(tmp_path, lines)
    assert slow.verdict == EXPLAINED, slow.reasons
    proposal, commit = lines[carried : carried + 2]
    uptodate = where(
        lines, kind="UPTODATE", connection=connection
    )  # a COMMIT might come behind NEWLEADER, not behind it
    for tampered, place in (
        ([commit, proposal], carried),
        ([proposal], uptodate - 1),
        ([proposal, proposal], carried + 1),
    ):
        wrong = asked(tmp_path, [*lines[:carried], *tampered, *lines[carried + 2 :]])
        assert wrong.verdict == NOT_EXPLAINED
        assert wrong.at is not None
        assert wrong.at.number == place + 1
    transfer = lines[carried : carried + 2]
    assert [x["kind"] for x in transfer] == ["PROPOSAL", "COMMIT"]
    del lines[carried : carried + 2]
    lines[carried - 2 : carried - 2] = transfer  # now before the ACK
    early = asked(tmp_path, lines)
    assert early.verdict == NOT_EXPLAINED
    assert early.at is not None
    assert early.at.fields["connection"] == connection
    assert early.at.told().startswith(f"COMMIT {zxid:#x}")
    assert "which is not a quorum" in " ".join(early.reasons)


def test_what_a_killed_server_starts_with_is_looked_up(tmp_path: Path) -> None:
    """In its ACKEPOCH, or in what it sends as a leader before its epoch is served; else it is not known."""
    record = record_of(tmp_path, sample(TRUNC))
    search = RecordSearch(record, text_of(record, ""))
    search.position = next(k for k, o in enumerate(record.observations) if o.what == "killed")
    assert search.real(search.next_last(2) or 0) == 0x100000013
    assert search.next_last(0) is None  # it is not killed before the end
    record = record_of(tmp_path, sample(COMES_BACK))
    search = RecordSearch(record, search.text)
    search.position = where(sample(COMES_BACK), 1, what="killed", server=2) - 1
    assert record.observations[search.position].what == "killed"
    assert search.real(search.next_last(1) or 0) == 0x100000004  # it leads, and sends a DIFF
    found = [Node(search.text.begin())]
    assert search.starting_with(found, 1) == found  # none starts so
