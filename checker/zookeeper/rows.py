"""The rows of the track record: each a known bug, a release that has it, the fixes of all others, and its own."""

from __future__ import annotations

from dataclasses import dataclass, field

# Repairs that neither contain the fix of another row that names them nor are contained in it. What is left out beside a
# row's own fix is what contains it: 3911 is in 4646, which is in 4394, and 4837's hole is 1558's.
OTHERS = (
    "4643", "4925", "4712", "3642", "2355", "4837", "1558", "trunc", "cut", "5094", "2354", "snap-tail", "trunc-snap",
)  # fmt: skip
# The pull request of 4837 breaks more by itself with a third election; there 4837-here replaces it.
BEYOND = ("4837-here", "4882", "4394")
USUAL = {"crashes": 2, "losses": 1, "timeouts": 0, "elections": 2, "proposals": 0}
CUT = {"losses": 0, "partitions": 1, "crashes": 1, "elections": 1, "proposals": 1}
OVERWRITTEN = {"crashes": 0, "losses": 1, "elections": 0, "proposals": 1}
WALKED = {"crashes": 0, "losses": 1, "elections": 3, "proposals": 1}  # two of these elections are over


@dataclass(frozen=True)
class Row:
    """A bug.

    Attributes:
        issue: its number in ZooKeeper's tracker; a name if it is in none, and was found here.
        release: one that has it.
        others: the known fixes of other bugs, none of which contains its own.
        fix: its own.
        breaks: the property.
        says: what happens, in a sentence.
        split: the paper's step that the code splits.
        budget: the amounts of faults and actions that differ from the usual.
        depth: the number of steps to the violation, as recorded, each taken separately.
        merged: the number with merged steps (`zabspec/zookeeper/variants/coarse.py`).
        held: whether with its fix it holds within the same budget, as recorded.
        published: what others have published of it: seconds, depth, states.
        start: where its runs begin; empty for the initial state.
        settings: variants of settings that it needs, and with which it is explored.
        number: the release to explore, if it behaves differently with these than the one whose model it has; empty if
            it does not.
    """

    issue: str
    release: str
    others: tuple[str, ...]
    fix: tuple[str, ...]
    breaks: str
    says: str
    split: str
    budget: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    merged: int = 0
    held: bool = True
    published: str = ""
    start: str = "established"
    settings: str = ""
    number: str = ""


