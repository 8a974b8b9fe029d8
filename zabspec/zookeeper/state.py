"""What a ZooKeeper server holds, on its disk and in memory, and the packets that the quorum protocol has.

A zxid <e,n> is the number `e * WIDTH + n`, so that zxids compare as they do in the code; <e,0> is a value of its own.
A transaction is its zxid; a data tree is the set of transactions applied to it, as bits.
"""

from __future__ import annotations

from typing import Annotated

from zabspec.authoring.declaration import AtMost, OneOf, ProtocolError, Range, Size, ghost, stored, volatile
from zabspec.language import Int
from zabspec.language.python.lang import Each, Fields, MessageType, Node, SeqOf

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


def records(size: Size) -> int:
    """How many records a log has room for: a transaction may be appended again."""
    return size.proposals + 8


def images(size: Size) -> int:
    """How many files of a kind there is room for."""
    return size.elections + size.snapshots + 3


Zxid = Annotated[int, zxid_kind]
Tree = Annotated[int, tree_kind]
Epoch = Annotated[int, Range(0, epochs)]
Txns = Annotated[SeqOf[Zxid], AtMost(records, "--proposals")]
CurrentEpoch = Annotated[int, Range(0, epochs, "--elections")]


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


class State(Fields):
    """What a server has on its disk and in memory; ghosts, which no server has, are what properties are stated with."""

    log: Each[Node, Txns] = stored("the transaction log (FileTxnLog): what is appended and forced")
    files: Each[Node, Annotated[SeqOf[Annotated[int, Range(0, records)]], AtMost(images, "--elections")]] = stored(
        "where its files begin, but for the first: only where they are read for learners (walk)"
    )
    snapshot_names: Each[Node, Annotated[SeqOf[Zxid], AtMost(images, "--elections")]] = stored(
        "snapshot.<zxid> files (FileSnap)"
    )
    snapshot_trees: Each[Node, Annotated[SeqOf[Tree], AtMost(images, "--elections")]] = stored(
        "what each of them holds"
    )
    current_epoch: Each[Node, CurrentEpoch] = stored("the file currentEpoch")
    accepted_epoch: Each[Node, CurrentEpoch] = stored("the file acceptedEpoch")
    unforced: Each[Node, Tree] = stored("snapshots that are not forced (only where power is lost: power)")
    uncut: Each[Node, Txns] = stored("what a TRUNC has cut from the log, and is not forced (power)")
    uncut_at: Each[Node, Annotated[int, Range(0, records)]] = stored("how many records stand before that (power)")
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = volatile("QuorumPeer.ServerState")
    leader: Each[Node, Node] = volatile("of a learner: whom it follows")
    phase: Each[Node, Annotated[int, OneOf(*PHASES)]] = volatile("where the main thread is")
    full: Each[Node, bool] = volatile("its disk is full, for this term (only where disks fill: full-disk)")
    promised: Each[Node, CurrentEpoch] = volatile(
        "QuorumPeer.acceptedEpoch, where writing the file has failed (full-disk)"
    )
    closed: Each[Node, bool] = volatile("FileSnap is closed, and saves nothing (full-disk)")
    snapshot_thread: Each[Node, Annotated[int, OneOf("NO_THREAD", "STARTED", "SAVING")]] = volatile(
        "of SyncRequestProcessor, for a periodic snapshot (only where it takes them: snapshots)"
    )
    saving_as: Each[Node, Zxid] = volatile("the name of the snapshot that it writes")
    refused: Each[Node, bool] = volatile("QuorumPeer.loadDataBase refused to start")
    tree: Each[Node, Tree] = volatile("DataTree: what is applied")
    last_processed: Each[Node, Zxid] = volatile("DataTree.lastProcessedZxid, which votes and ACKEPOCH carry")
    committed_log: Each[Node, Txns] = volatile("ZKDatabase.committedLog")
    hole: Each[Node, bool] = volatile("addCommittedProposal has thrown for a hole (only where it does: hole)")
    sync_mode: Each[Node, Annotated[int, OneOf("NONE", "DIFFS", "TRUNCS", "SNAPS")]] = volatile("QuorumPeer.syncMode")
    not_logged: Each[Node, Txns] = volatile(
        "Learner.syncWithLeader: packetsNotLogged (packetsNotCommitted before 3.9.3)"
    )
    committed: Each[Node, Txns] = volatile("Learner.syncWithLeader: packetsCommitted")
    appended: Each[Node, Txns] = volatile("3.9.2, 3.8.5: appended in the sync phase, to be acknowledged after UPTODATE")
    pending: Each[Node, Txns] = volatile("FollowerZooKeeperServer.pendingTxns")
    sync_queue: Each[Node, Txns] = volatile("SyncRequestProcessor.queuedRequests")
    stale_queue: Each[Node, Txns] = volatile("of a SyncRequestProcessor that outlives its term")
    to_apply: Each[Node, Txns] = volatile("CommitProcessor.committedRequests")
    term: Each[Node, CurrentEpoch] = volatile("the epoch of the leader that it follows, or leads with")
    heard: Each[Node, set[Node]] = volatile("Leader.connectingFollowers")
    linked: Each[Node, set[Node]] = volatile(
        "Leader.learners: who has sent FOLLOWERINFO over a connection that is not lost"
    )
    answered: Each[Node, set[Node]] = volatile("whose ACKEPOCH its LearnerHandler has read")
    agreed: Each[Node, set[Node]] = volatile("Leader.electingFollowers")
    peer_last: Each[Node, Each[Node, Zxid]] = volatile("LearnerHandler: peerLastZxid")
    queued_to: Each[Node, Each[Node, Zxid]] = volatile("LearnerHandler: what was queued before NEWLEADER (before-3104)")
    forwarding: Each[Node, set[Node]] = volatile("Leader.forwardingFollowers")
    unsettled: Each[Node, set[Node]] = volatile("whose LearnerHandler waits for one packet after NEWLEADER")
    settled: Each[Node, set[Node]] = volatile("whose LearnerHandler has read it, and waits for the server to run")
    looping: Each[Node, set[Node]] = volatile("whose LearnerHandler reads packets in its loop")
    new_leader_acks: Each[Node, set[Node]] = volatile("Leader.newLeaderProposal: who acknowledged NEWLEADER")
    outstanding: Each[Node, Txns] = volatile("Leader.outstandingProposals")
    acks: Each[Node, Each[Annotated[int, Range(0, WIDTH - 1)], set[Node]]] = volatile(
        "who acknowledged each of them, by its counter"
    )
    to_be_applied: Each[Node, Txns] = volatile("Leader.toBeApplied")
    last_proposed: Each[Node, Zxid] = volatile("Leader.lastProposed")
    last_committed: Each[Node, Zxid] = volatile("Leader.lastCommitted")
    exposed: Each[Epoch, Tree] = ghost(
        "of each epoch: what a serving server of it had applied", reading="epoch {} served"
    )
    founded: Each[Epoch, Annotated[int, founded_kind]] = ghost(
        "of each epoch: what its leader was established with, and bit 0", reading="the leader of epoch {} began with"
    )
    twice: bool = ghost("two leaders were established in one epoch")
    strayed: bool = ghost("a leader gave a transaction a zxid of another epoch")
    threw: bool = ghost("a server stopped for a packet that its peer may send")
    walked: bool = ghost("a leader has read its log for a learner")
    skipped: bool = ghost("a leader left out what is between what a learner has and what it was sent")
    swallowed: bool = ghost("an acknowledgement was taken for that of NEWLEADER")


def epoch_of(zxid: int) -> int:
    return zxid // WIDTH


def counter_of(zxid: int) -> int:
    return zxid % WIDTH


def first_of(epoch: int) -> int:
    """<e,0>, which no transaction has."""
    return epoch * WIDTH
