"""State runs of the finite instance: one in which everything happens, and for each mutant one that it breaks.

Three processes, majorities. A run is written as a person would tell it; it proves nothing by itself:
`checker/proofs/prove/stepping.py` takes it step by step, guard by guard, and looks at what holds in the end.
`p1+p2` are two steps; `q12` is the quorum {p1, p2}; `-` is the empty history.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """A run of the abstract protocol, written down.

    Attributes:
        attempts: a1, a2, ...: the process and the epoch of each.
        histories: h1, h2, ...: what each extends, its epoch and its counter.
        steps: the paper's step and its parameters, in the order of the action's.
        story: what the run shows, in one sentence.
        quorums: the quorums; majorities of three unless given.
        connections: i1, i2, ...: the process and the attempt of each.
    """

    story: str
    attempts: tuple[str, ...]
    histories: tuple[str, ...]
    steps: tuple[str, ...]
    quorums: tuple[str, ...] = ("12", "13", "23")
    connections: tuple[str, ...] = ()


def phase_1(c: str, who: str, best: str, h: str, followers: str = "") -> tuple[str, ...]:
    """Return the steps in which a quorum promises (and `followers` with it); `best` has the initial history h."""
    return (f"f.1.2 {followers or who} {c}", f"l.1.2 {c} q{digits(who)} {best} {h}")


def phase_2(c: str, who: str, h: str, followers: str = "") -> tuple[str, ...]:
    """Return the steps in which a quorum (and `followers`) acknowledges NEWLEADER and establishes the leader."""
    return (f"f.2.1 {followers or who} {c} {h}", f"l.2.2 {c} q{digits(who)}")


def ready(c: str, l: str, h: str) -> tuple[str, ...]:
    """Return the steps in which the leader's process delivers the initial history h and is ready."""
    return (*(() if h == "-" else (f"f.2.2 {l} {c} {h}",)), f"f.3.1 {l} {c}")


def lead(c: str, l: str, who: str, h: str = "-", best: str = "", followers: str = "") -> tuple[str, ...]:
    """Return the steps of the three phases as far as ready, in which all start a new iteration."""
    return (
        *(f"restart {p}" for p in (followers or who).split("+")),
        *phase_1(c, who, best or l, h, followers),
        *phase_2(c, who, h, followers),
        *ready(c, l, h),
    )


def propose(c: str, l: str, h: str, who: str) -> tuple[str, ...]:
    """Return the steps in which a transaction is abcast, and accepted by some."""
    return (f"l.3.1 {l} {c} {h}", f"f.3.2 {who} {c} {h}")


def commit(c: str, quorum: str, h: str, who: str) -> tuple[str, ...]:
    """Return the steps in which a transaction is committed, and delivered by some."""
    return (f"l.3.2 {c} q{digits(quorum)} {h}", f"f.3.3 {who} {c} {h}")


def digits(who: str) -> str:
    return "".join(c for c in who if c.isdigit())


EVERYTHING = Story(
    "Two epochs deliver, and in the first a follower joins late; a third begins while a process lacks the last of it.",
    ("p1 e1", "p2 e2", "p2 e3"),
    ("- e1 n1", "h1 e1 n2", "h2 e2 n1"),
    (
        *lead("a1", "p1", "p1+p2"),
        *propose("a1", "p1", "h1", "p1+p2"),
        *commit("a1", "p1+p2", "h1", "p1+p2"),
        "f.1.2 p3 a1",
        "l.3.3 a1 h1",
        "f.2.1 p3 a1 h1",
        "l.3.4 p3 a1 h1",
        "f.2.2 p3 a1 h1",
        *propose("a1", "p1", "h2", "p1+p2+p3"),
        *commit("a1", "p1+p2", "h2", "p1+p2+p3"),
        *lead("a2", "p2", "p2+p3", "h2"),
        *propose("a2", "p2", "h3", "p2+p3"),
        *commit("a2", "p2+p3", "h3", "p2+p3"),
        *lead("a3", "p2", "p2+p3", "h3"),
    ),
)


def link(c: str, who: str, h: str, links: str) -> tuple[str, ...]:
    """Return the steps in which processes connect to an attempt, and are sent NEWLEADER."""
    return (f"connect {who} {c} {links}", *(f"l.2.1 {c} {h} {i}" for i in links.split("+")))


def start(c: str, l: str, who: str, h: str, links: str) -> tuple[str, ...]:
    """Return the steps of the three phases as far as ready, over connections."""
    return (
        *phase_1(c, who, l, h), *link(c, who, h, links), f"f.2.1 {who} {c} {h} {links}", f"l.2.2 {c} q{digits(who)}",
        *ready(c, l, h),
    )  # fmt: skip


