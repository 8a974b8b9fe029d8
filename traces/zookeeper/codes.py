"""List what an audit can find, one row per code, with its meaning for clients, known causes, and advice.

The meaning of a code never changes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A row of the table of findings.

    Attributes:
        what: the finding in one sentence.
        concerns: the property of ZAB, or what else is concerned.
        clients: what it means for clients.
        bugs: known faults of ZooKeeper that leave this mark, with the releases that have them.
        do: what an operator can do.
    """

    code: str
    what: str
    concerns: str = ""
    clients: str = ""
    bugs: str = ""
    do: str = ""

    def advice(self, do: str = "") -> list[tuple[str, str]]:
        """Return all information on a code, by name; with `do` as the advice for this case."""
        given = (
            ("concerns", self.concerns), ("clients", self.clients), ("known bugs", self.bugs), ("to do", do or self.do),
        )  # fmt: skip
        return [(name, value) for name, value in given if value]


COPY = "Keep a copy of the directory as it is before anything else."
RESYNC = (
    "Stop this server, move its version-2 away and start it with an empty one: it takes a snapshot from the leader. "
    "First be sure that the others are a quorum and agree."
)
DISK = "Look at the disk (its own log, SMART, dmesg): ZooKeeper writes no such bytes."
LOSSES = (
    "ZOOKEEPER-3911 (3.4.10-3.4.14, 3.5.3-3.5.9, 3.6.0-3.6.2), ZOOKEEPER-4643 (3.4.10 to 3.8.4, 3.9.0-3.9.1), "
    "ZOOKEEPER-4646 and 4785 (3.5.10, 3.6.3-3.6.4, 3.7.x, 3.8.0-3.8.4, 3.9.0-3.9.1), ZOOKEEPER-4925 (3.9.3), "
    "ZOOKEEPER-2355 (3.4.7-3.4.10, 3.5.1-3.5.3), ZOOKEEPER-3642 (3.4.10 and later 3.4, 3.5.3-3.5.9, 3.6.0-3.6.2)"
)
HOLES = (
    "ZOOKEEPER-4882 (every release since 3.4.10, 3.5.3, 3.6.0; not fixed), ZOOKEEPER-4925 (3.9.3), "
    "ZOOKEEPER-2418 (3.5), "
    "ZOOKEEPER-2099 and 2846 (3.5.0 and later; refused within an epoch from 3.9.4 on), "
    "ZOOKEEPER-3642 (3.4.10 and later "
    "3.4, 3.5.3-3.5.9, 3.6.0-3.6.2), ZOOKEEPER-2355 (3.4.7-3.4.10, 3.5.1-3.5.3)"
)
ZOMBIES = (
    "ZOOKEEPER-2845 (3.4.10-3.4.11, 3.5.3), ZOOKEEPER-4712 and 4541 (3.5.10, 3.6.3-3.6.4, 3.7.x, 3.8.x, 3.9.0-3.9.2), "
    "ZOOKEEPER-2832 (3.4), ZOOKEEPER-1154 (before 3.3.4)"
)
LATE_LOGS = (
    "ZOOKEEPER-4643 (3.4.10 to 3.8.4, 3.9.0-3.9.1), ZOOKEEPER-4646 and 4785 (3.5.10, 3.6.3-3.6.4, 3.7.x, "
    "3.8.0-3.8.4, 3.9.0-3.9.1)"
)
HOLD = "Do not delete, move away or replace any directory of the ensemble until the servers serve and agree."
LAST = (
    "Start the servers with the longest histories first, and the servers named here last, when the others serve: they "
    "are synchronized then."
)
LEFT = "Leave the directory as it is: no start needs what is missing. See who deleted the file, or look at the disk."
HELD = (
    "Do not move away, replace or delete this directory: without it the servers of which nothing is found are no "
    "quorum, or it may have the last copy. Stop the servers, copy every directory, and see first who has what."
)
AGREEMENT = "agreement: what one server delivers, all deliver, and nothing else under its zxid"
PREFIX = "prefix (agreement and total order): histories that continue past an epoch agree on it"
LOCAL = "local primary order: a primary's transactions are delivered in its order, without gaps"

