"""The replicated tree of `invariants/tree.py`, held against a judge that runs trees: it executes requests, keeps their
records, replays passes, and tries every order of the writes. Neither has a line of the other."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.symmetry import asymmetry
from invariants import PROPERTIES, property_named, tree
from invariants.registry import Property
from tests.histories import Abcast, Deliver, MadeUp, Recorder, Synthetic, Txn, Walk, model_of
from traces.record.file import read_trace
from zabspec.language.python.reference import RecordValue, StateView
from zabspec.language.python.sentences import ExplainedFalse, sentence_of
from zabspec.model import Configuration

# --- the naive judge ------------------------------------------------------------------------------

SET, CREATE = "set", "create"
REQUESTS: tuple[Any, ...] = (None, (SET, None), (CREATE,), (SET, 0), (SET, 1), (SET, 2))


@dataclass(frozen=True)
class Told:
    """A broadcast (with its instance), a delivery, or (without a transaction) the beginning of a pass.

    Attributes:
        passing: the pass of the process in which it is.
    """

    process: int
    passing: int
    txn: Txn | None = None
    instance: Any = None

    @property
    def abcast(self) -> Txn | None:
        return self.txn if self.instance is not None else None

    @property
    def delivered(self) -> Txn | None:
        return self.txn if self.instance is None else None


@dataclass
class Tree:
    """A data tree: its nodes, each with a value and a version."""

    nodes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def transaction(self, request: Any, value: int) -> tuple[dict[str, tuple[int, int]], Any]:
        """What a request comes to here: the records to put, and the answer."""
        if request is None:
            return {}, None
        if request[0] == CREATE:
            number = sum(name.startswith("/s") for name in self.nodes)
            return {f"/s{number}": (value, 0)}, number
        version = self.nodes["/a"][1] if "/a" in self.nodes else 0
        if request[1] is not None and request[1] != version:
            return {}, "refused"
        return {"/a": (value, version + 1)}, version + 1

    def put(self, records: Mapping[str, tuple[int, int]]) -> None:
        self.nodes.update(records)

    def older_than(self, other: Tree) -> bool:
        """Whether a client that saw the other finds that this one went back."""
        mine, theirs = self.nodes.get("/a", (0, 0)), other.nodes.get("/a", (0, 0))
        lost = [name for name in other.nodes if name.startswith("/s") and name not in self.nodes]
        return bool(lost) or mine[1] < theirs[1] or (mine[1] == theirs[1] and mine[0] != theirs[0])


def agree(events: Sequence[Told]) -> bool:
    """Of two passes of a process one begins the other, and none has a transaction twice."""
    passes: dict[tuple[int, int], list[Txn]] = {}
    for e in events:
        if e.delivered:
            passes.setdefault((e.process, e.passing), []).append(e.delivered)
    if any(len(set(one)) < len(one) for one in passes.values()):
        return False
    return all(
        p != q or one[: len(other)] == other[: len(one)]
        for ((p, _), one), ((q, _), other) in combinations(passes.items(), 2)
    )


def told(events: Sequence[Told]) -> bool:
    """Whether every server's tree is known: see `tree_known`."""
    known: set[Txn] = set()
    ever: dict[int, set[Txn]] = {}
    now: dict[tuple[int, int], set[Txn]] = {}
    for e in events:
        if e.delivered:
            if e.delivered not in known:
                return False
            ever.setdefault(e.process, set()).add(e.delivered)
            now.setdefault((e.process, e.passing), set()).add(e.delivered)
        elif e.abcast:
            known.add(e.abcast)
            if ever.get(e.process, set()) - now.get((e.process, e.passing), set()):
                return False
    return agree(events)


def asked(events: Sequence[Told]) -> Iterator[dict[int, Any]]:
    """All requests that at most three of the broadcasts can be of, by identity."""
    made = [e.abcast.value for e in events if e.abcast]
    for some in combinations(made, min(3, len(made))):
        for requests in product(REQUESTS, repeat=len(some)):
            yield dict.fromkeys(made) | dict(zip(some, requests, strict=True))


def explained(requests: Mapping[int, Any], answers: set[tuple[int, Any]]) -> bool:
    """Whether the requests, done once each in some order, and those without an answer perhaps not, give the answers."""
    return explains(tuple(requests.items()), frozenset(answers))