OVER_CONNECTIONS = Story(
    "A follower joins late; another loses its connection and comes back to the same leader with a new one.",
    ("p1 e1",),
    ("- e1 n1", "h1 e1 n2", "h2 e1 n3"),
    (
        *start("a1", "p1", "p1+p2", "-", "i1+i2"),
        "l.3.1 p1 a1 h1", "f.3.2 p1+p2 a1 h1 i1+i2", *commit("a1", "p1+p2", "h1", "p1+p2"),
        "f.1.2 p3 a1", "l.3.3 a1 h1", *link("a1", "p3", "h1", "i3"), "l.3.1 p1 a1 h2", "f.2.1 p3 a1 h1 i3",
        "l.3.4 p3 a1 h1", "f.2.2 p3 a1 h1",
        "f.3.2 p1+p2+p3 a1 h2 i1+i2+i3", "restart p2", "l.3.3 a1 h2", *link("a1", "p2", "h2", "i4"),
        "f.2.1 p2 a1 h2 i4", "l.3.1 p1 a1 h3", "f.3.2 p2+p3 a1 h3 i4+i3", *commit("a1", "p2+p3", "h3", "p1+p3"),
    ),
    connections=("p1 a1", "p2 a1", "p3 a1", "p2 a1"),
)  # fmt: skip

TWO_LEADERS = Story(
    "p3 supports a1 and then a2, of the same epoch; both are established.",
    ("p1 e1", "p2 e1"),
    (),
    (*phase_1("a1", "p1+p3", "p1", "-"), *phase_2("a1", "p1+p3", "-"),
     *phase_1("a2", "p2+p3", "p3", "-"), *phase_2("a2", "p2+p3", "-")),
)  # fmt: skip

