"""What is declared to change places (`COMMUTE`): each pair in either order, on small states of a connection."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from zabspec.model import Configuration, Model
from zabspec.worlds import connections
from zabspec.worlds.actor import FOLLOWING
from zabspec.worlds.connections import (
    COMMUTE,
    COMMUTE_APART,
    ELECTION,
    FOLLOWER_OPEN,
    LEADER_OPEN,
    LEADING,
    LOST,
    NONE,
    OPEN,
)

Does = Callable[[Any], bool]  # does it to a state; False: it is not possible there
MODEL = Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
F, L, OTHER = 0, 1, 2


@cache
def model() -> Model:
    return Model(MODEL)


def call(name: str) -> Any:
    return model().program.python[name]


def message(kind: str, epoch: int) -> Any:
    return call(kind)(epoch=epoch)


def taken(s: Any, f: int, l: int) -> bool:
    """TO_LEADER: possible where the leader has an end of the connection, and something is in it."""
    if s.role[l] != LEADING or s.link[f][l] not in (OPEN, LOST, LEADER_OPEN) or not len(s.to_leader[f][l]):
        return False
    s.to_leader[f][l].pop(0)
    return True


def received(s: Any, f: int) -> bool:
    if not len(s.to_follower[f]):
        return False
    s.to_follower[f].pop(0)
    return True


def leader_learns(s: Any, f: int, l: int) -> bool:
    if s.role[l] != LEADING or s.link[f][l] not in (LOST, LEADER_OPEN):
        return False
    s.to_leader[f][l].clear()
    s.link[f][l] = FOLLOWER_OPEN if s.link[f][l] == LOST else NONE
    return True


def gives_up(s: Any, p: int) -> bool:
    call("disconnect")(s, p)
    s.role[p] = ELECTION
    return True


def always(name: str, *arguments: Any) -> Does:
    def does(s: Any) -> bool:
        call(name)(s, *arguments)
        return True

    return does


def deeds() -> dict[str, list[Does]]:
    """By label, what the follower, the leader or another leader does."""
    return {
        "send_to_leader": [lambda s: s.leader[F] >= 0 and call("send_to_leader")(s, F, message("CEPOCH", 2)) is None],
        "send_to_follower": [
            lambda s: call("send_to_follower")(s, L, F, message("NEWEPOCH", 2)) is None,
            lambda s: call("send_to_follower")(s, OTHER, F, message("NEWEPOCH", 3)) is None,
        ],
        "to_leader": [lambda s: taken(s, F, L)],
        "to_follower": [lambda s: received(s, F)],
        "leader_learns": [lambda s: leader_learns(s, F, L)],
        "follower_learns": [lambda s: s.link[F][s.leader[F]] in (LOST, FOLLOWER_OPEN) if s.leader[F] >= 0 else False],
        "disconnect": [always("disconnect", F)],
        "close_accepted": [always("close_accepted", L)],
        "closed": [lambda s: gives_up(s, L)],
    }


def states(every: int) -> Iterator[Any]:
    """Ways two processes and what is between them can be, as far as the pairs can see it: one in `every`."""
    roles, ends, nobody = (ELECTION, FOLLOWING, LEADING), (OPEN, LOST, FOLLOWER_OPEN), -1
    leaders, left = (nobody, F, L, OTHER), (NONE, LEADER_OPEN)
    ways = itertools.product(leaders, leaders, ends, ends, left, left, roles, roles, range(3), range(2))
    for way in itertools.islice(ways, 0, None, every):
        lead_f, lead_l, end_f, end_l, left_f, left_l, role_f, role_l, up, down = way
        s = model().program.initial()
        s.link[F][L], s.link[L][F] = left_f, left_l
        s.role[F], s.role[L] = role_f, role_l
        for p, leader, end in ((F, lead_f, end_f), (L, lead_l, end_l)):
            if leader != nobody:
                s.leader[p], s.link[p][leader] = leader, end
        for k in range(up):
            s.to_leader[F][L].append(message("CEPOCH", k))
        for _ in range(down):
            s.to_follower[F].append(message("NEWEPOCH", 1))
        assert call("connected_as_followed")(s)
        yield s


def changed(data: bytes, *does: Does) -> bytes | None:
    s = model().program.initial().__class__(model().program.layout, data)
    return s.key() if all(d(s) for d in does) else None


def tried(pairs: Sequence[tuple[Does, Does]], those: Iterable[Any] = ()) -> tuple[int, int]:
    """On how many states both of a pair were possible, and on how many of these the order matters.

    Args:
        those: the states; none: of two processes.
    """
    both = wrong = 0
    for s in those or states(53):
        data = s.key()
        for x, y in pairs:
            if changed(data, x) is not None and changed(data, y) is not None:
                both += 1
                wrong += changed(data, x, y) != changed(data, y, x)
    return both, wrong


@pytest.mark.slow(seconds=8)
def test_what_is_declared_to_commute_does() -> None:
    known = deeds()
    pairs = []
    for one, other in (*COMMUTE, *COMMUTE_APART):
        if one in known:
            pairs += [(x, y) for x in known[one][:1] for y in known[other][-1:]]
    pairs.append((lambda s: gives_up(s, F), lambda s: gives_up(s, L)))
    both, wrong = tried(pairs)
    assert both > 1000
    assert not wrong


def of_one() -> dict[str, list[Does]]:
    """By label, what one process does, at either end of its connections: it may follow itself."""

    def towards(s: Any) -> Any:
        return s.leader[F]

    def loses(s: Any) -> bool:
        return towards(s) >= 0 and s.link[F][towards(s)] in (LOST, FOLLOWER_OPEN)

    return {
        "send_to_leader": [
            lambda s: towards(s) >= 0 and call("send_to_leader")(s, F, message("CEPOCH", 2)) is None,
        ],
        "send_to_follower": [
            lambda s, f=f, k=k: call("send_to_follower")(s, F, f, message("NEWEPOCH", k)) is None
            for k, f in enumerate((F, L, L))
        ],
        "to_leader": [lambda s, f=f: taken(s, f, F) for f in (F, L)],
        "to_follower": [lambda s: received(s, F)],
        "leader_learns": [lambda s, f=f: leader_learns(s, f, F) for f in (F, L)],
        "follower_learns": [loses],
        "disconnect": [own_end],
        "close_accepted": [always("close_accepted", F)],
        "closed": [lambda s: gives_up(s, F)],
    }  # fmt: skip


def own_end(s: Any) -> bool:
    """`disconnect` of one that may lead, without `close_accepted`, which is a label of its own."""
    held = {f: (s.link[f][F], [m.epoch for m in s.to_leader[f][F]]) for f in (L, OTHER)}
    call("disconnect")(s, F)
    for f, (link, sent) in held.items():
        s.link[f][F] = link
        s.to_leader[f][F].clear()
        for epoch in sent:
            s.to_leader[f][F].append(message("CEPOCH", epoch))
    return True


def states_of_one() -> Iterator[Any]:
    """Ways a process can be that follows itself or another, and leads or not; a seventh of them."""
    nobody = -1
    ways = itertools.product(
        (nobody, F, L), (OPEN, LOST, FOLLOWER_OPEN), (ELECTION, FOLLOWING, LEADING), (nobody, F),
        (OPEN, LOST, FOLLOWER_OPEN), range(3), range(3), range(3),
    )  # fmt: skip
    for way in itertools.islice(ways, 0, None, 7):
        leader, end, role, led, led_end, up, own, down = way
        if leader == F and end != OPEN:  # its connection to itself is not lost, and it closes both ends at once
            continue
        s = model().program.initial()
        s.role[F], s.role[L] = role, LEADING if leader == L else ELECTION
        for p, l, of in ((F, leader, end), (L, led, led_end)):
            if l != nobody:
                s.leader[p], s.link[p][l] = l, of
        for channel, count in ((s.to_leader[L][F], up), (s.to_leader[F][F], own)):
            for k in range(count):
                channel.append(message("CEPOCH", k))
        for k in range(down):
            s.to_follower[F].append(message("NEWEPOCH", k))
        assert call("connected_as_followed")(s)
        yield s


def order_of_one(one: str, other: str) -> tuple[int, int]:
    """On how many states two deeds of one process are possible, and on how many of these the order matters."""
    known = of_one()
    return tried([*itertools.product(known[one], known[other])], states_of_one())


@pytest.mark.slow(seconds=8)
def test_what_one_process_does_commutes_where_that_is_declared() -> None:
    for one, other in COMMUTE:
        if one in of_one():
            both, wrong = order_of_one(one, other)
            assert not wrong, (one, other)
            assert both > 0, (one, other)


@pytest.mark.slow(seconds=2)
def test_what_one_process_does_has_an_order_where_two_commute() -> None:
    for one, other in COMMUTE_APART:
        assert order_of_one(one, other)[1] > 0, (one, other)


def test_what_is_not_declared_is_told_apart() -> None:
    """The states are enough to see that a pair does not commute."""
    lose: Does = lambda s: s.link[F][L] == OPEN and call("lose")(s, F, L) is None  # noqa: E731
    known = deeds()
    for x, y in ((lose, known["send_to_leader"][0]), (lose, known["disconnect"][0])):
        assert any(
            changed(s.key(), x) is not None and changed(s.key(), x, y) != changed(s.key(), y, x) for s in states(37)
        )


def test_every_declared_label_is_tried() -> None:
    labels = {name for pair in (*COMMUTE, *COMMUTE_APART) for name in pair}
    assert labels == set(deeds()) | {"accept", "establish"}
    assert connections.COMMUTE[-2:] == (("accept", "accept"), ("establish", "establish"))


def noted(name: str, source: random.Random) -> Does:
    """A call of the history, by somebody, of something."""
    epoch, k = source.randrange(1, 4), source.randrange(1, 3)
    if name == "establish":
        return lambda s: call("establish")(s, epoch, s.history[source.randrange(3)]) is None
    return always("accept", source.randrange(3), epoch, call("Txn")(epoch=1, counter=k, value=k))


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", ["accept", "establish"])
def test_what_the_history_notes_commutes(name: str) -> None:
    """On states that such calls lead to, with transactions that were abcast."""
    source, txn = random.Random(5), call("Txn")
    for _ in range(400):
        s = model().program.initial()
        s.abcasts = source.randrange(3)
        for k in range(s.abcasts):
            s.abcast_txn[k] = txn(epoch=1, counter=k + 1, value=k + 1)
            for p in range(3):
                if source.random() < 0.5:
                    s.history[p].append(s.abcast_txn[k])
        for _ in range(source.randrange(6)):
            noted(name, source)(s)
        seeds = source.random(), source.random()
        assert twice(s.key(), name, seeds) == twice(s.key(), name, seeds[::-1])


def twice(data: bytes, name: str, seeds: tuple[float, ...]) -> bytes | None:
    return changed(data, *(noted(name, random.Random(seed)) for seed in seeds))
