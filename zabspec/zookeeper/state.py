"""What a ZooKeeper server holds, on its disk and in memory, and the packets that the quorum protocol has.

A zxid <e,n> is the number `e * WIDTH + n`, so that zxids compare as they do in the code; <e,0> is a value of its own.
A transaction is its zxid; a data tree is the set of transactions applied to it, as bits.
"""

from __future__ import annotations

from typing import Annotated

from zabspec.authoring.declaration import OneOf, Processes, ProtocolError, Range, Size, ghost, stored, volatile
from zabspec.language import NODE, Bool, Field, Int, NodeId, Seq
from zabspec.language.python.lang import MessageType

WIDTH = 6  # the counters that an epoch has room for, 0 among them
MOST_EPOCHS = 9

LOOKING, FOLLOWING, LEADING = range(3)
# Where the main thread is. A learner: registered, its epoch acknowledged, reading the sync, the steps of NEWLEADER,
# waiting for UPTODATE, SERVING. A leader: choosing an epoch, waiting for its acknowledgements, syncing before and after
# its own currentEpoch is written, SERVING.
(
    IDLE, REGISTERED, EPOCH_ACKED, SYNCING, TO_SNAPSHOT, TO_PERSIST, TO_WRITE_EPOCH, TO_ACK, WAITING,
    CHOOSING_EPOCH, AWAITING_EPOCH_ACKS, TO_WRITE_OWN_EPOCH, AWAITING_ACKS, SERVING,
) = range(14)  # fmt: skip
PHASES = (
    "IDLE", "REGISTERED", "EPOCH_ACKED", "SYNCING", "TO_SNAPSHOT", "TO_PERSIST", "TO_WRITE_EPOCH", "TO_ACK", "WAITING",
    "CHOOSING_EPOCH", "AWAITING_EPOCH_ACKS", "TO_WRITE_OWN_EPOCH", "AWAITING_ACKS", "SERVING",
)  # fmt: skip
NONE, DIFFS, TRUNCS, SNAPS = range(4)  # QuorumPeer.SyncMode
NO_THREAD, STARTED, SAVING = range(3)  # the thread of a periodic snapshot


def epochs(size: Size) -> int:
    """The largest epoch: each election begins one."""
    return 1 + size.elections


def zxid_kind(size: Size) -> Int:
    """Zxids <e,n>: an epoch has room for the two transactions of the established start and for every proposal."""
    if size.proposals > WIDTH - 3:
        raise ProtocolError(f"there is room for {WIDTH - 3} proposals, not {size.proposals}")
    if epochs(size) > MOST_EPOCHS:
        raise ProtocolError(f"there is room for {MOST_EPOCHS - 1} elections, not {size.elections}")
    names = tuple(f"<{e},{n}>" for e in range(epochs(size) + 1) for n in range(WIDTH))
    return Int(0, len(names) - 1, "--elections", names=names)


def tree_kind(size: Size) -> Int:
    """A set of transactions, a bit each."""
    zxids = zxid_kind(size)
    return Int(0, (2 << zxids.hi) - 1, members=zxids.names)


def founded_kind(size: Size) -> Int:
    """What a leader was established with; bit 0, which no transaction has: it was established."""
    tree = tree_kind(size)
    return Int(0, tree.hi, members=("established", *tree.members[1:]))


Zxid = Annotated[int, zxid_kind]
Tree = Annotated[int, tree_kind]
Epoch = Annotated[int, Range(0, epochs)]


class FOLLOWERINFO(MessageType):
    accepted: Epoch


class ACKEPOCH(MessageType):
    current: Annotated[int, Range(-1, epochs)]
    zxid: Zxid


class ACK(MessageType):
    zxid: Zxid


class LEADERINFO(MessageType):
    epoch: Epoch


class DIFF(MessageType):
    zxid: Zxid


class TRUNC(MessageType):
    zxid: Zxid


class SNAP(MessageType):
    zxid: Zxid
    tree: Tree


class PROPOSAL(MessageType):
    zxid: Zxid


class COMMIT(MessageType):
    zxid: Zxid


class NEWLEADER(MessageType): ...


class UPTODATE(MessageType): ...


class CLOSED(MessageType): ...


class WRITTEN(MessageType):
    """No packet: see `transfers.py`."""


class INFORM(MessageType):
    """To observers."""

    zxid: Zxid