# h1 is in p1's history alone; epoch 2 starts without it, and then epoch 3 takes it up.
OLD_ONE_COMES_BACK = (("p1 e1", "p2 e2", "p1 e3"), ("- e1 n1", "- e2 n1"))
OLD_ONE = (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1"))
BACK = (*phase_2("a3", "p1+p3", "h1"), "f.2.2 p1 a3 h1")

# p2 loses h1, which p1 has delivered; i2 and i4 are its connections to the leader of epoch 1.
FORGOTTEN = ("f.3.2 p1+p2 a1 h1 i1+i4", *commit("a1", "p1+p2", "h1", "p1"))
WITHOUT = (*phase_1("a2", "p2+p3", "p2", "-"), *link("a2", "p2+p3", "-", "i3+i5"), "f.2.1 p2+p3 a2 - i3+i5",
           "l.2.2 a2 q23", *ready("a2", "p2", "-"), "l.3.1 p2 a2 h2")  # fmt: skip
ITS_LINKS = ("p1 a1", "p2 a1", "p2 a2", "p2 a1", "p3 a2")

# h1 is delivered in epoch 1; epoch 2 starts without it.
LOST = (("p1 e1", "p2 e2"), ("- e1 n1", "- e2 n1"))
AND_ON = ("l.3.1 p2 a2 h2",)

RUNS: dict[str, Story] = {
    "no-promise": TWO_LEADERS,
    "equal-epoch": TWO_LEADERS,
    "epoch-from-log": TWO_LEADERS,
    "choice-below-quorum": Story(
        "a1 and a2, of one epoch, each choose with one promise; p3, which promised the epoch, acknowledges both.",
        ("p1 e1", "p2 e1"),
        (),
        ("f.1.2 p1+p3 a1", "l.1.2 a1 q12 p1 -", "f.1.2 p2 a2", "l.1.2 a2 q12 p2 -",
         *phase_2("a1", "p1+p3", "-"), *phase_2("a2", "p2+p3", "-")),
    ),
    "disjoint-quorums": Story(
        "{p1} and {p2, p3} each have a leader in epoch 1.",
        ("p1 e1", "p2 e1"),
        (),
        (*phase_1("a1", "p1", "p1", "-"), *phase_2("a1", "p1", "-"),
         *phase_1("a2", "p2+p3", "p2", "-"), *phase_2("a2", "p2+p3", "-")),
        quorums=("1", "23"),
    ),
    "established-below-quorum": Story(
        "p2 alone acknowledged epoch 2 when its primary broadcast; epoch 3, of p1 and p3, takes up what epoch 2 lacks.",
        *OLD_ONE_COMES_BACK,
        (*OLD_ONE, *phase_1("a2", "p2+p3", "p2", "-"), "f.2.1 p2 a2 -", "l.2.2 a2 q23", "f.3.1 p2 a2", *AND_ON,
         "restart p1", *phase_1("a3", "p1+p3", "p1", "h1"), *BACK),
    ),
    "broadcast-before-established": Story(
        "The primary of epoch 2 broadcasts while nobody else has acknowledged it; epoch 3 takes up what epoch 2 lacks.",
        *OLD_ONE_COMES_BACK,
        (*OLD_ONE, *phase_1("a2", "p2+p3", "p2", "-"), "f.2.1 p2 a2 -", "f.3.1 p2 a2", *AND_ON,
         "restart p1", *phase_1("a3", "p1+p3", "p1", "h1"), *BACK),
    ),
    "history-by-zxid": Story(
        "Epoch 3 prefers p1's transaction of epoch 1 to the empty history that p3 has of epoch 2.",
        *OLD_ONE_COMES_BACK,
        (*OLD_ONE, *lead("a2", "p2", "p2+p3"), *AND_ON,
         "restart p1", "restart p3", *phase_1("a3", "p1+p3", "p1", "h1"), *BACK),
    ),
    "history-by-length": Story(
        "Epoch 3 prefers p1's history, of one transaction of epoch 1, to the empty one that p3 has of epoch 2.",
        *OLD_ONE_COMES_BACK,
        (*OLD_ONE, *lead("a2", "p2", "p2+p3"), *AND_ON,
         "restart p1", "restart p3", *phase_1("a3", "p1+p3", "p1", "h1"), *BACK),
    ),
    "history-by-epoch": Story(
        "Of p2 and p3, both of epoch 1, epoch 2 takes p3's history, which lacks what p1 and p2 accepted.",
        ("p1 e1", "p3 e2"),
        ("- e1 n1", "- e2 n1"),
        (*lead("a1", "p1", "p1+p2", followers="p1+p2+p3"), *propose("a1", "p1", "h1", "p1+p2"),
         *commit("a1", "p1+p2", "h1", "p1"), *lead("a2", "p3", "p2+p3"), *propose("a2", "p3", "h2", "p2+p3"),
         *commit("a2", "p2+p3", "h2", "p3")),
    ),
    "commit-below-quorum": Story(
        "p1 commits what it alone accepted, and delivers it; epoch 2, of p2 and p3, never hears of it.",
        *LOST,
        (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1"), *commit("a1", "p1+p2", "h1", "p1"),
         *lead("a2", "p2", "p2+p3"), *AND_ON),
    ),
    "joiner-commit": Story(
        "p1, as if it came late, delivers a proposal that nobody else accepted; epoch 2 never hears of it.",
        *LOST,
        (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1"), "l.3.4 p1 a1 h1", "f.2.2 p1 a1 h1",
         *lead("a2", "p2", "p2+p3"), *AND_ON),
    ),
    "proposal-against-promise": Story(
        "p2 promises epoch 2 and then accepts the proposal of epoch 1 that makes it committed.",
        *LOST,
        (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1"), *phase_1("a2", "p2+p3", "p2", "-"),
         "f.3.2 p2 a1 h1", *commit("a1", "p1+p2", "h1", "p1"), *phase_2("a2", "p2+p3", "-"), *ready("a2", "p2", "-"),
         *AND_ON),
    ),
    "newleader-without-promise": Story(
        "p2, which has a committed transaction of epoch 2, accepts the empty NEWLEADER of epoch 1, and epoch 3 "
        "starts from that.",
        ("p1 e1", "p2 e2", "p1 e3"),
        ("- e2 n1", "- e3 n1"),
        (*phase_1("a1", "p1+p2", "p1", "-"), "f.2.1 p1 a1 -",
         *lead("a2", "p2", "p2+p3"), *propose("a2", "p2", "h1", "p2+p3"), *commit("a2", "p2+p3", "h1", "p2"),
         "restart p2", "f.2.1 p2 a1 -", *lead("a3", "p1", "p1+p2"), "l.3.1 p1 a3 h2"),
    ),
    "stale-newleader": Story(
        "p2 accepts, a second time, the empty NEWLEADER of epoch 1, and so loses what it had acknowledged since.",
        *LOST,
        (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1+p2"), *commit("a1", "p1+p2", "h1", "p1"),
         "f.2.1 p2 a1 -", *lead("a2", "p2", "p2+p3"), *AND_ON),
    ),
    "accept-with-gap": Story(
        "p2 accepts the second proposal without the first, and delivers it so.",
        ("p1 e1",),
        ("- e1 n1", "h1 e1 n2"),
        (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1"), *propose("a1", "p1", "h2", "p1+p2"),
         *commit("a1", "p1+p2", "h2", "p2")),
    ),
    "ready-before-delivery": Story(
        "p3, which has not delivered what epoch 1 committed, broadcasts in epoch 2.",
        ("p1 e1", "p3 e2"),
        ("- e1 n1", "h1 e2 n1"),
        (*lead("a1", "p1", "p1+p2"), *propose("a1", "p1", "h1", "p1+p2"), *commit("a1", "p1+p2", "h1", "p1"),
         *phase_1("a2", "p2+p3", "p2", "h1"), *phase_2("a2", "p2+p3", "h1"), "f.3.1 p3 a2", "l.3.1 p3 a2 h2"),
    ),
    "counter-reused": Story(
        "h1 and h2 have one zxid; epoch 2 takes p1's history, which ends with h1, though p2 and p3 accepted h2.",
        ("p1 e1", "p1 e2"),
        ("- e1 n1", "h1 e1 n1", "h1 e2 n1"),
        (*lead("a1", "p1", "p1+p2", followers="p1+p2+p3"), *propose("a1", "p1", "h1", "p1+p2+p3"),
         *propose("a1", "p1", "h2", "p2+p3"), *commit("a1", "p2+p3", "h2", "p2"),
         *lead("a2", "p1", "p1+p2", "h1"), "l.3.1 p1 a2 h3"),
    ),
    "overtaken-proposal": Story(
        "p2 receives the second proposal before the first, and delivers it so.",
        ("p1 e1",),
        ("- e1 n1", "h1 e1 n2"),
        (*start("a1", "p1", "p1+p2", "-", "i1+i2"), "l.3.1 p1 a1 h1", "f.3.2 p1 a1 h1 i1", "l.3.1 p1 a1 h2",
         "f.3.2 p1+p2 a1 h2 i1+i2", *commit("a1", "p1+p2", "h2", "p2")),
        connections=("p1 a1", "p2 a1"),
    ),
    "proposal-before-newleader": Story(
        "p2 comes back to the leader, and receives the second proposal before the NEWLEADER that has the first.",
        ("p1 e1",),
        ("- e1 n1", "h1 e1 n2"),
        (*start("a1", "p1", "p1+p2", "-", "i1+i2"), "l.3.1 p1 a1 h1", "f.3.2 p1 a1 h1 i1", "restart p2",
         "l.3.3 a1 h1", *link("a1", "p2", "h1", "i3"), "l.3.1 p1 a1 h2", "f.3.2 p1+p2 a1 h2 i1+i3",
         *commit("a1", "p1+p2", "h2", "p2")),
        connections=("p1 a1", "p2 a1", "p2 a1"),
    ),
    "connection-reopened": Story(
        "The NEWLEADER of p2's first connection was in flight when that was lost, and comes when it is opened again.",
        *LOST,
        (*phase_1("a1", "p1+p2", "p1", "-"), *link("a1", "p1+p2", "-", "i1+i2"), "restart p2",
         *link("a1", "p2", "-", "i4"), "f.2.1 p1+p2 a1 - i1+i4", "l.2.2 a1 q12", *ready("a1", "p1", "-"),
         "l.3.1 p1 a1 h1", *FORGOTTEN, "restart p2", "connect p2 a1 i2", "f.2.1 p2 a1 - i2", "restart p2", *WITHOUT),
        connections=ITS_LINKS,
    ),
    "two-connections": Story(
        "p2 has two connections to one leader; the NEWLEADER of the one comes after the proposals of the other.",
        *LOST,
        (*phase_1("a1", "p1+p2", "p1", "-"), *link("a1", "p1+p2", "-", "i1+i2"), *link("a1", "p2", "-", "i4"),
         "f.2.1 p1+p2 a1 - i1+i4", "l.2.2 a1 q12", *ready("a1", "p1", "-"), "l.3.1 p1 a1 h1", *FORGOTTEN,
         "f.2.1 p2 a1 - i2", "restart p2", *WITHOUT),
        connections=ITS_LINKS,
    ),
    "newleader-without-log": Story(
        "p2 comes back to the leader, which sends it the NEWLEADER it had sent first.",
        *LOST,
        (*start("a1", "p1", "p1+p2", "-", "i1+i4"), "l.3.1 p1 a1 h1", *FORGOTTEN, "restart p2",
         *link("a1", "p2", "-", "i2"), "f.2.1 p2 a1 - i2", "restart p2", *WITHOUT),
        connections=ITS_LINKS,
    ),
}  # fmt: skip
