"""Map each step of the model to what forces it on a real server, and to what shows that it was taken.

A row's `play` names the method of `Player` that does it. What is not here cannot be forced, and is named before
anything starts. Besides what a row says is seen, after every step the packets on all links, the four kinds of file of
every server, and role and last processed zxid of one that serves, must be what the model has (`compare.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from traces.record.trace import Step


@dataclass(frozen=True)
class Row:
    """A kind of step of the model, and how real servers take it.

    Attributes:
        forced: how it is made to happen.
        seen: what shows that it has happened.
        play: the method of `Player`.
    """

    forced: str
    seen: str
    play: str


VOTE = "its log: New election, with its last processed zxid"
MAPPING: dict[str, Row] = {
    "crash": Row(
        "SIGKILL; with `power`, of its files only what was forced is left (`disks.py`)", "the process has ended",
        "crash",
    ),
    "recover": Row("the server is started", f"{VOTE}; or it ends by itself, with a sentence in its log", "recover"),
    "elect": Row(
        "votes pass only among the quorum; server ids break ties as in the model",
        "FOLLOWERINFO of each follower on its link to the leader; the leader's snapshot file", "elect",
    ),
    "join": Row("votes pass between the server and those behind the leader", "its FOLLOWERINFO", "join"),
    "to_leader": Row(
        "the first packet of that link is let through", "it is read off the socket; what the leader sends and writes",
        "receive",
    ),
    "to_follower": Row(
        "the first packet of that link is let through", "it is read off the socket; what the follower sends and writes",
        "receive",
    ),
    "lose_connection": Row("what comes on that link from now on is dropped", "nothing: no server knows yet", "lose"),
    "partition": Row("the same, for every cut link", "nothing: no server knows yet", "lose"),
    "follower_learns": Row("the follower's end of the connection is closed", VOTE, "follower_learns"),
    "leader_learns": Row(
        "the leader's end of the connection is closed; where it waits for a quorum, its clock is put ahead",
        "its log: GOODBYE; nothing, where its LearnerHandler waits for others; where it has no quorum, " + VOTE,
        "leader_learns",
    ),
    "sync thread": Row(
        "SyncRequestProcessor, held before it appends the transaction, continues",
        "the record in log.*; the ACK on the link", "sync_thread",
    ),
    "sync thread of an earlier term": Row(
        "the old SyncRequestProcessor, held since its term ended, continues", "the record in log.*", "stale_thread",
    ),
    "log write fails": Row(
        "SyncRequestProcessor continues, and its write to log.* fails with ENOSPC", VOTE, "log_fails",
    ),
    "commit thread": Row(
        "CommitProcessor, held before it takes what is committed, continues", "srvr: Zxid", "commit_thread",
    ),
    "snapshot at NEWLEADER": Row(
        "the main thread, held where it opens snapshot.*, continues", "the file snapshot.*", "snapshot",
    ),
    "persist at NEWLEADER": Row(
        "the main thread, held where it first touches log.*, continues",
        "the records in log.*; where the release hands them to the sync thread, nothing on the disk", "persist",
    ),
    "write currentEpoch": Row(
        "the main thread, held where it opens currentEpoch.tmp, continues", "the file currentEpoch", "write_epoch",
    ),
    "acknowledge NEWLEADER": Row(
        "the main thread, held where it sends, continues", "ACK(<e,0>) on the link", "acknowledge",
    ),
    "write own currentEpoch": Row(
        "the leader's main thread, held where it opens currentEpoch.tmp, continues", "the file currentEpoch",
        "write_epoch",
    ),
    "startZkServer": Row(
        "nothing: it follows from the last acknowledgement", "srvr: Mode leader; UPTODATE on links", "serves",
    ),
    "disk is full": Row(
        "in this term its main thread's writes of acceptedEpoch and cuts of log.* fail with ENOSPC",
        "nothing, until it writes: then " + VOTE, "nothing",
    ),
    "written back": Row(
        "what is on the server's disk counts as forced (`power`)", "nothing, until power is lost", "write_back",
    ),
    "snapshot is due": Row(
        "each transaction that SyncRequestProcessor appends makes one due (`periodic.PERIODIC`); its thread is held "
        "before it does anything",
        "it is held", "snapshot_due",
    ),
    "snapshot begins": Row(
        "the thread of the snapshot continues, and is held where it opens snapshot.*", "the name of that file",
        "snapshot_begins",
    ),
    "snapshot is written": Row(
        "the thread of the snapshot, held where it opens its file, continues", "the file snapshot.*, and its nodes",
        "snapshot_written",
    ),
    "propose": Row("a client that is connected to the leader writes", "PROPOSAL on the links", "propose"),
}  # fmt: skip


def row_of(step: Step) -> Row | None:
    """Return the row of a step, or None if it cannot be forced."""
    return MAPPING.get(step.label if step.word.kind == "action" else step.word.kind)


def unforceable(steps: Sequence[Step]) -> list[str]:
    """Return the steps that have no row, each as a phrase."""
    return [f"step {s.number}, {s.label}: no way to force it is known" for s in steps if row_of(s) is None]