TABLE = (
    # --- framing --------------------------------------------------------------------------------------------------
    Code(
        "CRC",
        what="CRC error: a record's checksum is not that of its bytes",
        concerns="integrity",
        clients=(
            "A server that has to read the record does not start; one that started earlier may serve another value."
        ),
        do=f"{COPY} {DISK} {RESYNC}",
    ),
    Code(
        "BAD_EOR",
        what=(
            "A record does not end with its mark: ZooKeeper treats it as the END OF FILE and silently drops the rest "
            "of the file"
        ),
        concerns="integrity, durability",
        clients="After a restart everything after it in this file is lost on this server, committed or not.",
        do=f"{COPY} {DISK} {RESYNC}",
    ),
    Code(
        "BAD_LEN",
        what=(
            "A record's length is wrong; ZooKeeper treats it as the end of the file (BAD_EOR), or refuses to "
            "start (Unreasonable length)"
        ),
        concerns="integrity, durability",
        clients="After a restart everything after it in this file is lost on this server, or it does not start.",
        do=f"{COPY} {DISK} {RESYNC}",
    ),
    Code(
        "BAD_MAGIC",
        what="A file with the name of a log does not begin like a log",
        concerns="integrity",
        clients="The server does not start if it has to read the file.",
        do=f"{COPY} {DISK} {RESYNC}",
    ),
    Code("BAD_VERSION", what="A log file of another version of the format than 2", concerns="integrity", do=COPY),
    Code(
        "BAD_DBID",
        what="A log file's header has a number that ZooKeeper never writes",
        concerns="integrity",
        do=f"{COPY} {DISK}",
    ),
    Code(
        "BAD_BODY",
        what="A record with a correct checksum is not a transaction of its kind",
        concerns="integrity",
        clients="The server does not start if it has to read the record.",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "UNKNOWN_TYPE",
        what="A transaction of a kind that no release up to 3.9 has",
        concerns="integrity",
        clients="A release that does not know it does not start.",
        do="Was the log written by a later release?",
    ),
    Code(
        "LEFT_OVER",
        what="Bytes after a transaction's body that are not a digest",
        concerns="integrity",
        do="Was the log written by a later release?",
    ),
    Code(
        "DATA_AFTER_END",
        what="There is data after the end of a log (a length of 0)",
        concerns="durability",
        clients="ZooKeeper reads nothing after the first length of 0: after a restart this data is lost on this "
        "server.",
        do=f"{COPY} If the file was copied while it was written, copy it again. {DISK}",
    ),
    Code(
        "TORN_TAIL",
        what="A file ends within a record: the server died while it wrote it",
        clients="None: the record was never acknowledged by this server.",
    ),
    Code(
        "EMPTY_LOG",
        what="A log file without a record",
        clients="None.",
        do=(
            "Releases before 3.9.3 do not start with an empty last file, and no release with a part of a header: the "
            "file holds nothing, and may be moved elsewhere."
        ),
    ),
    Code(
        "PACKED_LOG",
        what="A compressed log: ZooKeeper treats it as a log by its name, and cannot read it",
        clients="None, except that a server that has to read it does not start.",
        do="Keep compressed logs outside version-2. Where there is no other copy of one, decompress it.",
    ),
    Code(
        "LOGS_DELETED",
        what="Old log files are missing that no start reads, since a later snapshot has their content",
        clients="None.",
        do="Leave that to PurgeTxnLog or autopurge: they keep what a start needs.",
    ),
    Code(
        "NAME_MISMATCH",
        what="A log file's first record is not the one in its name",
        concerns="integrity",
        do="Was the file renamed, or overwritten?",
    ),
    # --- order ----------------------------------------------------------------------------------------------------
    Code(
        "GAP",
        what="Transactions are missing between two adjacent ones in a log",
        concerns=LOCAL,
        clients=(
            "This server applies transactions that depend on the missing ones; after a restart its tree differs from "
            "the others'."
        ),
        bugs=HOLES,
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "MISSING",
        what="Transactions that other servers have, and that this one's live history skips",
        concerns=f"{AGREEMENT}; durability",
        clients="Reads from this server do not show these writes; if it leads, all servers lose them.",
        bugs=LOSSES,
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "ZXID_DECREASE",
        what="A transaction comes after a later one",
        concerns="total order",
        clients="This server applied transactions in another order than the others.",
        bugs="ZOOKEEPER-4712 (3.5.10, 3.6.3-3.6.4, 3.7.x, 3.8.x, 3.9.0-3.9.2)",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "DUP_DIFFERS",
        what="One zxid occurs twice in a server's log, with different transactions",
        concerns="integrity",
        clients="A restart applies other transactions than were served.",
        do=f"{COPY} {RESYNC}",
    ),
    Code("BAD_ZXID", what="A zxid that no transaction can have", concerns="integrity", do=COPY),
    Code(
        "DUP_ZXID",
        what="The same transaction occurs twice in a log: it was synchronized twice",
        clients="None: applying it again changes nothing.",
    ),
    Code(
        "SNAP_BRIDGED",
        what="A gap in a log that a snapshot fills: the server was synchronized by SNAP",
        clients="None.",
    ),
    Code(
        "GAP_UNKNOWN",
        what="A gap in a log from before its oldest snapshot: whether a snapshot filled it cannot be concluded",
        clients="None after a restart that begins with a later snapshot; without one it may lack these transactions.",
    ),
    Code(
        "SNAP_LOST",
        what="A gap in a log, filled by a snapshot that can no longer be read: a restart loads the gap",
        concerns=LOCAL,
        clients="After a restart this server lacks these transactions.",
        bugs="ZOOKEEPER-2872 (before 3.5.10 and 3.6.0; all of 3.4)",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "PURGED",
        what="A log begins late; what was before has been purged, which its oldest snapshot explains",
        clients="None.",
    ),
    Code("EPOCH_SKIPPED", what="Epochs without a transaction", clients="None."),
    # --- between servers ------------------------------------------------------------------------------------------
    Code(
        "DIVERGENT_TXN",
        what="Servers have different transactions under one zxid",
        concerns=AGREEMENT,
        clients="Clients read different values, depending on the server.",
        bugs="ZOOKEEPER-335 and 1081 (before 3.4): two leaders of one epoch",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "DIVERGENT_DIGEST",
        what="Servers have one transaction with different digests",
        concerns=AGREEMENT,
        do=COPY,
    ),
    Code(
        "ABANDONED_APPLIED",
        what=(
            "An abandoned proposal was kept and applied: transactions that are not in the history of the next epoch "
            "stay in a live history"
        ),
        concerns=PREFIX,
        clients=(
            "Reads from this server show writes that were never committed, and if it leads, all servers get them."
        ),
        bugs=ZOMBIES,
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "EPOCH_BOUNDARY",
        what="Servers disagree on the history before an epoch, and no file shows which is right",
        concerns=PREFIX,
        clients="Reads differ, depending on the server.",
        bugs=f"{ZOMBIES}; {LOSSES}",
        do=COPY,
    ),
    Code(
        "COMMITTED_LOST",
        what="Transactions in the logs of a quorum are in no history that continues past them",
        concerns="durability: what a quorum has logged is never lost",
        clients="Writes that were acknowledged to clients are lost.",
        bugs=LOSSES,
        do=(f"{COPY} The transactions are still in the logs named: they can be read there and written again by hand."),
    ),
    Code(
        "STANDALONE_LOST",
        what="What a standalone server acknowledged is in no tree of the ensemble that it became part of",
        concerns="durability: a standalone server acknowledges alone",
        clients="Writes that were acknowledged to clients are lost.",
        do=f"{COPY} Its log still has them: they can be read there and written again by hand. An ensemble grows from "
        "the standalone server: it leads first, the new servers join it.",
    ),
    Code(
        "ABANDONED",
        what="Proposals of an earlier leader that were never committed, below a later snapshot",
        clients="None.",
    ),
    Code(
        "UNCOMMITTED_TAIL",
        what=(
            "The last transactions of a log are on less than a quorum: whether they were committed cannot be concluded"
        ),
        clients="None.",
    ),
    Code("BEHIND", what="A server's history ends before the others'", clients="None: it catches up when it joins."),
    Code(
        "TAIL_APART",
        what="A server's last transactions are in no later history, and it has joined no later epoch",
        clients="None: proposals that a dead leader never committed; they are truncated when the server joins.",
    ),
    Code(
        "PARTED",
        what="A server joined an epoch and kept transactions that are not in its history: the server only seems behind",
        concerns=PREFIX,
        clients="It can be elected, and bring back abandoned transactions, or truncate what others have acknowledged.",
        bugs=ZOMBIES,
        do=f"{COPY} {LAST} {HOLD}",
    ),
    Code(
        "SET_BACK",
        what="Less than a quorum has joined an epoch in which there are transactions",
        concerns="epoch-is-on-a-quorum: a leader proposes nothing before a quorum has joined its epoch",
        clients="A quorum without the last transactions can elect a leader, which truncates them.",
        do=f"{COPY} {LAST} {HOLD} Was a directory restored from a backup, or a disk replaced?",
    ),
    Code(
        "LAST_COPY",
        what="Transactions that may have been acknowledged are on less than a quorum of disks",
        concerns="served-is-on-a-quorum: durability",
        clients="An election without the named servers truncates them, and acknowledged writes are lost.",
        do=f"{COPY} Do not start an ensemble without the servers named. {HOLD}",
    ),
    Code(
        "CAN_BE_LOST",
        what="Some of these servers, started first, elect a leader that truncates writes that may have been "
        "acknowledged",
        concerns="acknowledged-survives: durability",
        clients="Acknowledged writes are lost when these servers are started without the others.",
        do=f"{COPY} See which servers to start together under 'What can happen next'. {HOLD}",
    ),
    Code(
        "NODES_VANISH",
        what="A server's tree lacks nodes that others have, and its zxid is later: if it leads, all servers lose them",
        concerns="acknowledged-survives: durability",
        clients="Acknowledged writes are lost when this server is among those that are started first.",
        do=f"{COPY} Start the other servers first, without this one. Is its newest snapshot its own? {HOLD}",
    ),
    # --- what was given -------------------------------------------------------------------------------------------
    Code(
        "SAME_MYID",
        what="Two directories have one number in their files myid",
        concerns="quorums: each server counts once",
        clients="Servers that run with one number can acknowledge a write that is on less than a quorum of disks.",
        do=(
            "If these are copies of one server, give one of them. Else do not start both: give each server its number "
            "in zoo.cfg first."
        ),
    ),
    Code(
        "NOT_ONE_ENSEMBLE",
        what="The servers given have no history in common: they are of several ensembles",
        concerns="what was given",
        clients="None by itself. Servers of two ensembles that are started as one cut each other's transactions.",
        do=f"Audit each ensemble by itself. Do not start these servers with one configuration. {HOLD}",
    ),
    Code(
        "FAILED_MULTI",
        what=(
            "Failed multis: ZooKeeper writes over the kinds of their parts while it applies them, so their "
            "records differ between servers"
        ),
        clients="None.",
    ),
    Code("ENCODING", what="The same transactions written differently: other releases or settings", clients="None."),
    # --- digests and trees ----------------------------------------------------------------------------------------
    Code(
        "DIGEST_MISMATCH",
        what=("Replaying the log gives another tree than the leader had: this server's log is not the agreed one"),
        concerns=AGREEMENT,
        clients="Reads from this server may differ from the others', at the latest after a restart.",
        bugs=f"{ZOMBIES}; {HOLES}",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "DIGEST_SHARED",
        what=(
            "On every server the digest of the same record is not that of the tree: the servers agree, but the "
            "leader computed another digest"
        ),
        concerns="the digest itself",
        clients="None known.",
        do="Report it to ZooKeeper.",
    ),
    Code(
        "DIGEST_OPEN",
        what="The digests behind a snapshot cannot be judged: it may hold later transactions than the log",
        clients="None.",
    ),
    Code(
        "NO_DIGESTS",
        what="No digests: before 3.6, or switched off; replaying cannot tell who is wrong",
        clients="None.",
    ),
    Code(
        "TREE_DIFFERS",
        what="The trees that two servers have at the same transaction differ",
        concerns=AGREEMENT,
        clients="Reads differ, depending on the server.",
        bugs=(
            "ZOOKEEPER-4837, 1549 and 1558 (all releases; 3.4.6-3.4.14 seldom), ZOOKEEPER-3104 (3.4, "
            f"3.5.0-3.5.4); {ZOMBIES}"
        ),
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "TREES_APART",
        what="The digests in the logs are those of one side's trees, and a quorum has the other side's",
        concerns=AGREEMENT,
        clients="Reads differ, depending on the server: a write may have come back, or may be lost.",
        bugs=f"{ZOMBIES}; {LOSSES}",
        do=f"{COPY} {HOLD} The nodes listed here, with the servers that have them, are what to read and to write "
        f"again by hand.",
    ),
    Code(
        "TREE_STATS",
        what="Nodes of two servers differ only in their versions, times or permissions",
        concerns="none of ZAB",
        clients="Versions of children may be read differently.",
        bugs="ZOOKEEPER-3125 (before 3.6)",
    ),
    Code(
        "RESTART_DIFFERS",
        what="A restart would build another tree than the log does: the newest snapshot contradicts the log",
        concerns="durability",
        clients="After a restart reads from this server differ.",
        bugs=(
            "ZOOKEEPER-4837, 1549 and 1558 (all releases; 3.4.6-3.4.14 seldom), ZOOKEEPER-3104 (3.4, "
            "3.5.0-3.5.4), ZOOKEEPER-2355 (3.4.7-3.4.10, 3.5.1-3.5.3), ZOOKEEPER-3701 (3.4, 3.5.0-3.5.6)"
        ),
        do=f"{COPY} {RESYNC}",
    ),
    # --- snapshots ------------------------------------------------------------------------------------------------
    Code(
        "SNAPSHOT_BROKEN",
        what="A snapshot's checksum or content is wrong, though its end is complete",
        concerns="integrity",
        clients="A server that starts falls back on an older snapshot, or does not start.",
        do=f"{COPY} {DISK}",
    ),
    Code(
        "SNAPSHOT_DIGEST",
        what="A snapshot's digest is not that of the tree at its transaction",
        concerns=AGREEMENT,
        clients="This server served, or will serve after a restart, other data than the others.",
        bugs=ZOMBIES,
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "NO_SNAPSHOT",
        what="None of a server's snapshots can be read",
        concerns="durability",
        clients="Releases from 3.5.3 on refuse to start.",
        bugs="ZOOKEEPER-2325, 3056",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "NO_SNAPSHOTS",
        what="Logs without a snapshot",
        clients="None by itself; releases from 3.5.3 on refuse to start.",
    ),
    Code(
        "TORN_SNAPSHOT", what="A snapshot that was never finished: a server takes the next older one", clients="None."
    ),
    # --- epochs ---------------------------------------------------------------------------------------------------
    Code(
        "EPOCH_BEHIND_LOG",
        what=(
            "currentEpoch is older than the last transaction: the server refuses to start ('The current epoch, "
            "..., is older than the last zxid')"
        ),
        concerns="a process's epoch is never behind its history",
        clients="The server is down.",
        bugs="ZOOKEEPER-1653 (3.4.0-3.4.5), 2354 (3.5.0 and later)",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "ACCEPTED_BEHIND",
        what="acceptedEpoch is less than currentEpoch: the server refuses to start",
        concerns="a process follows no epoch that it has not promised",
        clients="The server is down, or could promise an epoch twice.",
        bugs="ZOOKEEPER-2307 (before 3.5.8, 3.6.3, 3.7.0)",
        do=f"{COPY} {RESYNC}",
    ),
    Code(
        "EPOCH_FILE",
        what="An epoch file that has no number, so the server does not start, or a number too large for zxids",
        concerns="integrity",
        clients="The server is down; or an epoch begins whose writes get zxids that others have.",
        do=f"{COPY} {DISK} {RESYNC}",
    ),
    Code("EPOCH_MISSING", what="One of the two epoch files is missing", clients="None known."),
    Code(
        "EPOCH_AHEAD",
        what="A server has joined an epoch, and its disk does not hold the initial history of that epoch",
        concerns="epoch-has-its-history: who acknowledges NEWLEADER holds the leader's history",
        clients="Servers vote by the epoch first: this one can be elected, and truncate what others have acknowledged.",
        bugs=LATE_LOGS,
        do=f"{COPY} {LAST} {HOLD} Was the directory restored from a backup, or were its logs deleted?",
    ),
    Code(
        "EPOCH_PENDING",
        what="An epoch file was being written when the server died",
        clients="None: releases since 3.5.10, 3.6.3, 3.7.1 and 3.8.0 finish it when they start.",
    ),
    Code(
        "WILL_NOT_START",
        what="A server exits when it is started from this directory",
        concerns="availability",
        clients="The server is down.",
        do=f"{COPY} Do not delete files to make it start: what it holds may be needed. {HOLD}",
    ),
    Code(
        "MAY_NOT_START",
        what="Whether a server starts from this directory depends on what its files do not show",
        concerns="availability",
        clients="The server may be down.",
        do=f"{COPY} Keep files that are not ZooKeeper's outside version-2, under any name. {HOLD}",
    ),
    Code(
        "ACCEPTED_AHEAD",
        what="A server has accepted a later epoch than the one that the others begin: it follows no leader of theirs",
        concerns="availability: a process follows no epoch below its promise",
        clients="The server is down as long as the leader's epoch is lower.",
        do="Start it together with the others: an election with it begins a later epoch.",
    ),
    # --- files ----------------------------------------------------------------------------------------------------
    Code(
        "UNREADABLE",
        what="A file cannot be read",
        do="Give the command permission to read it: there is no verdict without it.",
    ),
    Code(
        "LOGS_NOT_GIVEN",
        what="The configuration names a directory of logs, and it was not given: what the server has is unknown",
        do="Give the data and the log directory of each server, as DATA,LOGS.",
    ),
    Code("EMPTY_SERVER", what="A server without any history", clients="None: it takes a snapshot when it joins."),
    Code("STRAY_FILE", what="Files that are neither logs nor snapshots nor epochs", clients="None."),
    Code("CONFIG", what="Transactions that change the membership: quorums are counted by them", clients="None."),
    Code(
        "CONFIG_UNREAD",
        what="A change of the membership that cannot be read: quorums are counted as before",
        clients="None.",
    ),
    Code("TOO_MANY", what="A file in which hardly any record follows the one before: the rest of it is not reported"),
)


def advice_held(code: str, unread: bool = False) -> str:
    """Return the advice on a code where no server may be resynchronized; empty if it needs no such advice.

    Args:
        code: the code.
        unread: it could be resynchronized, but need not be: no start reads what is missing.
    """
    do = CODES[code].do
    return do.replace(RESYNC, LEFT if unread else HELD) if RESYNC in do else ""


CODES: dict[str, Code] = {row.code: row for row in TABLE}