@cache
def explains(asked_for: tuple[tuple[int, Any], ...], answers: frozenset[tuple[int, Any]]) -> bool:
    """The same, of what histories have in common."""
    requests = dict(asked_for)
    must = {value for value, _ in answers}
    asking = [v for v in requests if requests[v] is not None]
    for n in range(len(asking) + 1):
        for order in permutations(asking, n):
            if must - {v for v in requests if requests[v] is None} <= set(order):
                data, given = Tree(), {}
                for v in order:
                    records, given[v] = data.transaction(requests[v], v)
                    data.put(records)
                if all(requests[v] is None or given[v] == answer for v, answer in answers):
                    return True
    return False


@dataclass
class Play:
    """A run with its trees: transactions computed by primaries, and delivered.

    Attributes:
        answers: what clients were answered.
        reads: at each moment of each server what a read there shows, in which pass, and after which zxid.
        servers: how many of these are of the last moment.
    """

    requests: Mapping[int, Any]
    answers: set[tuple[int, Any]] = field(default_factory=set)
    reads: list[tuple[int, int, tuple[int, ...], Tree]] = field(default_factory=list)
    servers: int = 0

    def run(self, events: Sequence[Told]) -> Play:
        computed: dict[Txn, Any] = {}
        now: dict[int, tuple[int, list[Txn]]] = {}
        own: dict[Any, list[Txn]] = {}
        data: dict[int, Tree] = {}
        for e in events:
            if now.get(e.process, (-1, []))[0] != e.passing:
                now[e.process] = e.passing, []
            done = now[e.process][1]
            if e.abcast:
                before = [*done, *(t for t in own.setdefault(e.instance, []) if t not in done)]
                computed[e.abcast] = self.tree(before, computed).transaction(
                    self.requests[e.abcast.value], e.abcast.value
                )
                own[e.instance].append(e.abcast)
            elif e.delivered:
                done.append(e.delivered)
                self.answers.add((e.delivered.value, computed[e.delivered][1]))
            data[e.process] = self.tree(done, computed)  # those of others are as they were
            self.servers = len(now)
            for p, (passing, has) in now.items():
                self.reads.append((p, passing, has[-1][:2] if has else (0, 0), data[p]))
        return self

    @staticmethod
    def tree(txns: Sequence[Txn], computed: Mapping[Txn, Any]) -> Tree:
        data = Tree()
        for t in txns:
            data.put(computed[t][0])
        return data


@lru_cache(maxsize=1)
def plays(events: tuple[Told, ...]) -> list[Play]:
    """What a run comes to with any requests; two judges look at it."""
    return [Play(requests).run(events) for requests in asked(events)]


def naive_writes(events: Sequence[Told]) -> bool:
    return told(events) and all(explained(play.requests, play.answers) for play in plays(tuple(events)))


def naive_reads(events: Sequence[Told]) -> bool:
    """Of a read now and any before it: at one server in one pass, or where the session is not refused."""
    if not told(events):
        return False
    for play in plays(tuple(events)):
        for q, passing, zxid, late in play.reads[-play.servers :]:
            for p, before, seen, early in play.reads:
                if ((p, before) == (q, passing) or seen <= zxid) and late.older_than(early):
                    return False
    return True


def naive_requests(events: Sequence[Told]) -> bool:
    """Servers do requests, again in every pass, over a tree that outlives passes."""
    if not told(events):
        return False
    for requests in asked(events):
        trees: dict[int, Tree] = {}
        answered: dict[tuple[int, int], Any] = {}
        for e in events:
            if e.delivered:
                data = trees.setdefault(e.process, Tree())
                value = e.delivered.value
                records, answer = data.transaction(requests[value], value)
                data.put(records)
                answered.setdefault((e.process, value), answer)
        if not explained(requests, {(value, answer) for (_, value), answer in answered.items()}):
            return False
    return True


NAIVE = {"tree-writes": naive_writes, "tree-reads": naive_reads, "tree-writes-of-requests": naive_requests}


# --- the two judges agree --------------------------------------------------------------------------


def judging(name: str) -> Property:
    return property_named(name, tree.PROPERTIES)


