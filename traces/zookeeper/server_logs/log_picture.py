"""Draw what text logs contain as a picture of a trace: a lane per server, a row per line that reports a phase.

Proposals and commits between two such lines are a row per server. The lines that a broken condition names have rows of
their own. A synchronization is an arrow where both ends name the same zxid; what only one log contains has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traces.explain.flights import Fate, Flight
from traces.pictures.picture import Arrow, Mark, Picture, Row, Stretch
from traces.record.trace import Transmission
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.server_logs.log_lines import ServerLine
from traces.zookeeper.server_logs.text_logs import BrokenCondition, TextHistory, phase_text

MOST_ROWS = 300
NEAR = 10  # rows on either side of one that is named
TALLIED = ("proposes", "commits")
ROLES = {
    "is looking": "LOOKING", "looks": "LOOKING", "leads": "LEADING", "serves": "LEADING", "follows": "FOLLOWING",
    "starts": "", "starts up": "", "binds": "",
}  # fmt: skip
FIELDS = {
    "role": "its role by its log", "epoch": "the last epoch that it has joined by its log",
    "proposed": "the last transaction that it proposed by its log", "committed": "and the last that it committed",
}  # fmt: skip


@dataclass
class Item:
    """A future row of the picture: a line, or proposals or commits of one server with no other line between.

    Attributes:
        told: the sentences of the conditions that it violates, because of which it is drawn in any case.
    """

    events: list[ServerLine]
    told: list[str] = field(default_factory=list)

    @property
    def last(self) -> ServerLine:
        return self.events[-1]


@dataclass(frozen=True)
class LogPicture:
    """A picture of text logs, and the values to show beside it.

    Attributes:
        values: for each of `FIELDS` and each lane the values, each with the row from which on it holds.
    """

    picture: Picture
    values: dict[str, list[list[tuple[int, str]]]]


def items_of(history: TextHistory, broken: Sequence[BrokenCondition]) -> list[Item]:
    """Return every candidate row, in order of time."""
    named: dict[tuple[str, int], list[str]] = {}
    for b in broken:
        for e in b.lines:
            named.setdefault((e.file, e.number), []).append(b.sentence)
    out: list[Item] = []
    open_: dict[tuple[int, str], Item] = {}
    for e in history.events:
        told = named.get((e.file, e.number), [])
        if e.kind in TALLIED and not told:
            item = open_.get((e.server, e.kind))
            if item is None:
                item = open_[e.server, e.kind] = Item([])
                out.append(item)
            item.events.append(e)
        else:
            open_.clear()
            out.append(Item([e], told))
    return out


def shown(items: list[Item]) -> list[Item | int]:
    """Return the rows to draw, and between them the counts of omitted rows.

    Rows are kept that are named by a condition or near such a row, then the last ones.
    """
    if len(items) <= MOST_ROWS:
        return [*items]
    keep: set[int] = set()
    for n in (n for n, item in enumerate(items) if item.told):
        near = set(range(max(0, n - NEAR), min(len(items), n + NEAR + 1)))
        if len(keep | near) <= MOST_ROWS:
            keep |= near
    for n in reversed(range(len(items))):
        if len(keep) >= MOST_ROWS:
            break
        keep.add(n)
    out: list[Item | int] = []
    for n, item in enumerate(items):
        if n in keep:
            out.append(item)
        elif out and isinstance(out[-1], int):
            out[-1] += 1
        else:
            out.append(1)
    return out


def picture_of_logs(history: TextHistory, broken: Sequence[BrokenCondition], tool: str) -> LogPicture:
    """Return the picture of text logs.

    Args:
        history: the logs.
        broken: the conditions that lines break; the first is shown above the picture.
        tool: the version of zabcheck.
    """
    items = items_of(history, broken)
    servers = sorted(history.servers)
    drawing = Drawing({server: k for k, server in enumerate(servers)})
    left_out = 0
    for item in shown(items):
        if isinstance(item, int):
            left_out += item
            drawing.rows.append(gap(len(drawing.rows) + 1, item))
        else:
            drawing.add(item)
    count = len(drawing.rows)
    more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
    size = f"{len(servers)} servers, {len(history.phases):,} phases, {history.proposals:,} proposals, "
    size += f"{history.commits:,} commits" + (f"; {left_out:,} rows left out" if left_out else "")
    picture = Picture(
        f"{broken[0].rule}: broken" if broken else "What the logs show",
        broken[0].sentence + more if broken else "", "", "", size, (),
        tuple(f"server {n}" for n in servers), tuple(drawing.stretches(count)), tuple(drawing.rows),
        tuple(drawing.arrows), "epoch", "role", tool,
    )  # fmt: skip
    return LogPicture(picture, drawing.values)


def gap(number: int, count: int) -> Row:
    """Return a row that stands for omitted rows."""
    said = f"{count:,} rows are omitted"
    return Row(number, (), said, "", False, (), (), False, (said,))


class Drawing:
    """Collects the rows of a picture.

    Args:
        lanes: of each server.
    """

    def __init__(self, lanes: dict[int, int]) -> None:
        self.lanes = lanes
        self.rows: list[Row] = []
        self.arrows: list[Arrow] = []
        self.values: dict[str, list[list[tuple[int, str]]]] = {name: [[(0, "")] for _ in lanes] for name in FIELDS}
        self.sent: list[tuple[str, int, int, int, int]] = []  # kind of sync, zxid, target (-1 if unknown), lane, row

    def add(self, item: Item) -> None:
        """Add a row."""
        e, number = item.last, len(self.rows) + 1
        lane = self.lanes[e.server]
        headline, label, mark = said_of(item, lane)
        places = [e.place] if len(item.events) == 1 else [f"{item.events[0].place} to {e.place}"]
        marks = (mark,) if mark is not None else ()
        headline = f"{e.time[:23]} {headline} ({places[0]})".lstrip()
        label = f"{e.time[11:19]} {label}".strip()
        self.rows.append(Row(number, (lane,), headline, label, False, marks, tuple(item.told), False, tuple(places)))
        self.note(item, lane, number)
        if e.kind.startswith("sends "):
            self.sent.append((e.kind[6:], e.value, e.learner or -1, lane, number))
        elif e.kind.startswith("got "):
            self.arrive(e.kind[4:], e, lane, number)

    def note(self, item: Item, lane: int, number: int) -> None:
        """Record what a server's log says about the server from this row on."""
        e = item.last
        role = e.phase.split()[0].upper() if e.kind == "phase" else ROLES.get(e.kind)
        if role is not None:
            self.put("role", lane, number, role)
        if e.kind in TALLIED:
            self.put("proposed" if e.kind == "proposes" else "committed", lane, number, zxid_text(e.value))
        if e.kind in ("serves", *TALLIED):
            self.put("epoch", lane, number, str(e.value >> 32))
        elif e.kind == "epoch":
            self.put("epoch", lane, number, str(e.value))

    def put(self, name: str, lane: int, number: int, value: str) -> None:
        cell = self.values[name][lane]
        if cell[-1][1] != value:
            cell.append((number, value))

    def arrive(self, what: str, e: ServerLine, lane: int, number: int) -> None:
        """Add an arrow to a follower from the one leader whose log says that it sent this, if it is unique."""
        own = (lane, e.server)
        found = [s for s in self.sent if s[:2] == (what, e.value) and s[2] in (-1, own[1]) and s[3] != lane]
        if len({s[3] for s in found}) != 1:
            return
        sync = found[-1]
        self.sent.remove(sync)
        message = Transmission(what, {"zxid": zxid_text(e.value)}, sync[3], lane, 0, 0)
        text = f"{what} to {zxid_text(e.value)}"
        flight = Flight(message, sync[4], number, Fate.RECEIVED)
        self.arrows.append(Arrow(flight, what, text, e.value >> 32 or None, bool(self.rows[-1].events)))

    def stretches(self, count: int) -> Iterator[Stretch]:
        """Yield the stretches of the lanes with constant role and epoch."""
        for lane in range(len(self.lanes)):
            changes = sorted({n for name in ("role", "epoch") for n, _ in self.values[name][lane]})
            for start, end in zip(changes, [*changes[1:], count + 1], strict=True):
                role, epoch = (self.at(name, lane, start) for name in ("role", "epoch"))
                yield Stretch(lane, start, end, role, int(epoch) if epoch else None, False)

    def at(self, name: str, lane: int, number: int) -> str:
        return [value for n, value in self.values[name][lane] if n <= number][-1]


