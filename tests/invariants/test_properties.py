"""The page of properties and verdicts states what the code does: the properties, which imply which, the witnesses; and
the counterexample to the literal reading of invariant 5 is as `docs/explanation/readings.md` describes it."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.manual import ManualPage
from invariants import PROPERTIES, Property, property_named, takeover, tree
from invariants.registry import STEP
from tests.histories import (
    JUDGED,
    NAIVE,
    Abcast,
    DatagramWalk,
    Deliver,
    History,
    Instance,
    MadeUp,
    Synthetic,
    Txn,
    Walk,
    bound,
    epochs_grow,
    literally_precedes,
    model_of,
    one_sequence,
    passes_agree,
)
from zabspec.model import Configuration, Model
from zabspec.second import paper_invariants
from zabspec.worlds.steps import ABCAST, ORACLE, TO_FOLLOWER, TO_LEADER

DOCS = Path(__file__).parents[2] / "docs"
PAGE = ManualPage("reference/properties-and-verdicts", DOCS / "reference/properties-and-verdicts.md")
RELATIONS = tomllib.loads((DOCS / "reference/property-relations.toml").read_text())


def rows(heading: str) -> list[tuple[str, ...]]:
    """Return the cells of the table below a heading, as the site and `zabcheck docs` show it, without its head."""
    (section,) = (section for section in PAGE.sections if section.heading == heading)
    lines = [line for line in section.text.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in line[1:-1].split(" |")) for line in lines]


def literal_po_causal_order(h: History) -> bool:
    return all(h.must_deliver_before(t, u) for t, u in literally_precedes(h))


CONDITIONS: dict[str, Callable[[History], bool]] = {
    "one-sequence": one_sequence,
    "passes-agree": passes_agree,
    "epochs-grow": epochs_grow,
    "literal PO causal order": literal_po_causal_order,
}
TRUTH = NAIVE | CONDITIONS


# --- the table of properties ---------------------------------------------------------------------


def described(p: Property) -> tuple[str, ...]:
    statement = p.statement
    return f"`{p.name}`", p.of, ", ".join(p.protocols) or "all", p.source, statement, p.premise


def test_the_page_lists_every_property_as_the_code_states_it() -> None:
    assert rows("The properties") == [described(p) for p in PROPERTIES]


def test_every_property_says_where_the_paper_states_it() -> None:
    for p in PROPERTIES:
        assert p.statement, p.name
        assert re.match(r"(DSN'11 (III|V|VI)|LADIS'08 [23])", p.source), p.name
    others = [p.name for module in (takeover, tree) for p in module.PROPERTIES]
    assert [p.name for p in PROPERTIES if not p.default] == ["dsn-causal-order", "invariant-5-literal", *others]


# --- which imply which ---------------------------------------------------------------------------

IMPLICATIONS = [(tuple(row["if"]), row["then"]) for row in RELATIONS["implication"]]
COUNTEREXAMPLES = [
    (tuple(row["these_hold"]), row["violated"], "; ".join(row["history"])) for row in RELATIONS["counterexample"]
]


def test_the_page_shows_every_implication_and_counterexample() -> None:
    def shown(*names: str) -> str:
        return ", ".join(f"*{name}*" if name in CONDITIONS else name for name in names)

    because = [row.get("because", "") for row in RELATIONS["implication"]]
    assert rows("Which properties imply which") == [
        (shown(*left), shown(right), why) for (left, right), why in zip(IMPLICATIONS, because, strict=True)
    ]
    assert rows("Which do not") == [(shown(*left), shown(right), history) for left, right, history in COUNTEREXAMPLES]
    (section,) = (section for section in PAGE.sections if section.heading == "Which properties imply which")
    assert set(re.findall(r"^- \*([^*]+)\*: ", section.text, flags=re.MULTILINE)) == set(CONDITIONS)


def always(name: str, h: History) -> bool:
    """Whether the history has the property, now and at every moment before. A history that lacks
    one of those that are asked for, other than agreement and prefix, never regains it."""
    if not TRUTH[name](h):
        return False
    if name not in ("agreement", "prefix"):
        return True
    return all(TRUTH[name](moment) for moment in moments(h))


@lru_cache(maxsize=1)
def moments(h: History) -> list[History]:
    """The history up to each of its deliveries."""
    return [History(h.nodes, h.events[: k + 1]) for k, e in enumerate(h.events) if isinstance(e, Deliver)]


@pytest.mark.parametrize("name", sorted(set(TRUTH) - {"agreement", "prefix", "delivered-is-chosen"}))
def test_a_property_lost_is_not_regained(name: str) -> None:
    for seed in range(300):
        h = MadeUp(random.Random(seed)).history(12)
        verdicts = [TRUTH[name](History(h.nodes, h.events[:k])) for k in range(len(h.events) + 1)]
        assert verdicts == sorted(verdicts, reverse=True), h.events


@cache
def made_up() -> list[tuple[History, dict[str, bool]]]:
    """Thousands of random histories, with the verdicts that the table asks for."""
    names = {n for left, right in IMPLICATIONS for n in (*left, right)}
    out = []
    for seed in range(8000):
        source = random.Random(seed)
        h = MadeUp(source, txns=source.randint(2, 4)).history(source.randint(3, 16))
        out.append((h, {name: always(name, h) for name in names}))
    return out


@pytest.mark.slow
def test_implications_hold_over_random_histories() -> None:
    met: Counter[tuple[tuple[str, ...], str]] = Counter()
    broken: Counter[str] = Counter()
    for h, verdict in made_up():
        broken.update(name for name, holds in verdict.items() if not holds)
        for left, right in IMPLICATIONS:
            if all(verdict[name] for name in left):
                assert verdict[right], (left, right, h.events)
                met[left, right] += len(h.deliveries) > 1
    # the table was put to the test: premises true of histories with deliveries, conclusions
    # false of others
    for left, right in IMPLICATIONS:
        assert met[left, right] > 400, (left, right)
        assert broken[right] > 40, right


@pytest.mark.slow
def test_no_premise_of_an_implication_is_idle() -> None:
    """Without any one of its premises an implication fails: a counter-history says so, of the page
    or a random one."""
    shown = [({n for n in TRUTH if always(n, h)}, h) for h in map(parsed, [c for *_, c in COUNTEREXAMPLES])]
    for left, right in IMPLICATIONS:
        for idle in left:
            others = set(left) - {idle}
            found = any(others <= held and right not in held for held, _ in shown)
            assert found or any(
                not verdict[right] and all(verdict[name] for name in others) for _, verdict in made_up()
            ), (left, right, idle)


def parsed(text: str) -> History:
    """Return the history that a row describes."""
    tell = re.compile(r"p(\d) (abcasts|delivers|restarts)(?: (\w)(?:@(\d)(?:\.(\d))?)?)?")
    told = []
    for part in text.split("; "):
        match = tell.fullmatch(part)
        assert match, part
        told.append(match.groups())
    txns: dict[str, Txn] = {}
    for _, what, name, epoch, counter in told:
        if what == "abcasts":
            next_one = 1 + sum(t.epoch == int(epoch) for t in txns.values())
            txns[name] = Txn(int(epoch), int(counter or next_one), len(txns) + 1)
    for _, what, name, *_ in told:
        if what == "delivers" and name not in txns:
            txns[name] = Txn(1, 4, 4 - sum(t.counter == 4 for t in txns.values()))  # out of nowhere
    events: list[Abcast | Deliver] = []
    iteration = [0, 0, 0]
    for who, what, name, epoch, _ in told:
        p = int(who)
        if what == "restarts":
            iteration[p] += 1
        elif what == "abcasts":
            events.append(Abcast(Instance(int(epoch), p, iteration[p]), txns[name]))
        else:
            events.append(Deliver(p, iteration[p], txns[name]))
    return History(3, tuple(events))


@pytest.mark.parametrize(("left", "right", "text"), COUNTEREXAMPLES)
def test_counter_history(left: tuple[str, ...], right: str, text: str) -> None:
    h = parsed(text)
    assert {name: always(name, h) for name in left} == dict.fromkeys(left, True)
    assert not always(right, h)


@pytest.mark.parametrize("text", sorted({text for _, _, text in COUNTEREXAMPLES}))
def test_counter_history_in_the_ghosts(text: str) -> None:
    """The properties of `invariants/` agree with the page on it."""
    s = Synthetic.of()
    h = parsed(text)
    ever = dict.fromkeys(NAIVE, True)
    for event in h.events:
        s.replay(event)
        ever = {name: ever[name] and holds for name, holds in s.ghost_verdicts().items()}
    ever.pop("delivered-is-chosen")  # the page does not tell what was accepted
    assert ever == {name: always(name, h) for name in ever}


def test_no_implication_is_denied() -> None:
    for left, right in IMPLICATIONS:
        for have, lack, _ in COUNTEREXAMPLES:
            assert not (set(left) <= set(have) and right == lack), (left, right)


def test_the_core_properties_are_all_in_the_tables() -> None:
    mentioned = {n for left, right in IMPLICATIONS for n in (*left, right)}
    history = {p.name for p in JUDGED}
    of_their_own = {"one-leader-an-epoch", "chosen-in-later-histories", "delivered-is-chosen", "unique-zxid"}
    assert history - mentioned == of_their_own


# --- witnesses -----------------------------------------------------------------------------------


# For each protocol, where its walks go far enough.
WALKS: dict[str, tuple[Configuration, Callable[[Model, int], Walk | DatagramWalk]]] = {
    "zab": (Configuration(txns=3, timeouts=3, crashes=2, losses=2, literal=True, passes=True), Walk),
    "db19": (Configuration(protocol="db19", txns=3, timeouts=4, crashes=1, heartbeats=3), DatagramWalk),
}


# Premises of longer stories than walks at random tell.
FAR = {("tree-example", "db19"), ("previous-leader-abandoned", "zab")}


@cache
def first_met(protocol: str) -> dict[str, int]:
    """The first step of a random walk under the protocol's own network at which each witness is true; none is at the
    start."""
    configuration, walked = WALKS[protocol]
    model = model_of(configuration)
    names = bound(model)
    met: dict[str, int] = {}
    for seed in range(40):
        walk = walked(model, seed)
        for depth in range(1, 160):
            before = walk.state.copy()
            if not walk.step():
                break
            after = walk.state
            for p in PROPERTIES:
                if p.judges(protocol) and p.passes <= configuration.passes and met.get(p.name, depth + 1) > depth:
                    witness = names[p.witness.__name__]
                    given = (before, after, after) if p.of == STEP else (after,)
                    if witness(*given):
                        met[p.name] = depth
    return met


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "protocol"),
    [
        (p, name)
        for name, (c, _) in WALKS.items()
        for p in PROPERTIES
        if p.judges(name) and p.passes <= c.passes and (p.name, name) not in FAR
    ],
    ids=lambda x: x if isinstance(x, str) else x.name,
)
def test_witness_is_met_and_not_at_once(p: Property, protocol: str) -> None:
    model = model_of(WALKS[protocol][0])
    names = bound(model)
    first = model.program.initial()
    if p.of == STEP:
        after = first.copy()
        names["apply"](after, 1 << 24)  # the oracle of process 0 names itself
        assert not names[p.witness.__name__](first, after, after)
    else:
        assert not names[p.witness.__name__](first)
    # nothing is witnessed before the steps that its premise needs: an epoch takes 7 to propose
    assert first_met(protocol)[p.name] > 7


# --- invariant 5 to the letter -------------------------------------------------------------------


# A shortest run. O p l, the oracle of p names l; A p, p abcasts; L f and F f, the leader p0 receives from f, and f from
# p0.
#
# - Steps 1 to 13 and 16. p0 leads, p1 follows, and they go through Phases 1 and 2. p0 is established in epoch 1 with an
#   empty initial history, and ready.
# - Steps 14 to 23, without 16. p0 abcasts a and b, and offers p2, which joins, its epoch and the history [a, b]
#   (l.3.3). p0 and p1 accept a, and p2 accepts both.
# - Steps 24 to 28. p0 receives the ACKs of a, its own and p1's, and commits a (l.3.2). It receives p2's
#   acknowledgement of NEWLEADER, which acknowledges b too, and commits, naming a (l.3.4). p1 accepts b. p2 delivers a,
#   completing Phase 2 (f.2.2).
# - Steps 29 and 30. p0 receives p1's ACK of b, which makes a quorum with that of p2, and commits b (l.3.2). p2, now in
#   the broadcast phase, delivers b (f.3.3).
RUN = "O00 O10 L0 L1 F0 F1 L1 L0 F0 L0 F1 L1 F0 A0 O20 F1 A0 L2 F2 F1 F0 L2 F2 L0 L1 L2 F1 F2 L1 F2"


def word_of(step: str) -> int:
    kind, given = step[0], step[1:]
    if kind == "O":
        return ORACLE << 24 | int(given[0]) << 16 | int(given[1]) << 8
    if kind == "L":
        return TO_LEADER << 24 | int(given[0]) << 8
    return (ABCAST if kind == "A" else TO_FOLLOWER) << 24 | int(given[0]) << 16


def test_both_semantics_judge_invariant_5_of_processes_whose_passes_agree_only() -> None:
    """p1 delivers b, which violates it, and in a later pass a: `delivered` is [b, a] then, and D_p1 is [a]."""
    h = Synthetic.of()
    a, b = h.abcast(0, 1), h.abcast(0, 1)
    h.state.current_epoch[1] = 1
    h.deliver(1, b)
    assert not h.names["invariant_5"](h.state)
    assert not paper_invariants.invariant_5(h.state)
    h.end_pass(1)
    h.deliver(1, a)
    assert h.names["invariant_5"](h.state)
    assert paper_invariants.invariant_5(h.state)


def test_invariant_5_literal_breaks_as_the_page_tells() -> None:
    model = model_of(Configuration(nodes=3, txns=2, timeouts=0, crashes=0, losses=0, literal=True))
    p = property_named("invariant-5-literal", PROPERTIES)
    result = Explorer(Compiled(model, [p], True), 1).run(Limits())
    assert len(result.violations[p.name].schedule) == len(RUN.split()) == 30
    assert "A shortest run has 30 steps." in (DOCS / "explanation/readings.md").read_text()
    names = bound(model)
    s = model.program.initial()
    delivered: list[list[int]] = [[]]
    entered: list[set[str]] = [set()]
    for step in RUN.split():
        assert names["invariant_5_literal"](s)
        out = [0] * 512
        names["enabled"](s, out)
        assert word_of(step) in out[1 : out[0] + 1], step
        names["apply"](s, word_of(step))
        delivered.append([t.counter for t in s.delivered[2]])
        entered.append({n for k, n in enumerate(model.program.steps) if s.steps >> k & 1})
    assert entered[13] == {"f.2.2", "f.3.1"}
    assert [k for k, steps in enumerate(entered) if "l.3.1" in steps] == [14, 17]
    assert [entered[k] for k in (16, 18, 19, 20, 21, 23)] == [
        {"f.2.2"}, {"l.3.3"}, {"f.1.2"}, {"f.3.2"}, {"f.3.2"}, {"f.2.1"},
    ]  # fmt: skip
    assert [entered[k] for k in (24, 25, 26, 27, 28)] == [{"l.3.2"}, {"l.3.2"}, {"l.3.4"}, {"f.3.2"}, {"f.2.2"}]
    assert [entered[k] for k in (29, 30)] == [{"l.3.2"}, {"f.3.3"}]
    assert (delivered[27], delivered[28], delivered[30]) == ([], [1], [1, 2])
    assert not names["invariant_5_literal"](s)
    assert names["invariant_5"](s)
    assert all(names[q.holds.__name__](s) for q in JUDGED)