class Watching(Recorder):
    """Keeps what happens with the pass in which it does."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.told: list[Told] = []
        self.begun = [0] * self.nodes
        self.names["end_pass"] = self.wrapped(self.names["end_pass"], self.on_end_pass)

    def on_end_pass(self, result: None, p: int) -> None:
        self.begun[p] += 1
        self.told.append(Told(p, self.begun[p]))

    def on_abcast(self, t: RecordValue, p: int, epoch: int, counter: int) -> None:
        super().on_abcast(t, p, epoch, counter)
        e = self.events[-1]
        assert isinstance(e, Abcast)
        self.told.append(Told(p, self.begun[p], e.txn, e.instance))

    def on_abdeliver(self, result: None, p: int, t: RecordValue) -> None:
        super().on_abdeliver(result, p, t)
        e = self.events[-1]
        assert isinstance(e, Deliver)
        self.told.append(Told(p, self.begun[p], e.txn))


class Watched(Watching, Synthetic):
    """A history made up."""

    @classmethod
    def beginning(cls, txns: int) -> Watched:
        return cls(model_of(Configuration(txns=txns, max_epoch=3, timeouts=15, passes=True)))


class WatchedWalk(Watching, Walk):
    """A random walk."""


def shown(e: Told) -> str:
    """An event in a line."""
    if e.txn is None:
        return f"p{e.process} begins pass {e.passing}"
    what = "delivers" if e.instance is None else f"as {tuple(e.instance)} abcasts"
    return f"p{e.process} in pass {e.passing} {what} {tuple(e.txn)}"


class Compared:
    """Verdicts of both judges so far in a run; a property once broken stays so.

    Attributes:
        seen: which verdicts were compared.
    """

    seen: ClassVar[Counter[tuple[str, bool]]] = Counter()

    def __init__(self, run: Any) -> None:
        self.run, self.ghost, self.naive = run, dict.fromkeys(NAIVE, True), dict.fromkeys(NAIVE, True)

    def look(self) -> None:
        for name, judge in NAIVE.items():
            s: StateView = self.run.state
            result = self.run.names[judging(name).holds.__name__](s)
            assert (sentence_of(result) == "") == bool(result)
            assert not isinstance(result, ExplainedFalse) or None not in result.values, result.text
            self.ghost[name] = self.ghost[name] and bool(result)
            self.naive[name] = self.naive[name] and judge(self.run.told)
            assert self.ghost[name] == self.naive[name], (name, *map(shown, self.run.told))
            self.seen[name, self.naive[name]] += 1


def compared_history(seed: int, txns: int, length: int) -> None:
    s = Watched.beginning(txns)
    compared = Compared(s)
    for event in MadeUp(random.Random(seed), txns=txns).history(length).events:
        if isinstance(event, (Abcast, Deliver)):
            s.replay(event)
            compared.look()


@pytest.mark.slow
def test_the_judges_agree_on_histories_made_up() -> None:
    Compared.seen.clear()
    for seed in range(30):
        compared_history(seed, 3, 16)
    assert min(Compared.seen[name, verdict] for name in NAIVE for verdict in (True, False)) > 20, Compared.seen


@pytest.mark.slow
def test_the_judges_agree_where_three_of_four_write() -> None:
    Compared.seen.clear()
    for seed in range(15):
        compared_history(seed, 4, 14)
    assert min(Compared.seen[name, verdict] for name in NAIVE for verdict in (True, False)) > 2, Compared.seen


WALKED = {
    "zab": Configuration(txns=3, timeouts=3, crashes=2, losses=1, passes=True),
    "unordered": Configuration(txns=3, timeouts=3, crashes=1, losses=1, network="unordered", passes=True),
    "gap": Configuration(txns=3, timeouts=3, crashes=0, losses=2, variant="propose-to-synced-only", passes=True),
}


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("name", WALKED)
def test_the_judges_agree_on_random_runs(name: str) -> None:
    """In runs of zab no request's answer and no read goes wrong; where requests are broadcast, some do."""
    Compared.seen.clear()
    for seed in range(10 if name == "zab" else 5):
        walk = WatchedWalk(model_of(WALKED[name]), seed, faults=2.0)
        compared, known = Compared(walk), 0
        for _ in range(150):
            if not walk.step():
                break
            if len(walk.told) != known:
                known = len(walk.told)
                compared.look()
    assert Compared.seen["tree-writes", True] > 8
    if name == "zab":
        assert not Compared.seen["tree-writes", False] + Compared.seen["tree-reads", False]
        assert Compared.seen["tree-writes-of-requests", False] > 0


ENOUGH = {
    "integrity", "total-order", "agreement", "local-primary-order", "primary-integrity", "one-primary-an-epoch",
    "unique-zxid",
}  # fmt: skip