def said_of(item: Item, lane: int) -> tuple[str, str, Mark | None]:
    """Return a row's headline, its label beside the lane, and its mark."""
    e, first = item.last, item.events[0]
    named = bool(item.told)
    if e.kind in TALLIED:
        verb, what = e.kind, "abcast" if e.kind == "proposes" else "deliver"
        zxids = zxid_text(first.value)
        if len(item.events) > 1:
            zxids += f" to {zxid_text(e.value)} ({len(item.events):,})"
        return f"server {e.server}: {verb} {zxids}", "", Mark(what, lane, f"{verb} {zxids}", named)
    headline = phase_text(e)
    label = headline.partition(": ")[2]
    if e.kind == "serves":
        text = f"is the established leader of epoch {e.value >> 32}"
        return headline, "", Mark("establish", lane, text, named)
    return headline, label, None


def page_of_logs(drawn: LogPicture, verdict: str) -> str:
    """Return the page to walk through, which begins with the verdict."""
    from traces.pictures.html import rendered, walked
    from traces.pictures.states import Kept

    picture = drawn.picture
    steps = [
        {
            "number": row.number, "headline": row.headline, "named": row.named, "events": row.events,
            "changes": (*row.events, *row.changes), "tabled": (), "words": [], "message": "",
        }
        for row in picture.rows
    ]  # fmt: skip
    fields = [Kept(name, doc, "process", "process", tuple(drawn.values[name])) for name, doc in FIELDS.items()]
    return rendered(walked(picture, steps, fields), first=verdict)
