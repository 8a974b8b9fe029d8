"""Map each step of the model to the method of `Player` that forces it on a real server.

What is not here cannot be forced, and is named before anything starts. Above each row is how the step is made to
happen, and what shows that it was taken. After every step, the packets on all links, the four kinds of file of every
server, and role and last processed zxid of one that serves, must be what the model has, too (`compare.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from traces.record.trace import Step

MAPPING: dict[str, str] = {
    # SIGKILL; with `power`, of its files only what was forced is left (`disks.py`). Seen: the process has ended.
    "crash": "crash",
    # The server is started. Seen: its vote, in its log; or it ends by itself, with a sentence in its log.
    "recover": "recover",
    # Votes pass only among the quorum; server ids break ties as in the model. Seen: FOLLOWERINFO of each follower on
    # its link to the leader; the leader's snapshot file.
    "elect": "elect",
    # Votes pass between the server and those behind the leader. Seen: its FOLLOWERINFO.
    "join": "join",
    # The first packet of that link is let through. Seen: it is read off the socket; what the leader sends and writes.
    "to_leader": "receive",
    # The first packet of that link is let through. Seen: it is read off the socket; what the follower sends and
    # writes.
    "to_follower": "receive",
    # What comes on that link from now on is dropped. Seen: nothing: no server knows yet.
    "lose_connection": "lose",
    # The same, for every cut link. Seen: nothing: no server knows yet.
    "partition": "lose",
    # The follower's end of the connection is closed. Seen: its vote, in its log.
    "follower_learns": "follower_learns",
    # The leader's end of the connection is closed; where it waits for a quorum, its clock is put ahead. Seen: its log:
    # GOODBYE; nothing, where its LearnerHandler waits for others; where it has no quorum, its vote, in its log.
    "leader_learns": "leader_learns",
    # SyncRequestProcessor, held before it appends the transaction, continues. Seen: the record in log.*; the ACK on
    # the link.
    "sync thread": "sync_thread",
    # The old SyncRequestProcessor, held since its term ended, continues. Seen: the record in log.*.
    "sync thread of an earlier term": "stale_thread",
    # SyncRequestProcessor continues, and its write to log.* fails with ENOSPC. Seen: its vote, in its log.
    "log write fails": "log_fails",
    # CommitProcessor, held before it takes what is committed, continues. Seen: srvr: Zxid.
    "commit thread": "commit_thread",
    # The main thread, held where it opens snapshot.*, continues. Seen: the file snapshot.*.
    "snapshot at NEWLEADER": "snapshot",
    # The main thread, held where it first touches log.*, continues. Seen: the records in log.*; where the release
    # hands them to the sync thread, nothing on the disk.
    "persist at NEWLEADER": "persist",
    # The main thread, held where it opens currentEpoch.tmp, continues. Seen: the file currentEpoch.
    "write currentEpoch": "write_epoch",
    # The main thread, held where it sends, continues. Seen: ACK(<e,0>) on the link.
    "acknowledge NEWLEADER": "acknowledge",
    # The leader's main thread, held where it opens currentEpoch.tmp, continues. Seen: the file currentEpoch.
    "write own currentEpoch": "write_epoch",
    # Nothing: it follows from the last acknowledgement. Seen: srvr: Mode leader; UPTODATE on links.
    "startZkServer": "serves",
    # In this term its main thread's writes of acceptedEpoch and cuts of log.* fail with ENOSPC. Seen: nothing, until
    # it writes: then its vote, in its log.
    "disk is full": "nothing",
    # What is on the server's disk counts as forced (`power`). Seen: nothing, until power is lost.
    "written back": "write_back",
    # Each transaction that SyncRequestProcessor appends makes one due (`periodic.PERIODIC`); its thread is held before
    # it does anything. Seen: it is held.
    "snapshot is due": "snapshot_due",
    # The thread of the snapshot continues, and is held where it opens snapshot.*. Seen: the name of that file.
    "snapshot begins": "snapshot_begins",
    # The thread of the snapshot, held where it opens its file, continues. Seen: the file snapshot.*, and its nodes.
    "snapshot is written": "snapshot_written",
    # A client that is connected to the leader writes. Seen: PROPOSAL on the links.
    "propose": "propose",
}


def forced_by(step: Step) -> str | None:
    """Return the method that forces a step, or None if it cannot be forced."""
    return MAPPING.get(step.label if step.word.kind == "action" else step.word.kind)


def unforceable(steps: Sequence[Step]) -> list[str]:
    """Return the steps that have no row, each as a phrase."""
    return [f"step {s.number}, {s.label}: no way to force it is known" for s in steps if forced_by(s) is None]