@pytest.mark.slow(seconds=4)
def test_what_is_enough_for_the_tree() -> None:
    """A history with these, now and at every moment before, keeps the tree, if primaries deliver again before they
    broadcast. In those made up the counters of an epoch grow, but for what unique-zxid refuses."""
    judges = {p.name: p.holds.__name__ for p in PROPERTIES if p.name in {*ENOUGH, "tree-writes", "tree-reads"}}
    met: Counter[tuple[bool, bool]] = Counter()
    for seed in range(150):
        s = Watched.beginning(3)
        ever = dict.fromkeys((*judges, "tree"), True)
        for event in MadeUp(random.Random(seed), txns=3).history(18).events:
            if isinstance(event, (Abcast, Deliver)):
                s.replay(event)
                ever |= {name: ever[name] and bool(s.names[judge](s.state)) for name, judge in judges.items()}
                ever["tree"] = ever["tree"] and bool(s.names["tree_known"](s.state))
        enough = ever["tree"] and all(ever[name] for name in ENOUGH)
        holds = ever["tree-writes"] and ever["tree-reads"]
        assert holds or not enough, [shown(e) for e in s.told]
        met[enough, holds] += len(s.told) > 5
    assert met[True, True] > 20
    assert met[False, False] > 20


# --- the paper's example -----------------------------------------------------------------------------


def example() -> tuple[Watched, tuple[Txn, ...]]:
    """L1 delivers w1 and issues w2 to itself; L2 takes over with w1, and proposes and delivers w3."""
    s = Watched.beginning(3)
    w1, w2 = s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, w1)
    s.deliver(1, w1)
    w3 = s.abcast(1, 2)
    s.deliver(1, w3)
    return s, (w1, w2, w3)


def verdicts(s: Watched) -> dict[str, bool]:
    return {p.name: bool(s.names[p.holds.__name__](s.state)) for p in tree.PROPERTIES}


def said(s: Watched, name: str) -> str:
    return sentence_of(s.names[judging(name).holds.__name__](s.state))


def test_the_example_holds_while_w2_stays_skipped() -> None:
    s, (w1, _, w3) = example()
    assert s.names["tree_example_made"](s.state)
    s.end_pass(0)
    s.deliver(0, w1)
    allowed = ("tree-writes-of-requests", "tree-reads-anywhere", "tree-snapshots-of-requests")
    assert verdicts(s) | dict.fromkeys(allowed, True) == dict.fromkeys(verdicts(s), True)
    s.deliver(0, w3)
    assert {name for name, holds in verdicts(s).items() if not holds} == {
        "tree-writes-of-requests", "tree-example-of-requests", "tree-reads-anywhere", "tree-snapshots-of-requests",
    }  # fmt: skip
    assert said(s, "tree-example-of-requests") == (
        "two servers give t3 <2,1> different answers, as one of them had done again what it delivered again before it "
        "came to that: t3 <2,1> set /a, as it was at version 1, and it became 2."
    )


@pytest.mark.parametrize("late", [True, False])
def test_the_example_breaks_when_w2_is_delivered_after_all(late: bool) -> None:
    """After w3, as the paper has it, or before: where L1 only kept it in its log."""
    s, (w1, w2, w3) = example()
    s.end_pass(0)
    s.deliver(0, *((w1, w3, w2) if late else (w1, w2, w3)))
    broken = {name for name, holds in verdicts(s).items() if not holds}
    assert {"tree-writes", "tree-reads", "tree-example"} <= broken
    assert (
        said(s, "tree-example")
        == said(s, "tree-writes")
        == (
            "no order of the writes explains their answers: t1 <1,1> set /a, whose version became 1; t2 <1,2> set /a, "
            "whose version became 2; t3 <2,1> set /a, as it was at version 1, and it became 2."
        )
    )
    assert "another /a under the same version 2" in said(s, "tree-reads")


def test_a_primary_without_the_tree_that_it_had_is_named() -> None:
    s = Watched.beginning(2)
    w1 = s.abcast(0, 1)
    s.deliver(0, w1)
    s.end_pass(0)
    s.abcast(0, 2)
    assert said(s, "tree-writes") == "p0 broadcast before it had delivered again t1 <1,1>, which its tree lacked."
    s.deliver(0, w1)
    assert verdicts(s)["tree-writes"]  # of the state alone it can no longer be seen


# --- histories in which one thing alone matters -------------------------------------------------------


def test_a_server_reads_back_in_one_pass() -> None:
    """It delivers what is of an earlier epoch last: who stays there is not refused."""
    s = Watched.beginning(2)
    a, b = s.abcast(0, 1), s.abcast(1, 2)
    s.deliver(2, b, a)
    assert said(s, "tree-reads").startswith(
        "a session that read at p2 when the last delivered there was t2 <2,1> reads"
    )


