"""Decide whether a release's protocol explains a record, and which properties the explaining run violates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from invariants import properties_of
from invariants.registry import STEP, keeps
from traces.zookeeper.conform.quick import Quick
from traces.zookeeper.conform.record import Observation, Record
from traces.zookeeper.conform.search import UNSEEN, Asides, Failure, RecordSearch, TooMany, zxids_of
from traces.zookeeper.conform.unbounded import Msg, ReleaseProtocol, Unbounded
from traces.zookeeper.conform.why import why_not
from zabspec.limits import Deadline
from zabspec.worlds.connections import OPEN
from zabspec.zookeeper.state import PHASES

EXPLAINED, NOT_EXPLAINED, UNKNOWN = "EXPLAINED", "NOT EXPLAINED", "UNKNOWN"
MOST_EPOCHS, MOST_COUNTER = 200, 100_000
FINE = "transfer"  # of variants, that in which a transfer is two steps
MOMENTS = ("closed", "killed", "starts")  # behind which properties are asked of the explaining run


@dataclass
class Conformed:
    """The result of checking a record against the model of a release.

    Attributes:
        verdict: EXPLAINED only if the record is whole, and a run of the model that was replayed step by step sends each
            of its packets.
        explained: the number of observations, of `total`, that a run explains.
        at: the first observation that nothing explains. reasons: why not, nearest first. why: the reason for UNKNOWN.
        unjudged: packets to an end that was closed, which the model does not send.
        steps: the steps of the explaining run; `states`: the number of states visited; `widest`: the most states that
            explain one prefix.
        syncs: how learners were synchronized, by kind. elections: the number of elections in which a leader's epoch was
            seen.
        broken: the properties that the explaining run violates, each with the line that does it.
        lost: writes that were acknowledged to clients and are not served in the end.
    """

    verdict: str = UNKNOWN
    explained: int = 0
    total: int = 0
    at: Observation | None = None
    reasons: list[str] = field(default_factory=list)
    why: str = ""
    unjudged: int = 0
    steps: int = 0
    states: int = 0
    widest: int = 0
    seconds: float = 0.0
    packets: int = 0
    elections: int = 0
    syncs: dict[str, int] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    judged: int = 0
    lost: list[str] = field(default_factory=list)


def conformed(
    record: Record, variant: str, limit: float = 0.0, say: Callable[[int, int], None] = lambda *_: None
) -> Conformed:
    """Search for a run of a release's protocol that explains a record.

    Args:
        variant: the release, as the protocol calls it, and other variants with commas.
        limit: seconds that it may take; 0 for no limit.
    """
    began, end = time.process_time(), Deadline(limit) if limit else None
    out = Conformed(total=len(record.observations), lost=lost_writes(record))
    packets = [o for o in record.observations if o.what == "packet"]
    out.packets = len(packets)
    out.syncs = dict(Counter(o.kind for o in packets if o.kind in ("DIFF", "TRUNC", "SNAP")))
    out.elections = len({o.zxid >> 32 for o in packets if o.kind == "NEWLEADER"})
    if (why := no_room(record)) is not None:
        out.why = why
        return out
    text, early = text_of(record, variant), unanswered_acks(record)
    search, failure = searched(record, text, out, end, say, early)
    if failure is not None:
        out.verdict, out.at = NOT_EXPLAINED, failure.observation
        out.reasons = reasons(search, failure)
    elif not out.why:
        told(search, record, text, out)
    out.seconds = time.process_time() - began
    return out


def searched(
    record: Record, text: ReleaseProtocol, out: Conformed, end: Deadline | None, say: Callable[[int, int], None],
    early: Mapping[int, str],
) -> tuple[RecordSearch, Failure | None]:  # fmt: skip
    """Run a quick search, and the widest if it explains nothing; return the last search and its failure.

    The quick one loses states, and its failure means nothing.

    Args:
        early: lines that nothing explains, whatever the protocol does, with the reasons.
    """
    quick = Quick(record, text)
    failure = one_search(quick, record, out, end, say, early)
    if failure is None and (not out.why or (end is not None and end.over())):
        return quick, None
    search = RecordSearch(record, text)
    return search, one_search(search, record, out, end, say, early)


def one_search(
    search: RecordSearch, record: Record, out: Conformed, end: Deadline | None, say: Callable[[int, int], None],
    early: Mapping[int, str],
) -> Failure | None:  # fmt: skip
    """Run one search to its end; return its failure, or None with `out.why` if it was not finished."""
    failure = None
    out.why = ""
    try:
        failure = gone_through(search, record, out, end, say, early)
    except TooMany as problem:
        out.why = str(problem)
    out.unjudged, out.widest = len(search.unjudged), search.widest
    out.states += search.looked
    return failure


def unanswered_acks(record: Record) -> dict[int, str]:
    """Return, by line, the ACKs of proposals behind UPTODATE that precede the ACK of UPTODATE itself.

    A learner sends the ACK of UPTODATE before it reads any further; the protocol leaves it out (`Asides`).
    """
    asides = Asides()
    behind: dict[int, set[int]] = {}
    out = {}
    for o in record.observations:
        if o.what != "packet":
            continue
        if o.connection not in asides.epochs:
            pass  # without a LEADERINFO, which the search refuses
        elif o.connection in asides.awaited and o.kind == "PROPOSAL" and not o.up:
            behind.setdefault(o.connection, set()).add(o.zxid)
        elif o.connection in asides.awaited and o.kind == "ACK" and o.zxid in behind.get(o.connection, set()):
            out[o.number] = f"the ACK {asides.epochs[o.connection] << 32:#x} that answers UPTODATE comes before that"
        asides.passes(o)
    return out


def gone_through(
    search: RecordSearch, record: Record, out: Conformed, end: Deadline | None, say: Callable[[int, int], None],
    early: Mapping[int, str],
) -> Failure | None:  # fmt: skip
    """See all observations, or those up to the first that nothing explains; return that failure, or None."""
    for k, o in enumerate(record.observations):
        if end is not None and end.over():
            out.why = f"the time is over at line {o.number}"
            return None
        say(k, out.total)
        if o.number in early:
            return Failure(o, states=[n.state for n in search.nodes], beforehand=early[o.number])
        if (failure := search.see(o, k)) is not None:
            return failure
        out.explained = k + 1
    return None


def told(search: RecordSearch, record: Record, text: ReleaseProtocol, out: Conformed) -> None:
    """Replay one run that explains the whole record, and store the verdict or why there is none."""
    node = search.nodes[0]
    words = node.run()
    out.steps = len(words)
    replay = Replay(record, text, search.unjudged)
    if (wrong := replay.run(node.run_by_observation(), out)) is not None:
        out.why = f"the run that was found is not a run of the model: {wrong}"
    elif replay.ends_otherwise(node.state):
        out.why = "the run that was found ends differently when it is rerun"
    elif not record.whole:
        out.why = "the record has no end: all of the rest is explained"
    elif not {o.server for o in record.observations if o.what == "disk"} >= set(record.servers):
        out.why = "the record lacks the final contents of some disk"
    elif any(o.what == "answered" and o.outcome == "acknowledged" for o in record.observations) and not {
        o.server for o in record.observations if o.what == "served"
    } >= set(record.servers):
        out.why = "the record lacks what some server finally serves"
    else:
        out.verdict = EXPLAINED


def no_room(record: Record) -> str | None:
    """Return why a record cannot be searched, or None."""
    zxids = [z for o in record.observations for z in zxids_of(o)]
    if not record.observations:
        return "the record is empty"
    unread = next((o for o in record.observations if o.what == "unread"), None)
    if unread is not None:
        return f"line {unread.number}: connection {unread.connection} was not read: {unread.message}"
    if max((z >> 32 for z in zxids), default=0) > MOST_EPOCHS:
        return f"it has epochs above {MOST_EPOCHS}"
    if max((z & 0xFFFFFFFF for z in zxids), default=0) > MOST_COUNTER:
        return f"it has more than {MOST_COUNTER:,} transactions of one epoch"
    if len(record.servers) > 5:
        return f"there are {len(record.servers)} servers, but at most 5 are supported"
    return None


def text_of(record: Record, variant: str) -> ReleaseProtocol:
    """Return the protocol of a release, with room for a record, and transfers in the two steps that servers take."""
    zxids = [z for o in record.observations for z in zxids_of(o)]
    epochs = max((z >> 32 for z in zxids), default=0) + 2
    width = max((z & 0xFFFFFFFF for z in zxids), default=0) + 4
    names = [name for name in variant.split(",") if name]
    return text_with(",".join([*names, *([] if FINE in names else [FINE])]), len(record.servers), epochs, width)


@lru_cache(maxsize=4)
def text_with(variant: str, n: int, epochs: int, width: int) -> ReleaseProtocol:
    """Return the protocol of a release with the given room, and with the search's fields of connections."""
    return ReleaseProtocol(variant, n, epochs, width, {"unseen_up": (n, n), "unseen_down": (n,), "connection": (n, n)})