def state(size: Size) -> list[Field]:
    zxid, tree, epoch = zxid_kind(size), tree_kind(size), Int(0, epochs(size), "--elections")
    txns = Seq(zxid, size.proposals + 8, "--proposals")  # a transaction may be appended again
    images = size.elections + size.snapshots + 3
    peers = Processes(size.nodes)
    return [
        stored("log", txns, "the transaction log (FileTxnLog): what is appended and forced"),
        stored(
            "files", Seq(Int(0, size.proposals + 8), images, "--elections"),
            "where its files begin, but for the first: only where they are read for learners (walk)",
        ),
        stored("snapshot_names", Seq(zxid, images, "--elections"), "snapshot.<zxid> files (FileSnap)"),
        stored("snapshot_trees", Seq(tree, images, "--elections"), "what each of them holds"),
        stored("current_epoch", epoch, "the file currentEpoch"),
        stored("accepted_epoch", epoch, "the file acceptedEpoch"),
        stored("unforced", tree, "snapshots that are not forced (only where power is lost: power)"),
        stored("uncut", txns, "what a TRUNC has cut from the log, and is not forced (power)"),
        stored("uncut_at", Int(0, size.proposals + 8), "how many records stand before that (power)"),
        volatile("role", OneOf("LOOKING", "FOLLOWING", "LEADING"), "QuorumPeer.ServerState"),
        volatile("leader", NodeId.of(size.nodes), "of a learner: whom it follows"),
        volatile("phase", OneOf(*PHASES), "where the main thread is"),
        volatile("full", Bool(), "its disk is full, for this term (only where disks fill: full-disk)"),
        volatile("promised", epoch, "QuorumPeer.acceptedEpoch, where writing the file has failed (full-disk)"),
        volatile("closed", Bool(), "FileSnap is closed, and saves nothing (full-disk)"),
        volatile(
            "snapshot_thread", OneOf("NO_THREAD", "STARTED", "SAVING"),
            "of SyncRequestProcessor, for a periodic snapshot (only where it takes them: snapshots)",
        ),
        volatile("saving_as", zxid, "the name of the snapshot that it writes"),
        volatile("refused", Bool(), "QuorumPeer.loadDataBase refused to start"),
        volatile("tree", tree, "DataTree: what is applied"),
        volatile("last_processed", zxid, "DataTree.lastProcessedZxid, which votes and ACKEPOCH carry"),
        volatile("committed_log", txns, "ZKDatabase.committedLog"),
        volatile("hole", Bool(), "addCommittedProposal has thrown for a hole (only where it does: hole)"),
        volatile("sync_mode", OneOf("NONE", "DIFFS", "TRUNCS", "SNAPS"), "QuorumPeer.syncMode"),
        volatile("not_logged", txns, "Learner.syncWithLeader: packetsNotLogged (packetsNotCommitted before 3.9.3)"),
        volatile("committed", txns, "Learner.syncWithLeader: packetsCommitted"),
        volatile("appended", txns, "3.9.2, 3.8.5: appended in the sync phase, to be acknowledged after UPTODATE"),
        volatile("pending", txns, "FollowerZooKeeperServer.pendingTxns"),
        volatile("sync_queue", txns, "SyncRequestProcessor.queuedRequests"),
        volatile("stale_queue", txns, "of a SyncRequestProcessor that outlives its term"),
        volatile("to_apply", txns, "CommitProcessor.committedRequests"),
        volatile("term", epoch, "the epoch of the leader that it follows, or leads with"),
        volatile("heard", peers, "Leader.connectingFollowers"),
        volatile("linked", peers, "Leader.learners: who has sent FOLLOWERINFO over a connection that is not lost"),
        volatile("answered", peers, "whose ACKEPOCH its LearnerHandler has read"),
        volatile("agreed", peers, "Leader.electingFollowers"),
        volatile("peer_last", zxid, "LearnerHandler: peerLastZxid", NODE),
        volatile("queued_to", zxid, "LearnerHandler: what was queued before NEWLEADER (before-3104)", NODE),
        volatile("forwarding", peers, "Leader.forwardingFollowers"),
        volatile("unsettled", peers, "whose LearnerHandler waits for one packet after NEWLEADER"),
        volatile("settled", peers, "whose LearnerHandler has read it, and waits for the server to run"),
        volatile("looping", peers, "whose LearnerHandler reads packets in its loop"),
        volatile("new_leader_acks", peers, "Leader.newLeaderProposal: who acknowledged NEWLEADER"),
        volatile("outstanding", txns, "Leader.outstandingProposals"),
        volatile("acks", peers, "who acknowledged each of them, by its counter", WIDTH),
        volatile("to_be_applied", txns, "Leader.toBeApplied"),
        volatile("last_proposed", zxid, "Leader.lastProposed"),
        volatile("last_committed", zxid, "Leader.lastCommitted"),
        *ghosts(size, tree),
    ]  # fmt: skip


def ghosts(size: Size, tree: Int) -> list[Field]:
    """Return what no server has: what properties are stated with."""
    return [
        ghost(
            "exposed", tree, "of each epoch: what a serving server of it had applied", epochs(size) + 1,
            reading="epoch {} served",
        ),
        ghost(
            "founded", founded_kind(size), "of each epoch: what its leader was established with, and bit 0",
            epochs(size) + 1, reading="the leader of epoch {} began with",
        ),
        ghost("twice", Bool(), "two leaders were established in one epoch"),
        ghost("strayed", Bool(), "a leader gave a transaction a zxid of another epoch"),
        ghost("threw", Bool(), "a server stopped for a packet that its peer may send"),
        ghost("walked", Bool(), "a leader has read its log for a learner"),
        ghost("skipped", Bool(), "a leader left out what is between what a learner has and what it was sent"),
        ghost("swallowed", Bool(), "an acknowledgement was taken for that of NEWLEADER"),
    ]  # fmt: skip


def epoch_of(zxid: int) -> int:
    return zxid // WIDTH


def counter_of(zxid: int) -> int:
    return zxid % WIDTH


def first_of(epoch: int) -> int:
    """<e,0>, which no transaction has."""
    return epoch * WIDTH