def test_what_a_primary_had_delivered_comes_before_what_it_had_not() -> None:
    s = Watched.beginning(3)
    a = s.abcast(0, 1)
    s.deliver(1, a)
    x = s.abcast(1, 2)
    s.deliver(0, a, x)
    b = s.abcast(0, 1)
    s.deliver(2, a, x, b)
    three = 0 | 1 << 8 | 2 << 16
    answers = s.names["tree_answers"](s.state, three, 1 | 1 << 8 | 1 << 16)  # all set /a
    assert [answers >> 8 * k & 255 for k in range(3)] == [1, 2, 3]


def test_every_request_is_asked_of_every_abcast() -> None:
    s = Watched.beginning(3)
    first, second, third = (s.abcast(0, 1).value - 1 for _ in range(3))
    three = first | second << 8 | third << 16
    words = [s.names["tree_requests"](s.state, u, three) for u in range(tree.TREE_WORKLOADS + 1)]
    of_each = [tuple(word >> 8 * k & 255 for k in range(3)) for word in words]
    assert of_each[0] == (1, 1, 4)  # w1, w2, w3
    assert sorted(of_each[1:]) == list(product(range(6), repeat=3))
    answers = {code: [s.names["tree_answer"](v | 1 << 16, code) for v in range(4)] for code in range(6)}
    assert answers == {
        0: [0, 0, 0, 0], 1: [1, 2, 3, 4], 2: [2, 2, 2, 2], 3: [1, 0, 0, 0], 4: [0, 2, 0, 0], 5: [0, 0, 3, 0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "back"),
    [((1, 1, 2), (1, 1, 1), True), ((1, 1, 1), (1, 1, 2), False), ((2, 1, 0), (1, 1, 0), True),
     ((1, 1, 0), (2, 2, 0), False), ((1, 1, 0), (1, 2, 0), True), ((1, 1, 1), (2, 2, 0), True)],
)  # fmt: skip
def test_what_goes_back(before: tuple[int, ...], after: tuple[int, ...], back: bool) -> None:
    """Of a version, a writer, and sequential nodes."""
    words = [version | writer << 8 | nodes << 16 for version, writer, nodes in (before, after)]
    assert Watched.beginning(1).names["tree_goes_back"](*words) == back


@pytest.mark.slow(seconds=1)
def test_any_three_of_four_may_be_the_ones() -> None:
    s = Watched.beginning(4)
    a, b, c = s.abcast(0, 1), s.abcast(0, 1), s.abcast(0, 1)
    s.deliver(0, a, b, c)
    s.deliver(1, a, b)
    d = s.abcast(1, 2)
    assert verdicts(s)["tree-writes"]
    s.deliver(2, a, b, c, d)
    assert said(s, "tree-writes") == (
        "no order of the writes explains their answers: t1 <1,1> set /a, whose version became 1; t3 <1,3> set /a, "
        "whose version became 2; t4 <2,1> set /a, as it was at version 1, and it became 2."
    )


# --- snapshots with replay -----------------------------------------------------------------------------


def executed(names: Any, tree_of: int, request: int, writer: int) -> int:
    answer = names["tree_answer"](tree_of, request)
    return int(names["tree_applied"](tree_of, request, writer, answer))


def test_a_replay_from_before_a_snapshot_gives_the_same_tree() -> None:
    """LADIS'08 2: "it is going to read in its snapshot and replay all delivered transactions after that snapshot", or
    from before it: transactions are idempotent. Nor has a snapshot to be of one moment: each node may be of another,
    as long as the replay begins before them all. Requests are not idempotent."""
    names = Watched.beginning(2).names
    source = random.Random(1)
    differs = 0
    for _ in range(500):
        n = source.randint(1, 6)
        requests = [source.randrange(1, 6) for _ in range(n)]
        records, trees = [], [0]
        for k, request in enumerate(requests):
            records.append((request, k + 1, names["tree_answer"](trees[-1], request)))
            trees.append(names["tree_applied"](trees[-1], *records[-1]))
        start = source.randint(0, n)
        of_a, of_nodes = source.randint(start, n), source.randint(start, n)
        fuzzy = (trees[of_a] & 0xFFFF) | (trees[of_nodes] & 0xFF0000)
        for record in records[start:]:
            fuzzy = names["tree_applied"](fuzzy, *record)
        assert fuzzy == trees[-1]
        again = trees[of_a]
        for k, request in enumerate(requests[start:], start):
            again = executed(names, again, request, k + 1)
        differs += again != trees[-1]
    assert differs > 100