class Replay:
    """Takes a run again with the protocol's `enabled` and `apply`, and compares its packets with the record.

    This is independent of the search: a step that is not possible, or a packet that is not sent, is detected here.
    """

    def __init__(self, record: Record, text: ReleaseProtocol, unjudged: set[int]) -> None:
        self.record, self.text, self.unjudged = record, text, unjudged
        self.state = text.begin()
        self.sent: dict[tuple[int, int], list[tuple[list[Msg], list[Msg]]]] = {}
        self.properties = [p for p in properties_of("zookeeper") if p.of != STEP]
        self.disks: dict[tuple[object, ...], int] = {}

    def run(self, words: list[tuple[int, tuple[int, ...]]], out: Conformed) -> str | None:
        """Replay a run; return what is wrong with it, or None.

        Args:
            words: for each observation, its position and the steps that lead up to it.
            out: receives the violated properties.
        """
        text, room = self.text, [0] * (4 * self.text.most_steps + 1)
        keys = [text.key(name) for name in ("send_to_leader", "send_to_follower", "on_disk")]
        before = {key: text.names[key] for key in keys}
        text.names[keys[0]] = self.listening(before[keys[0]], True)
        text.names[keys[1]] = self.listening(before[keys[1]], False)
        text.names[keys[2]] = self.remembering(before[keys[2]])
        try:
            for k, steps in words:
                for word in steps:
                    text["enabled"](self.state, room)
                    if word not in room[1 : room[0] + 1]:
                        return f"step {word:#x} before line {self.record.observations[k].number} is not possible"
                    text["apply"](self.state, word)
                o = self.record.observations[k]
                if o.what in MOMENTS or (o.what == "packet" and o.kind == "UPTODATE"):
                    self.judge(o, out)
            self.judge(self.record.observations[-1], out)
        finally:
            text.names.update(before)
        return self.not_sent()

    def ends_otherwise(self, s: Unbounded) -> bool:
        """Return whether the run ends in another state than the one that the search compared with the disks."""
        own = self.text.places["unseen_up"].base  # behind it lies what the search alone keeps
        return self.state.slots[:own] != s.slots[:own]

    def listening(self, send: Callable[..., None], up: bool) -> Callable[..., None]:
        """Wrap the world's sending function so that it also keeps what is sent over an open connection."""

        def sends_up(s: Unbounded, f: int, m: Msg) -> None:
            l = s.leader[f]
            if s.link[f][l] == OPEN and m.kind.name != UNSEEN:
                self.of(s, f, l, m.kind.name == "FOLLOWERINFO")[0].append(m)
            send(s, f, m)

        def sends_down(s: Unbounded, l: int, f: int, m: Msg) -> None:
            if s.link[f][l] == OPEN:
                self.of(s, f, l, False)[1].append(m)
            send(s, l, f, m)

        return sends_up if up else sends_down

    def of(self, s: Unbounded, f: int, l: int, begins: bool) -> tuple[list[Msg], list[Msg]]:
        """Return what was sent over the newest connection of two servers: to the leader, and to the follower."""
        all_of = self.sent.setdefault((f, l), [])
        if begins:
            all_of.append(([], []))
        return all_of[-1]

    def remembering(self, on_disk: Callable[[Unbounded, int], int]) -> Callable[[Unbounded, int], int]:
        """Wrap `on_disk` with a cache, since its result depends on the disk alone."""
        places = [self.text.places[name].base for name in ("log", "snapshot_names", "snapshot_trees")]

        def remembered(s: Unbounded, p: int) -> int:
            key = tuple(s.slots[at + p] for at in places)
            if key not in self.disks:
                self.disks[key] = on_disk(s, p)
            return self.disks[key]

        return remembered

    def judge(self, o: Observation, out: Conformed) -> None:
        """Check the properties of the state."""
        out.judged += 1
        for p in self.properties:
            if p.name not in out.broken and not keeps(p, self.text.names, self.state):
                out.broken[p.name] = o.number

    def not_sent(self) -> str | None:
        """Describe the first packet of the record that the run does not send in its place; None if all are sent."""
        index = {server: p for p, server in enumerate(self.record.servers)}
        at: dict[int, tuple[tuple[list[Msg], list[Msg]], list[int]]] = {}
        count: Counter[tuple[int, int]] = Counter()
        asides = Asides()
        for o in self.record.observations:
            if o.what != "packet":
                continue
            aside = asides.has(o)
            asides.passes(o)
            if aside:
                continue
            pair = index[o.follower], index[o.leader]
            if o.connection not in at:
                if o.kind != "FOLLOWERINFO" or count[pair] >= len(self.sent.get(pair, [])):
                    return f"line {o.number}, {o.told()}: it has no such connection"
                at[o.connection] = self.sent[pair][count[pair]], [0, 0]
                count[pair] += 1
            sent, places = at[o.connection]
            way = 0 if o.up else 1
            if places[way] < len(sent[way]):
                m = sent[way][places[way]]
                if m.kind.name != o.kind or not self.same(m, o):
                    return f"line {o.number}, {o.told()}: it sends {m.kind.name} there"
                places[way] += 1
            elif o.number not in self.unjudged:
                return f"line {o.number}, {o.told()}: it does not send that"
        return None

    def same(self, m: Msg, o: Observation) -> bool:
        """Return whether the numbers of a message and a packet are the same."""
        zxid = m.get("zxid")
        if zxid is None:
            epoch = m.get("epoch") if o.kind == "LEADERINFO" else m.get("accepted")
            return epoch is None or epoch == o.zxid >> 32
        return bool(divmod(zxid, self.text.width) == divmod(o.zxid, 1 << 32))


