"""The table of servers' log lines: texts as releases write them, and which release writes which."""

from __future__ import annotations

import pytest

from traces.zookeeper.server_logs.log_lines import recognized, written_by
from traces.zookeeper.server_logs.text_logs import time_of

NOTIFIED = {"mine": "LOOKING", "sid": "3", "state": "LEADING", "leader": "2", "round": "1f", "epoch": "4", "zxid": "3a",
            "config": "0"}  # fmt: skip
TEXTS = {  # as ZooKeeper's sources format them
    "Notification: my state:LOOKING; n.sid:3, n.state:LEADING, n.leader:2, n.round:0x1f, n.peerEpoch:0x4, n.zxid:0x3a, "
    "message format version:0x2, n.config version:0x0": ("notified", NOTIFIED),
    "Notification: 2 (message format version), 2 (n.leader), 0x3a (n.zxid), 0x1f (n.round), LEADING (n.state), "
    "3 (n.sid), 0x4 (n.peerEPoch), LOOKING (my state)0 (n.config version)": ("notified", NOTIFIED),
    "Have quorum of supporters, sids: [ 1,2 ]; starting up and setting last processed zxid: 0x100000000": (
        "serves", {"sids": " 1,2 ", "zxid": "100000000"},
    ),
    "Have quorum of supporters, sids: [[2, 3],[2, 3]]; starting up and setting last processed zxid: 0x400000000": (
        "serves", {"sids": "[2, 3", "zxid": "400000000"},
    ),
    "Synchronizing with Follower sid: 1 maxCommittedLog=0x3a minCommittedLog=0x1 lastProcessedZxid=0x3a "
    "peerLastZxid=0x0": ("syncs", {"sid": "1", "high": "3a", "low": "1", "last": "3a", "peer": "0"}),
    "Sending DIFF zxid=0x3a  for peer sid: 2": ("sends DIFF", {"zxid": "3a", "sid": "2"}),
    "Sending TRUNC to follower zxidToSend=0x3a for peer sid:2": ("sends TRUNC", {"zxid": "3a", "sid": "2"}),
    "Sending snapshot last zxid of peer is 0x1, zxid of leader is 0x3, sent zxid of db as 0x2": (
        "sends SNAP", {"zxid": "2"},
    ),
    "Getting a snapshot from leader": ("got SNAP", {"zxid": None}),
    "Sent NEWLEADER ack to leader with zxid 400000000": ("acknowledged", {"zxid": "400000000"}),
    "It took 3ms to persist and commit txns in packetsCommitted. 0 outstanding txns left": ("persisted", {}),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_line_is_recognized_with_its_numbers(text: str) -> None:
    found = recognized(f"2026-11-21 07:21:31,605 [myid:1] - INFO  [main:Learner@1] - {text}")
    assert found is not None
    assert (found[0].kind, found[1].groupdict()) == TEXTS[text]


def test_another_text_is_no_line_of_the_protocol() -> None:
    assert recognized("[main:Learner@1] - Sending something to peer sid: 2, Snapshotting is off") is None


@pytest.mark.parametrize(
    ("release", "kind", "expected"),
    [
        ("3.8.4", "acknowledged", False), ("3.8.5", "acknowledged", True), ("3.9.1", "acknowledged", False),
        ("3.9.2", "acknowledged", True), ("3.5.10", "loaded", False), ("3.6.0", "loaded", True),
        ("3.4.14", "syncs", False), ("3.5.3", "notified", True), ("3.4.14", "notified", False),
        ("3.9.5", "commits", False), ("3.9.3", "persisted", True),
    ],
)  # fmt: skip
def test_releases_write_their_lines_at_info(release: str, kind: str, expected: bool) -> None:
    assert written_by(release, kind) == expected


def test_the_time_of_a_line_is_padded() -> None:
    assert time_of("2026-11-21T07:21:31.6 [myid:1]") == "2026-11-21 07:21:31.600000"
    assert time_of("no time") is None
