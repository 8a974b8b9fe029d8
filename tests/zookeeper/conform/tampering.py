"""A record of real servers, and thirty-seven ways to tamper with it, each with the line that nothing explains."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

Line = dict[str, Any]
SAMPLE = Path(__file__).parents[2] / "data" / "conform-3.9.5.jsonl.xz"


TRUNC, COMES_BACK = "conform-trunc.jsonl.xz", "conform-comes-back.jsonl.xz"


def sample(name: str = SAMPLE.name) -> list[Line]:
    """The lines of the record: three servers of 3.9.5, a follower and then the leader killed and started."""
    return [json.loads(line) for line in lzma.decompress(SAMPLE.with_name(name).read_bytes()).decode().splitlines()]


def put(path: Path, lines: list[Line]) -> Path:
    """Write lines as a record whose last line counts them rightly."""
    lines = [dict(x) for x in lines]
    if lines[-1]["what"] == "end":
        lines[-1]["observations"] = len(lines) - 2
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    return path


def where(lines: list[Line], count: int = 0, **wanted: Any) -> int:
    """The place of a packet that is like that; `count`: so many of them are passed over."""
    found = [k for k, x in enumerate(lines) if all(x.get(name) == value for name, value in wanted.items())]
    return found[count]


def proposed(lines: list[Line]) -> int:
    """A zxid that the first leader proposes to both followers while all serve."""
    zxids: list[int] = [x["zxid"] for x in lines if x.get("kind") == "PROPOSAL"]
    return sorted(set(zxids))[2]


def dropped(lines: list[Line], k: int) -> None:
    del lines[k]


def moved(lines: list[Line], k: int, to: int) -> None:
    lines.insert(to, lines.pop(k))


def first_of_epoch(lines: list[Line], kind: str, epoch: int = 1) -> int:
    return next(k for k, x in enumerate(lines) if x.get("kind") == kind and x["zxid"] >> 32 == epoch)


def of_connection(lines: list[Line], k: int, kind: str, behind: int) -> int:
    """The next packet of a kind on the same connection."""
    c = lines[k]["connection"]
    return next(
        j for j in range(behind, len(lines)) if lines[j].get("connection") == c and lines[j].get("kind") == kind
    )


# Each changes the lines, and says at which place in them nothing goes on.


def commit_dropped(x: list[Line]) -> int:
    k = where(x, kind="COMMIT", zxid=proposed(x))
    c = x[k]["connection"]
    dropped(x, k)
    return next(j for j in range(k, len(x)) if x[j].get("connection") == c and not x[j]["up"])


def commit_twice(x: list[Line]) -> int:
    k = where(x, kind="COMMIT", zxid=proposed(x))
    x.insert(k + 1, dict(x[k]))
    return k + 1


def commit_without_quorum(x: list[Line]) -> int:
    z = proposed(x)
    for _ in range(2):
        dropped(x, where(x, kind="ACK", zxid=z))
    return where(x, kind="COMMIT", zxid=z)


def commit_early(x: list[Line]) -> int:
    z = proposed(x)
    to = where(x, kind="ACK", zxid=z)
    moved(x, where(x, kind="COMMIT", zxid=z), to)
    return to


def ack_invented(x: list[Line]) -> int:
    k = where(x, kind="ACK", zxid=proposed(x))
    x.insert(k + 1, x[k] | {"zxid": x[k]["zxid"] + 7})
    return k + 1


def ack_twice(x: list[Line]) -> int:
    k = where(x, kind="ACK", zxid=proposed(x))
    x.insert(k + 1, dict(x[k]))
    return k + 1


def ack_before_proposal(x: list[Line]) -> int:
    z = proposed(x)
    k = where(x, kind="ACK", zxid=z)
    to = where(x, kind="PROPOSAL", zxid=z, connection=x[k]["connection"])
    moved(x, k, to)
    return to


def proposal_dropped(x: list[Line]) -> int:
    k = where(x, kind="PROPOSAL", zxid=proposed(x))
    c = x[k]["connection"]
    dropped(x, k)
    return next(j for j in range(k, len(x)) if x[j].get("connection") == c)


def proposals_swapped(x: list[Line]) -> int:
    k = where(x, kind="PROPOSAL", zxid=proposed(x))
    j = of_connection(x, k, "PROPOSAL", k + 1)
    x[k]["zxid"], x[j]["zxid"] = x[j]["zxid"], x[k]["zxid"]
    return k


def proposal_skips(x: list[Line]) -> int:
    k = where(x, kind="PROPOSAL", zxid=proposed(x))
    x[k]["zxid"] += 1
    return k


def proposal_twice(x: list[Line]) -> int:
    k = where(x, kind="PROPOSAL", zxid=proposed(x))
    x.insert(k + 1, dict(x[k]))
    return k + 1


def leaderinfo_epoch(x: list[Line]) -> int:
    k = where(x, kind="LEADERINFO")
    x[k]["zxid"] += 1 << 32
    return k


def leaderinfo_dropped(x: list[Line]) -> int:
    k = where(x, 1, kind="LEADERINFO")
    behind = of_connection(x, k, "ACKEPOCH", k)
    dropped(x, k)
    return behind - 1


def newleader_epoch(x: list[Line]) -> int:
    k = where(x, kind="NEWLEADER")
    x[k]["zxid"] += 1 << 32
    return k


def newleader_dropped(x: list[Line]) -> int:
    k = where(x, kind="NEWLEADER")
    c = x[k]["connection"]
    dropped(x, k)
    return where(x, kind="ACK", connection=c)


def uptodate_early(x: list[Line]) -> int:
    k = where(x, kind="UPTODATE")
    to = where(x, kind="ACK", connection=x[k]["connection"])
    moved(x, k, to)
    return to


def diff_is_snap(x: list[Line]) -> int:
    k = where(x, kind="DIFF")
    x[k]["kind"] = "SNAP"
    return k


def diff_further(x: list[Line]) -> int:
    k = first_of_epoch(x, "DIFF")
    x[k]["zxid"] += 3
    return k


def diff_without_proposal(x: list[Line]) -> int:
    k = first_of_epoch(x, "DIFF")
    j = of_connection(x, k, "PROPOSAL", k)
    dropped(x, j)
    return j


def accepted_epoch(x: list[Line]) -> int:
    k = first_of_epoch(x, "FOLLOWERINFO")
    x[k]["zxid"] += 1 << 32
    return k


def current_epoch(x: list[Line]) -> int:
    k = first_of_epoch(x, "ACKEPOCH")
    x[k]["current"] = 0
    return k


def last_zxid(x: list[Line]) -> int:
    k = first_of_epoch(x, "ACKEPOCH")
    x[k]["zxid"] -= 1
    return k


def other_way(x: list[Line]) -> int:
    k = where(x, kind="COMMIT", zxid=proposed(x))
    x[k]["up"] = True
    return k


def connection_unknown(x: list[Line]) -> int:
    k = where(x, kind="COMMIT", zxid=proposed(x))
    x.insert(k + 1, x[k] | {"connection": 99})
    return k + 1


def connection_of_others(x: list[Line]) -> int:
    k = where(x, kind="COMMIT", zxid=proposed(x))
    x.insert(k + 1, x[k] | {"follower": x[k]["follower"] % 2 + 1})
    return k + 1


def sent_behind_its_end(x: list[Line]) -> int:
    """Both have closed it."""
    c = x[where(x, what="closed")]["connection"]
    k = where(x, 1, what="closed", connection=c)
    by = x[k]["by"]
    packets = [y for y in x[:k] if y.get("connection") == c and y["what"] == "packet"]
    sent = next(y for y in packets[::-1] if y["follower" if y["up"] else "leader"] == by)
    x.insert(k + 1, dict(sent))
    return k + 1


def second_ack(x: list[Line]) -> int:
    """The ACK(<e,0>) behind UPTODATE, which the text leaves out: there is one."""
    return where(x, 1, kind="ACK", zxid=1 << 32, connection=x[where(x, kind="UPTODATE")]["connection"])


def ack_aside_dropped(x: list[Line]) -> int:
    """It is noticed at the next ACK of that connection, which comes behind it."""
    k = second_ack(x)
    behind = of_connection(x, k, "ACK", k + 1)
    dropped(x, k)
    return behind - 1


def ack_aside_twice(x: list[Line]) -> int:
    k = second_ack(x)
    x.insert(k + 1, dict(x[k]))
    return k + 1


def ack_aside_epoch(x: list[Line]) -> int:
    k = second_ack(x)
    x[k]["zxid"] = 7 << 32
    return k


def leaderinfo_counter(x: list[Line]) -> int:
    k = where(x, kind="LEADERINFO")
    x[k]["zxid"] += 1
    return k


def uptodate_zxid(x: list[Line]) -> int:
    k = where(x, kind="UPTODATE")
    x[k]["zxid"] = 5
    return k


def start_dropped(x: list[Line]) -> int:
    k = where(x, what="starts", server=2)
    dropped(x, k)
    return where(x, kind="FOLLOWERINFO", follower=2)


def killed_another(x: list[Line]) -> int:
    k = where(x, what="killed")
    x[k]["server"] = x[k]["server"] % 3 + 1
    return k


def kill_dropped(x: list[Line]) -> int:
    k = where(x, what="killed")
    server = x[k]["server"]
    dropped(x, k)
    return next(j for j in range(k, len(x)) if x[j]["what"] == "starts" and x[j]["server"] == server)


def log_is_short(x: list[Line]) -> int:
    k = where(x, what="disk")
    x[k]["log"][-1][1] -= 1
    return k


def epoch_file(x: list[Line]) -> int:
    k = where(x, 1, what="disk")
    x[k]["current"] += 1
    return k


def snapshot_invented(x: list[Line]) -> int:
    k = where(x, 2, what="disk")
    x[k]["snapshots"] = [*x[k]["snapshots"], 4294967299]
    return k


TAMPERED: dict[str, Callable[[list[Line]], int]] = {
    f.__name__: f
    for f in (
        commit_dropped, commit_twice, commit_without_quorum, commit_early, ack_invented, ack_twice,
        ack_before_proposal, proposal_dropped, proposals_swapped, proposal_skips, proposal_twice, leaderinfo_epoch,
        newleader_epoch, newleader_dropped, uptodate_early, diff_is_snap, diff_further, diff_without_proposal,
        accepted_epoch, current_epoch, last_zxid, other_way, connection_unknown, connection_of_others,
        leaderinfo_dropped, sent_behind_its_end, ack_aside_dropped, ack_aside_twice, ack_aside_epoch,
        leaderinfo_counter, uptodate_zxid, start_dropped, killed_another, kill_dropped, log_is_short, epoch_file,
        snapshot_invented,
    )
}  # fmt: skip


def changed(lines: list[Line], k: int, **fields: Any) -> int:
    lines[k] |= fields
    return k


def of_disk(lines: list[Line], server: int, change: Callable[[Line], None]) -> int:
    k = where(lines, what="disk", server=server)
    change(lines[k])
    return k


def more_on_disk(disk: Line) -> None:
    """The tail that a TRUNC has cut."""
    disk["log"][0][1] += 3


def fewer_on_disk(disk: Line) -> None:
    """Without the write that came back."""
    disk["log"][0][1] -= 1


def with_one_more(disk: Line) -> None:
    disk["log"][0][1] += 1


def without_last_snapshot(disk: Line) -> None:
    disk["snapshots"].pop()


def without_tail(lines: list[Line]) -> int:
    """The server that returns says that it has what the others have: then nothing has to be cut."""
    k = where(lines, kind="TRUNC")
    lines[where(lines, kind="ACKEPOCH", connection=lines[k]["connection"])]["zxid"] = lines[k]["zxid"]
    return k


# The first is a leader that was not heard, was killed and gets TRUNC; the second a write that comes back, by two SNAPs.
SYNCS: dict[str, tuple[str, Callable[[list[Line]], int]]] = {
    "TRUNC to later": (TRUNC, lambda x: changed(x, k := where(x, kind="TRUNC"), zxid=x[k]["zxid"] + 1)),
    "TRUNC to earlier": (TRUNC, lambda x: changed(x, k := where(x, kind="TRUNC"), zxid=x[k]["zxid"] - 1)),
    "TRUNC called SNAP": (TRUNC, lambda x: changed(x, where(x, kind="TRUNC"), kind="SNAP")),
    "TRUNC called DIFF": (TRUNC, lambda x: changed(x, where(x, kind="TRUNC"), kind="DIFF")),
    "TRUNC without a tail": (TRUNC, without_tail),
    "a tail that was cut is on the disk": (TRUNC, lambda x: of_disk(x, 3, more_on_disk)),
    "a tail that nobody was sent is on another disk": (TRUNC, lambda x: of_disk(x, 1, more_on_disk)),
    "SNAP of another zxid": (COMES_BACK, lambda x: changed(x, where(x, kind="SNAP"), zxid=2 << 32)),
    "the second SNAP as the first": (COMES_BACK, lambda x: changed(x, where(x, 1, kind="SNAP"), zxid=4 << 32)),
    "SNAP called TRUNC": (COMES_BACK, lambda x: changed(x, where(x, kind="SNAP"), kind="TRUNC")),
    "a snapshot is missing": (COMES_BACK, lambda x: of_disk(x, 3, without_last_snapshot)),
    "the write that came back is not in the log": (COMES_BACK, lambda x: of_disk(x, 3, fewer_on_disk)),
    "the write that came back is in another log": (COMES_BACK, lambda x: of_disk(x, 2, with_one_more)),
}