def reasons(search: RecordSearch, failure: Failure) -> list[str]:
    """Return what the protocol could have done in place of an observation, and why it cannot do what was seen."""
    if failure.beforehand:
        return [failure.beforehand]
    out = [f"instead the model has {said}" for said in sorted(failure.instead)[:5]]
    if len(failure.instead) > 5:
        out.append(f"and {len(failure.instead) - 5} others")
    found = Counter(why for s in failure.states for why in why_not(search, s, failure.observation))
    count = len(failure.states)
    for why, times in found.most_common(5):
        out.append(why if times == count else f"{why} (in {times} of {count} states that explain what is before)")
    if not out:
        s = failure.states[0]
        where = [
            f"server {n}: {PHASES[s.phase[p]]}, epoch {s.term[p]}" for p, n in enumerate(search.record.servers)
        ]  # fmt: skip
        out.append("; ".join(where))
    return out


def lost_writes(record: Record) -> list[str]:
    """Return the contradictions between the clients' answers and what the servers serve in the end."""
    answers = [(o.path, o.outcome) for o in record.observations if o.what == "answered"]
    told = dict(answers) | {path: said for path, said in answers if said == "acknowledged"}
    served = {o.server: set(o.paths) for o in record.observations if o.what == "served"}
    unasked = dict.fromkeys(sorted({p for paths in served.values() for p in paths} - told.keys()), "nobody wrote it")
    out = []
    for path, outcome in (told | unasked).items():
        without = sorted(n for n, paths in served.items() if path not in paths)
        if outcome == "acknowledged" and without:
            out.append(f"{path} was acknowledged, and is not served by {', '.join(f'server {n}' for n in without)}")
        elif without and len(without) < len(served):
            out.append(f"{path} ({outcome}) is served by some servers, and not by {', '.join(map(str, without))}")
    return out