def others(*without: str, also: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(r for r in (*OTHERS, *also) if r not in without)


ROWS = (
    Row(
        "3911", "3.6.0", others(), ("4394",), "acknowledged-survives",
        "A follower answers NEWLEADER while the transactions of its DIFF are in lists of "
        "Learner.syncWithLeader only, crashes, and is elected by its new currentEpoch without them.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        {}, 33, 25, True, "42 s, 14, 286,286 (zookeeper-tla-spec, 3.4.10)",
    ),
    Row(
        "4643", "3.9.1", others("4643", also=("4394",)), ("4643",), "acknowledged-survives",
        "A follower writes currentEpoch and crashes before the transactions of its DIFF are in its log; with "
        "that epoch it is elected over the server that has them.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        {}, 33, 29, True, "17 s, 21, 208,018 (Remix)",
    ),
    Row(
        "4646", "3.9.1", others(), ("4394",), "acknowledged-survives",
        "A follower answers NEWLEADER while the transactions of its DIFF are in the queue of "
        "SyncRequestProcessor, and crashes before they are forced.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        {}, 33, 26, True, "109 s, 21, 2,880,498 (Remix)",
    ),
    Row(
        "4685", "3.9.1", others(), ("4646",), "answers-count",
        "SyncRequestProcessor acknowledges a transaction of the DIFF before the main thread acknowledges "
        "NEWLEADER; LearnerHandler reads that as the answer, does not count it, and reads no more.",
        "f.2.1 and f.2.3: the acknowledgement of NEWLEADER comes before those of later proposals",
        {"crashes": 1}, 13, 11, True, "10 s, 12, 67,418 (Remix)",
    ),
    Row(
        "4394", "3.9.2", others(), ("4394",), "no-stop",
        "Learner.syncWithLeader empties its list at NEWLEADER; the COMMIT of an outstanding proposal that "
        "comes before UPTODATE finds no head, and the sync ends in a NullPointerException.",
        "f.2.1 to f.2.2: NEWLEADER and its commit, with a broadcast between",
        {"crashes": 1}, 18, 16, True, "9 s, 20, 14,264 (Remix)",
    ),
    Row(
        "3023", "3.9.2", others(), ("4394",), "initial-history",
        "A follower serves after UPTODATE before CommitProcessor has applied the transactions of its DIFF.",
        "f.2.2: on commit of NEWLEADER the initial history is delivered before anything else",
        {"crashes": 1}, 19, 15, True, "11 s, 13, 78,892 (Remix)",
    ),
    Row(
        "4712", "3.9.2", others("4712", also=("4394",)), ("4712",), "trees-agree",
        "A follower's SyncRequestProcessor outlives its term and appends a proposal of the old leader to the "
        "log in the next; after a restart the server serves it.",
        "the end of an iteration: what a follower has not accepted when it leaves Phase 3 it does not accept "
        "later",
        {"losses": 0, "elections": 1, "proposals": 1}, 40, 34, True, "11 s, 13, 73,293 (Remix)",
    ),
    Row(
        "late-drain", "3.6.0", others("4712", also=("4394",)), ("4712",), "trees-agree",
        "When a follower's term ends, its tree is brought up to its log first, and what waits for the log is appended "
        "behind that; the tree is kept, the server votes and joins with less than its log has, is not truncated, and "
        "serves after a restart what no other server has.",
        "recovery: the history that a process votes with is the one on its disk",
        {"losses": 0, "elections": 1, "proposals": 1}, 40, 33, True, "",
    ),
    Row(
        "4541", "3.9.2", others(), ("4394",), "acknowledged-survives",
        "A connection breaks between NEWLEADER and UPTODATE: what was logged is not brought into the tree, "
        "and the server, elected by its epoch, leads without it.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        {"losses": 2, "crashes": 1}, 33, 25, True, "",
    ),
    Row(
        "4925", "3.9.3", others("4925"), ("4925",), "trees-agree",
        "Transactions applied in the sync phase do not enter committedLog; as leader the server sends a DIFF "
        "with a hole.",
        "l.2.1: a leader sends its whole history",
        {"crashes": 1, "proposals": 1}, 38, 31, True, "",
    ),
    Row(
        "2355", "3.5.3", others("2355", also=("4394", "2845")), ("2355",), "trees-agree",
        "At DIFF lastProcessedZxid moves to the end of what is to come; the connection breaks, and the server "
        "reports that it is in sync.",
        "f.2.1: the history is taken as a whole",
        {"crashes": 0, "losses": 2, "proposals": 1}, 34, 33, True, "",
    ),
    Row(
        "2845", "3.5.3", others("4712", also=("4394",)), ("2845","4712",), "trees-agree",
        "A former leader keeps its tree without what its log has; it joins with the smaller zxid, is not truncated, "
        "and after a restart serves what no other server has.",
        "recovery: the history that a process votes with is the one on its disk",
        CUT | {"losses": 1, "partitions": 0}, 28, 24, True, "12 s, 10, 6,347 (zookeeper-tla-spec, 3.4.10)",
    ),
    Row(
        "4837", "3.9.4", others("4837", "1558"), ("4837",), "served-is-on-a-quorum",
        "TRUNC cuts the log and then loads a snapshot that holds what was cut.",
        "f.2.1: the history is replaced as a whole",
        CUT | {"losses": 1, "crashes": 0, "elections": 2, "proposals": 0}, 27, 24, True, "",
    ),
    Row(
        "4837-here", "3.9.4", others("4837", "1558"), ("4837-here",), "served-is-on-a-quorum",
        "TRUNC cuts the log and then loads a snapshot that holds what was cut. The repair proposed here passes over "
        "those alone that are not earlier than the first record that was cut.",
        "f.2.1: the history is replaced as a whole",
        CUT | {"losses": 1, "crashes": 0, "elections": 2, "proposals": 0}, 27, 24, True, "",
    ),
    Row(
        "1558", "3.9.4", others("4837", "1558"), ("1558",), "served-is-on-a-quorum",
        "A leader that no quorum follows yet writes a snapshot of its tree with what no quorum has; no TRUNC "
        "takes it out again.",
        "a leader of Phase 1 changes nothing that is on its disk but its epoch",
        CUT | {"losses": 1, "crashes": 0, "elections": 2, "proposals": 0}, 27, 24, True, "",
    ),
    Row(
        "2354", "3.9.4", others("2354"), ("2354",), "starts-again",
        "A server saves the snapshot of a later epoch and crashes before currentEpoch is written: "
        "QuorumPeer.loadDataBase refuses it ever after.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        CUT | {"partitions": 0, "proposals": 0}, 21, 16, True, "", "",
    ),
    Row(
        "log-epoch", "3.9.4", others("2354"), ("2354",), "starts-again",
        "A server logs the transactions of a DIFF whose epoch is later than its currentEpoch, and crashes before that "
        "is written: QuorumPeer.loadDataBase refuses it ever after.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        {"losses": 0, "elections": 1, "proposals": 1}, 33, 28, True, "",
    ),
    Row(
        "4882", "3.9.4", others(), ("4882",), "trees-agree",
        "A transaction is applied by its COMMIT though writing it failed; the database is kept over the "
        "election, the log has a hole, and a restart loads the hole.",
        "f.2.3: a proposal is accepted, on the disk, before it is delivered",
        {"losses": 0, "crashes": 1, "elections": 1, "proposals": 1, "write_errors": 1}, 39, 35, True, "",
    ),
    Row(
        "4785", "3.9.1", others("4643"), ("4643","4394",), "acknowledged-survives",
        "In production: a follower crashes while the transactions of its DIFF are in the queue of "
        "SyncRequestProcessor, after currentEpoch is written; 4643 and 4646 at once.",
        "f.2.1: a follower accepts NEWLEADER with its history, sets its epoch and acknowledges, in one step",
        {}, 33, 29, True, "",
    ),
    Row(
        "1291", "before-1291", others(), ("1291",), "one-leader-an-epoch",
        "A leader proposes an epoch that it has not stored, loses its quorum, and with others that know "
        "nothing of it begins the same epoch again.",
        "l.1.1: the epoch that a leader proposes is later than any that it has promised, its own among them",
        CUT | {"partitions": 2, "crashes": 0, "elections": 2, "proposals": 0}, 32, 26, True, "",
    ),
    Row(
        "5094", "3.9.4", others("5094"), ("5094",), "memory-is-the-disk",
        "A connection breaks after TRUNC and before NEWLEADER: what was committed behind the TRUNC is in the tree "
        "and on no disk, and the database is kept; the follower votes with what a crash takes away.",
        "f.2.1: the history is replaced as a whole, on the disk",
        CUT | {"losses": 1, "partitions": 0}, 32, 28, True, "",
    ),
    Row(
        "1282", "before-1282", others("4643"), ("1282",), "epoch-is-on-a-quorum",
        "A follower acknowledges NEWLEADER and writes currentEpoch at UPTODATE: a leader is established in an "
        "epoch that no quorum has on its disks.",
        "f.2.1: a follower sets its epoch, on the disk, and acknowledges NEWLEADER after that",
        {"losses": 0, "partitions": 1, "crashes": 0, "elections": 1, "proposals": 1}, 14, 12, True, "",
    ),
    Row(
        "trunc", "3.9.4", others("trunc"), ("trunc",), "acknowledged-survives",
        "A follower has logged and acknowledged a proposal of the running epoch, reconnects, and receives a TRUNC "
        "for it since the leader has committed it and not yet applied it; the leader, and with it the only "
        "copy, is lost.",
        "f.2.3: what a follower has accepted in an epoch it keeps in that epoch",
        {"losses": 0}, 28, 25, True, "",
    ),
    Row(
        "2832", "3.4.14", others(also=("4394", "107", "forward")), ("2832",), "acknowledged-survives",
        "LearnerHandler.run has an empty committedLog and sends SNAP to a follower that is ahead; its log keeps what "
        "the SNAP has not, and the follower, which has acknowledged it, is elected without it in its tree.",
        "f.2.1: the history is replaced as a whole, and f.2.3: what a follower has accepted in an epoch it keeps",
        {"crashes": 1, "proposals": 1}, 51, 43, True, "", "",
    ),
    Row(
        "forward", "3.4.14", others(also=("4394", "107")), ("forward",), "trees-agree",
        "After a SNAP that ends before the zxid that the follower reported, LearnerHandler.run forwards only what "
        "comes after that zxid; the follower never applies the transactions in between, and continues with the next "
        "ones.",
        "l.2.1: a leader sends its whole history",
        {"crashes": 1, "losses": 0, "elections": 1, "proposals": 2}, 43, 37, True, "", "",
    ),
    Row(
        "cut", "3.9.4", others("cut"), ("cut",), "acknowledged-survives",
        "FileTxnLog.truncate cuts after the first record that is not earlier than the zxid of TRUNC. If the log does "
        "not have that zxid (<e,0>, or one received by SNAP), the first record to cut stays and is read back into "
        "the tree. A follower then serves what no leader has committed, and the next leader does not have.",
        "f.2.1: the history is replaced as a whole",
        {"crashes": 1, "proposals": 1}, 48, 38, True, "", "",
    ),
    Row(
        "snap-tail", "3.9.4", others("snap-tail", "trunc-snap", "4837", "4712", also=BEYOND), ("snap-tail",),
        "memory-is-the-disk",
        "A former leader joins at <e,0>, which is later than all that the next leader has, and gets a SNAP below the "
        "tail of its own log; the log keeps the tail, and the next shutdown's fastForwardDataBase brings back into "
        "the tree, and so into its vote, what was never committed; a start reads a later snapshot instead.",
        "f.2.1: the history is replaced as a whole, on the disk",
        {"crashes": 2, "losses": 1, "elections": 3, "proposals": 1}, 62, 49, True, "", "",
    ),
    Row(
        "trunc-snap", "3.9.4", others("trunc-snap", "4837", "4712", also=BEYOND), ("trunc-snap",), "no-stop",
        "A server has, only from a SNAP, what no leader was established with; receives a TRUNC for it from a leader "
        "without "
        "a committedLog, it has no log to truncate, and exits; the two servers left establish no leader.",
        "f.2.1: the history is replaced as a whole",
        {"crashes": 2, "losses": 1, "elections": 4, "proposals": 1}, 38, 31, True, "", "",
    ),
    Row(
        "trunc-epoch", "3.9.4", others("4837", "4712", also=BEYOND), ("trunc-epoch",), "no-stop",
        "A server has, only from a SNAP, what no quorum has logged; receives a TRUNC for it from a leader of a later "
        "epoch, with a committedLog that ends before that, it has no log to truncate, and exits (trunc-snap is that "
        "without a committedLog, and its fix leaves this).",
        "f.2.1: the history is replaced as a whole",
        {"crashes": 1, "losses": 1, "elections": 4, "proposals": 1}, 5, 5, True, "", "snapshot-alone",
    ),
    Row(
        "2872", "3.5.3", others("4837", "4712", also=BEYOND), ("2872",), "epoch-has-its-history",
        "The snapshot of a SNAP is not forced, and currentEpoch is: power is lost, and the server is in the new epoch "
        "with what it had before.",
        "f.2.1: a follower accepts NEWLEADER with its history, on the disk, and acknowledges it after that",
        {"losses": 0, "crashes": 1, "elections": 2, "proposals": 0}, 10, 9, True, "", "after-snap", "power",
    ),
    Row(
        "cut-power", "3.9.4", others("4837", "4712", also=BEYOND), ("trunc-forced",), "trees-agree",
        "What a TRUNC has cut from a log is not forced, and what is logged behind it is in a file of its own; power is "
        "lost, and what was cut is there again, before it; the server serves it.",
        "f.2.1: the history is replaced as a whole, on the disk",
        {"losses": 0, "crashes": 2, "elections": 1, "proposals": 1}, 43, 37, True, "", "established", "power",
    ),
    Row(
        "2307", "3.6.0", others("4837", "4712", also=BEYOND), ("2307",), "starts-again",
        "QuorumPeer.setAcceptedEpoch sets the epoch in memory, and writing the file fails; when the same epoch is "
        "proposed again the server acknowledges it, writes currentEpoch, and does not start any more, since that is "
        "later "
        "than acceptedEpoch.",
        "f.1.1: a follower accepts an epoch, on the disk, before it acknowledges it",
        {"losses": 0, "crashes": 1, "elections": 1, "proposals": 0, "write_errors": 1}, 19, 18, True, "", "",
        "full-disk",
    ),
    Row(
        "3701", "3.5.3", others("4837", "4712", also=(*BEYOND, "2307")), ("3701",), "memory-is-the-disk",
        "A TRUNC fails, and leaves a FileSnap that is closed and saves nothing, without a word; the server gets a "
        "SNAP, writes currentEpoch, acknowledges NEWLEADER, and has none of it on its disk.",
        "f.2.1: a follower accepts NEWLEADER with its history, on the disk, and acknowledges it after that",
        {"elections": 1, "proposals": 1, "crashes": 1, "write_errors": 1}, 43, 37, True, "", "established",
        "full-disk",
    ),
    Row(
        "hole", "3.9.4", others(), ("4882",), "starts-again",
        "A transaction is applied though writing it failed, and what comes next is logged behind the hole (4882): from "
        "3.9.4 on addCommittedProposal throws for a hole inside an epoch, also while a log is replayed, and the server "
        "does not start any more.",
        "f.2.3: a proposal is accepted, on the disk, before it is delivered",
        {"losses": 0, "crashes": 1, "elections": 1, "proposals": 1, "write_errors": 1}, 22, 21, True, "", "established",
        "hole",
    ),
    Row(
        "2418", "3.5.10", others("4837", "4712", also=BEYOND), ("2418",), "initial-history",
        "A leader reads its log for a learner, and that ends before committedLog begins, or, without one, before what "
        "it has come to by SNAP: it sends a DIFF without what lies between.",
        "l.2.1: a leader sends its whole history",
        WALKED | {"proposals": 0}, 15, 11, True, "", "after-snap", "walk",
    ),
    Row(
        "2099", "3.9.4", others("4837", "4712", also=BEYOND), ("walk-whole",), "trees-agree",
        "A server that has had a SNAP lacks in its log what came with it; as a leader it reads that log for a learner "
        "whose zxid is before the hole, and sends a DIFF with the hole in it; the learner serves it.",
        "l.2.1: a leader sends its whole history",
        WALKED, 19, 15, True, "", "after-snap", "walk",
    ),
    Row(
        "2846", "3.9.4", others("4837", "4712", also=BEYOND), ("walk-whole",), "acknowledged-survives",
        "As 2099, and on: the learner with the hole is in the newest epoch, is elected by it, and leads without what "
        "was served in the epoch before.",
        "l.2.1: a leader sends its whole history",
        WALKED | {"losses": 2, "elections": 4}, 30, 23, True, "", "after-snap", "walk",
    ),
    Row(
        "3104", "3.5.3", others("4837", "4712", also=BEYOND), ("3104",), "trees-agree",
        "NEWLEADER is queued before a SNAP is read: the learner applies what was committed before NEWLEADER to a tree "
        "that has later writes of the same node, saves it under their zxid, and crashes; it starts with the earlier "
        "one, and the later ones are not sent again.",
        "f.2.1: a follower accepts the whole initial history, and acknowledges it after that",
        {"losses": 0, "crashes": 1, "elections": 1, "proposals": 3}, 56, 49, True, "", "", "transfer,one-node",
    ),
    Row(
        "late-snapshot", "3.9.4", others("4837", "4712", also=BEYOND), ("late-snapshot",), "trees-agree",
        "A follower's term ends while a periodic snapshot is written: what its log alone has is applied to the tree, "
        "and comes into that snapshot, which is named before it; a TRUNC cuts it from the log, reads that snapshot, "
        "and the follower serves what no other server has.",
        "f.2.1: the history is replaced as a whole, on the disk",
        {"losses": 0, "crashes": 1, "elections": 1, "proposals": 1, "snapshots": 1}, 31, 29, True, "", "established",
        "snapshots",
    ),
    Row(
        "2959", "3.5.3", others("4837", "4712", also=BEYOND), ("2959",), "epoch-has-its-history",
        "A leader counts an observer in discovery: the two choose an epoch, and write it, of which no other voter has "
        "heard, and which a quorum establishes under another leader; what that one began with the first has not.",
        "l.1.1: a leader has heard from a quorum, and chooses an epoch later than any that one of it has accepted",
        {"crashes": 1}, 28, 24, True, "", "established", "observer",
    ),
    Row(
        "observer-sync", "3.9.4", others("4837", "4712", also=BEYOND), ("observer-sync",), "initial-history",
        "An observer keeps the transactions of its DIFF in lists until UPTODATE, and serves before its commit thread "
        "has applied them: what ZOOKEEPER-3911, 3023 and 4646 mended is mended for followers alone.",
        "f.2.2: on commit of NEWLEADER the initial history is delivered before anything else",
        {"losses": 0, "crashes": 1, "elections": 1}, 31, 25, True, "", "established", "observer",
    ),
    Row(
        "log-overwritten", "3.9.2", others("4712", also=("4394",)), ("4712",), "served-is-on-a-quorum",
        "A sync thread that outlives its term (4712) logs again what its server has logged since. FileTxnLog.append "
        "opens log.<zxid>, which is there, and does not append: what that file had, acknowledged and committed, is "
        "gone, with what came behind it.",
        "f.2.3: what a follower has accepted in an epoch it keeps",
        OVERWRITTEN, 21, 19, True, "", "established", "log-files,rolls",
    ),
    Row(
        "log-overwritten-here", "3.9.2", others("4712", also=("4394",)), ("log-kept",), "served-is-on-a-quorum",
        "As log-overwritten. The repair proposed here leaves a file that has the transaction as it is.",
        "f.2.3: what a follower has accepted in an epoch it keeps",
        OVERWRITTEN, 21, 19, True, "", "established", "log-files,rolls",
    ),
)  # fmt: skip

# Rows of BUGS.tsv without a row here, with the reason.
NOT_FOUND = {
    "2678": "it makes other bugs possible, but is not a bug by itself",
    "3642": "with the two proposals that it needs, a minute was not enough",
    "1549": "it is 1558 and 4837",
    "1653": "it is 2354 on 3.4, fixed in 3.4.6",
    "4352": "its mechanism is unknown",
    "1154": "it is a bug of releases before 3.4.10",
    "1156": "it is a bug of releases before 3.4.10",
    "962": "it is a bug of releases before 3.4.10",
    "335": "it is a bug of releases before 3.4.10",
    "1081": "it is a bug of releases before 3.4.10",
}
