"""The files of a log by their names (`log-files`): which of them an append writes over, and which a start reads first.

FileTxnLog.append begins a file where none is open: after a start, after a TRUNC (FileTxnSnapLog.truncateLog), and after
FileTxnLog.rollLog, which SyncRequestProcessor.run calls when a snapshot is due, and FileTxnLog.commit where a file has
come to zookeeper.txnLogSizeLimitInKb (3.6.0). The file has the zxid of its first record for its name, and is opened by
a FileOutputStream that does not append: of a file of that name nothing is left, neither that record nor what is behind
it. In every release. That needs a transaction that is logged again, so a log that has what the server's memory has not.

FileTxnIterator reads the files in the order of their names, not of their writing, and begins with the last one named
before the zxid that is asked for. So `log` has the records in that order, and `files` where the files but for the first
begin; behind that, where no file is open, the length of the log, and where the open one is not the last, its end,
which is there twice then.

Where a file ends is for the run to say (`roll_log`), unless a file ends behind each transaction that a
SyncRequestProcessor logs (`rolls`), as on servers on which a snapshot is always due.

Left out: that a file ends between two transactions that are logged in one step; that a crash between the opening of a
file and its first record leaves an empty one, which FileTxnIterator takes for the last one named before; of no byte,
and with another behind it, a start ends with an EOFException. With `power`: that what a TRUNC has cut, and a loss of
power brings back, was in more than one file.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant, action
from zabspec.language.python.lang import Node
from zabspec.zookeeper.state import State, TO_PERSIST
from zabspec.zookeeper.storage import end_file

__all__ = [
    "LOG_FILES",
    "LOG_FILES_REPAIRS",
    "appends_to_its_file",
    "begin_file",
    "closes_files",
    "drop_file",
    "end_of_file",
    "ends_named_file",
    "file_named",
    "has_file_open",
    "insert_record",
    "keeps_its_file",
    "may_roll",
    "may_write_over",
    "moves_files",
    "names_files",
    "next_to_append",
    "no_file_is_open",
    "opens_last_named_before",
    "roll_log",
    "rolls_anywhere",
    "rolls_never",
    "write_over",
    "writes_over",
    "writes_over_none",
]


# --- where files begin and end ------------------------------------------------------------------------


def names_files(s: State) -> bool:
    """Whether each file of the log has a name of its own (`log-files`)."""
    return False


def closes_files(s: State) -> bool:
    return True


def rolls_never(s: State) -> bool:
    return False


def no_file_is_open(s: State, p: Node) -> bool:
    """Whether the next append begins a file."""
    count = len(s.log[p])
    return count == 0 or count in s.files[p]


def end_of_file(s: State, p: Node) -> int:
    """Where the open file ends: of one that is not the last, before the end of the log."""
    count = len(s.files[p])
    for k in range(len(s.files[p])):
        if k < count - 1 and s.files[p][k] == s.files[p][count - 1]:
            return s.files[p][k]
    return len(s.log[p])


def file_named(s: State, p: Node, zxid: int) -> int:
    """Return where the file of that name begins; the length of the log if there is no such file."""
    if len(s.log[p]) > 0 and s.log[p][0] == zxid:
        return 0
    for at in s.files[p]:
        if at < len(s.log[p]) and s.log[p][at] == zxid:
            return at
    return len(s.log[p])


def ends_named_file(s: State, p: Node) -> None:
    """No file is open any more: a start, FileTxnSnapLog.truncateLog, FileTxnSnapLog.rollLog. A file of which nothing is
    left is none."""
    if end_of_file(s, p) < len(s.log[p]):
        s.files[p].pop()
    count = len(s.log[p])
    for _ in range(len(s.files[p])):
        at = s.files[p][0]
        s.files[p].pop(0)
        if at < count:
            s.files[p].append(at)
    if count > 0:
        s.files[p].append(count)


def moves_files(s: State, p: Node, at: int, by: int) -> None:
    """All that begins, or ends, from there on."""
    for _ in range(len(s.files[p])):
        old = s.files[p][0]
        s.files[p].pop(0)
        s.files[p].append(old + by if old >= at else old)


# --- FileTxnLog.append --------------------------------------------------------------------------------


def appends_to_its_file(s: State, p: Node, zxid: int) -> None:
    """FileTxnLog.append: at the end of the open file. Where none is open it begins one, and a file of its name is
    written over."""
    if no_file_is_open(s, p):
        drop_file(s, p, zxid)
        begin_file(s, p, zxid)
    else:
        end = end_of_file(s, p)
        if end < len(s.log[p]):
            moves_files(s, p, end, 1)
        insert_record(s, p, end, zxid)


def keeps_its_file(s: State, p: Node, zxid: int) -> None:
    """Proposed here: where FileTxnLog.append would begin a file, and there is one of that name with a record, it
    appends nothing: that record is the transaction. No file is open after it, so the next one begins a file."""
    if not no_file_is_open(s, p) or file_named(s, p, zxid) == len(s.log[p]):
        appends_to_its_file(s, p, zxid)


def drop_file(s: State, p: Node, zxid: int) -> None:
    """A FileOutputStream that does not append: nothing is left of a file of that name. None is open then."""
    begin = file_named(s, p, zxid)
    count = len(s.log[p])
    if begin < count:
        end = count
        for at in s.files[p]:
            if at > begin:
                end = min(end, at)
        for k in range(len(s.log[p])):
            if k < end - begin:
                s.log[p].pop(begin)
        moves_files(s, p, end, begin - end)
        ends_at = 0
        for _ in range(len(s.files[p])):  # two begin at one place now, or the next one is the first
            at = s.files[p][0]
            s.files[p].pop(0)
            if at > ends_at:
                s.files[p].append(at)
                ends_at = at


def begin_file(s: State, p: Node, zxid: int) -> None:
    """A file with one record, at its place among the names, which is open."""
    count = len(s.log[p])
    place = count
    if count > 0 and s.log[p][0] > zxid:
        place = 0
    for k in range(len(s.files[p])):
        at = s.files[p][k]
        if at < count and at < place and s.log[p][at] > zxid:
            place = at
    if place < count:
        s.files[p].pop()
        moves_files(s, p, place, 1)
        begins = max(place, 1)  # the first one begins at 0, which is not said
        for _ in range(len(s.files[p])):
            at = s.files[p][0]
            s.files[p].pop(0)
            if begins > 0 and at > begins:
                s.files[p].append(begins)
                begins = 0
            s.files[p].append(at)
        if begins > 0:
            s.files[p].append(begins)
        s.files[p].append(place + 1)
    insert_record(s, p, place, zxid)


def insert_record(s: State, p: Node, place: int, zxid: int) -> None:
    """Before what stands there."""
    behind = len(s.log[p]) - place
    s.log[p].append(zxid)
    for k in range(len(s.log[p])):
        if k < behind:
            other = s.log[p][place]
            s.log[p].pop(place)
            s.log[p].append(other)


# --- FileTxnIterator ----------------------------------------------------------------------------------


def opens_last_named_before(s: State, p: Node, zxid: int) -> int:
    """FileTxnIterator.init: the last file that is named before, or the first."""
    begin = 0
    for at in s.files[p]:
        if at < len(s.log[p]) and s.log[p][at] < zxid:
            begin = max(begin, at)
    return begin


# --- steps --------------------------------------------------------------------------------------------


def next_to_append(s: State, p: Node) -> int:
    """The transaction that a thread of p appends next; 0: there is none. Of a learner's main thread from the first
    proposal of the synchronization on: that it is at NEWLEADER, of which nobody else sees the receipt, is more than is
    asked here, and that the term may end between the opening and the append, more than servers do."""
    if len(s.stale_queue[p]) > 0 and s.stale_queue[p][0] != 0:
        return s.stale_queue[p][0]
    if len(s.sync_queue[p]) > 0:
        return s.sync_queue[p][0]
    if s.phase[p] <= TO_PERSIST and len(s.not_logged[p]) > 0:
        return s.not_logged[p][0]
    return 0


def has_file_open(s: State, p: Node) -> bool:
    """Whether a start, or a TRUNC, makes a difference to the files."""
    return not no_file_is_open(s, p)


def rolls_anywhere(s: State) -> bool:
    """Whether a file may end behind any record."""
    return names_files(s)


def may_roll(s: State, p: Node) -> bool:
    """Where nothing is appended next it makes no difference."""
    return rolls_anywhere(s) and next_to_append(s, p) != 0 and not no_file_is_open(s, p)


@action(when=may_roll, name="log is rolled")
def roll_log(s: State, p: Node) -> None:
    """FileTxnSnapLog.rollLog, behind any record."""
    end_file(s, p)


def writes_over(s: State) -> bool:
    """Whether a file of the name is written over (`log-kept`: not)."""
    return names_files(s)


def writes_over_none(s: State) -> bool:
    return False


def may_write_over(s: State, p: Node) -> bool:
    zxid = next_to_append(s, p)
    over = zxid != 0 and no_file_is_open(s, p) and file_named(s, p, zxid) < len(s.log[p])
    return writes_over(s) and over


@action(when=may_write_over, name="log file is opened over another")
def write_over(s: State, p: Node) -> None:
    """FileTxnLog.append: the file is opened, and nothing is forced yet. A crash between leaves what it is now; so does
    an append that fails."""
    drop_file(s, p, next_to_append(s, p))


LOG_FILES = (
    Variant(
        "log-files",
        "files of the log have names: what is logged again may write over one, and a start reads them in their order",
        {
            "append_to_log": appends_to_its_file,
            "opens_at": opens_last_named_before,
            "move_files": moves_files,
            "end_file": ends_named_file,
            "close_file": ends_named_file,
            "ends_a_file": has_file_open,
            "names_files": closes_files,
        },
    ),
    Variant(
        "rolls",
        "with log-files: a file ends behind each transaction that a sync thread logs, and nowhere else while one runs",
        {"roll_behind": ends_named_file, "rolls_anywhere": rolls_never},
        needs=("log-files",),
    ),
)

LOG_FILES_REPAIRS = (
    Variant(
        "log-kept",
        "a file of the log that has the transaction is not written over",
        {"append_to_log": keeps_its_file, "writes_over": writes_over_none},
        over=("log-files",),
        repairs=True,
        needs=("log-files",),
    ),
)