def test_snapshots_give_transactions_back_and_not_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The property tries what the test above draws: of any begin, and of any two moments since."""
    s = Watched.beginning(3)
    names = ("tree-snapshots", "tree-snapshots-of-requests")
    first, second = s.abcast(0, 1), s.abcast(0, 1)
    assert [verdicts(s)[name] for name in names] == [True, True]
    s.deliver(1, first, second)
    assert [verdicts(s)[name] for name in names] == [True, False]
    assert said(s, names[1]).startswith(
        "p1 began a snapshot when it had delivered 0, saved /a when it had delivered 1 and the sequential nodes when "
        "0, and replayed what it delivered after 0: /a is at version 2 and was at 1"
    )
    tried: set[tuple[int, int, int]] = set()
    whole = s.names["tree_snapshot"]

    def watched(h: Any, p: int, of_a: int, of_nodes: int, *rest: int) -> int:
        tried.add((p, of_a, of_nodes))
        return int(whole(h, p, of_a, of_nodes, *rest))

    monkeypatch.setitem(s.names, "tree_snapshot", watched)
    assert verdicts(s)["tree-snapshots"]
    assert {(a, b) for p, a, b in tried if p == 1} == {*product(range(3), range(3))}
    s.end_pass(1)
    s.deliver(1, second)
    assert not verdicts(s)["tree-snapshots"]  # what it delivered is not known any more


# --- in the explorer -----------------------------------------------------------------------------------


def test_properties_of_passes_are_refused_where_none_are_kept() -> None:
    for words in (["bmc", "--depth", "3"], ["export", "--model", "--to", "tla"]):
        found = CliRunner().invoke(main, [*words, "--property", "tree-writes-of-requests"])
        assert found.exit_code == 2
        assert "is checked by `zabcheck --property tree-writes-of-requests` only" in " ".join(found.stderr.split())


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("p", tree.PROPERTIES, ids=lambda p: p.name)
def test_no_property_of_the_tree_tells_processes_apart(p: Property) -> None:
    model = model_of(Configuration(nodes=3, txns=3, timeouts=1, crashes=0, losses=0, passes=p.passes))
    assert asymmetry(model, [p]) == ""


def test_passes_are_kept_where_they_are_asked_for_alone() -> None:
    asked, plain = (Configuration(nodes=2, txns=1, timeouts=2, passes=kept) for kept in (True, False))
    assert asked.as_dict() == plain.as_dict() | {"passes": True}
    assert "given_up" in model_of(asked).program.layout.fields
    assert "given_up" not in model_of(plain).program.layout.fields


@pytest.mark.slow(seconds=2)
def test_a_run_with_passes_replays_and_is_read_back(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    words = "--nodes 2 --txns 2 --timeouts 1 --crashes 0 --losses 0 --property tree-writes-of-requests --trace"
    found = CliRunner().invoke(main, [*words.split(), str(trace)])
    assert found.exit_code == 1, found.output
    assert "was replayed in the simulator, step by step equal" in " ".join(found.output.split())
    assert read_trace(trace).configuration.passes
    assert CliRunner().invoke(main, ["replay", str(trace)]).exit_code == 0


@pytest.mark.slow(seconds=1)
def test_a_report_of_passes_says_so_and_a_forged_one_is_refused(tmp_path: Path) -> None:
    tiny = "--nodes 1 --txns 1 --timeouts 1 --crashes 0 --losses 0 --no-trace --json --property"
    for name, forged in (("tree-writes-of-requests", {"passes": None}), ("tree-writes", {"passes": True})):
        report = json.loads(CliRunner().invoke(main, [*tiny.split(), name]).stdout)
        assert report["configuration"].get("passes", False) == (name != "tree-writes")
        saved = tmp_path / "r.json"
        saved.write_text(json.dumps(report))
        assert CliRunner().invoke(main, ["report", str(saved), "--rerun"]).exit_code != 2
        changed = {k: v for k, v in (report["configuration"] | forged).items() if v is not None}
        saved.write_text(json.dumps(report | {"configuration": changed}))
        refused = CliRunner().invoke(main, ["report", str(saved), "--rerun"])
        assert refused.exit_code == 2
        assert "its request is for another configuration" in " ".join(refused.stderr.split()), refused.stderr
