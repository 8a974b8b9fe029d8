"""Protocols in which wanted kinds of steps can occur, or which have wanted features: a campaign adds them where the
usual ones have too few of a kind.

The protocol of a seed is drawn anew, from further seeds of the same size, until its source has what the kind needs; its
request then gets the network, the processes and the budgets. What is drawn for a campaign that favours nothing stays
as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.second.generator.requests import NETWORKS, STALE, at_least
from tests.second.generator.systems import may_count
from tests.second.generator.text import Builder, Generated, protocol

APART = 1 << 20  # between the seeds that one is drawn anew from: a multiple of 16, with which shapes grow
MOST = 2000  # draws
MAX_STATES = 300  # of a model: what matters is that the steps are there
OF_NETWORKS = {"lossy": "drops", "duplicating": "duplicates"}


@dataclass(frozen=True)
class Need:
    """What a kind of step needs.

    Attributes:
        world: the one that has it; empty: both have.
        source: words that the source has to have.
        nodes: how many processes at least.
        budgets: how much at least of each.
        features: declared features (`Features`), which are drawn in any case.
    """

    world: str
    source: tuple[str, ...]
    nodes: int = 1
    budgets: Mapping[str, int] = field(default_factory=dict)
    features: frozenset[str] = frozenset()


# what a protocol with roles does not have, or is refused for
OF_ONE_KIND = ("MAJORITY", "def on_message(", "transactions=True", "def test_quorum", "is_quorum(s, {q for q in range")
OF_MEMBERS = ("transactions=True", "def is_down(", "on_disk(")  # what one whose members change is refused for
ELECTS, DISK = "elects=(", "on_disk("
NEEDS = {
    "heartbeat": Need("datagrams", ("timer == 1",), budgets={"heartbeats": 1}),
    "join": Need("connections", (ELECTS,), nodes=3),
    "elect": Need("connections", (ELECTS,)),
    "crash_inside": Need("", (DISK,), budgets={"crashes": 1}),
    "power_loss_inside": Need("", (DISK,), budgets={"power_losses": 1}),
    "crash_electing": Need("connections", (ELECTS, DISK), budgets={"crashes": 1}),
    "power_loss_electing": Need("connections", (ELECTS, DISK), budgets={"power_losses": 1}),
    "bounded_by_world": Need("", ("bounded_by_world=True",), features=frozenset({"bounded_by_world"})),
    "transactions": Need("", ("transactions=True",), features=frozenset({"transactions"})),
    "own_down": Need("", ("def is_down(",), features=frozenset({"own_down"})),
    "choosy": Need("connections", ("def oracle_may_name(",), features=frozenset({"choosy"})),
    "quorums": Need("", ("is_quorum(",), features=frozenset({"quorums"})),
    "roles": Need("datagrams", ("roles=",), nodes=2, features=frozenset({"roles"})),
    "maps": Need("", ("latest: Each[",), nodes=2, features=frozenset({"maps"})),
    "crossed": Need("", ("def names_one(",), nodes=2, features=frozenset({"crossed"})),
    "timers": Need("", ("@fires(",), nodes=2, features=frozenset({"timers"})),
    "clocks": Need("datagrams", ("clock(",), nodes=2, features=frozenset({"clocks"})),
    "members": Need("datagrams", ("def knows_something(",), nodes=2, features=frozenset({"members"})),
    "binding": Need("", ("def takes_other(",), features=frozenset({"binding"})),
}


def need_of(wanted: str) -> tuple[str, str, Need]:
    """Return the world (empty: any), the network (empty: any) and the need of a wanted kind of step.

    Args:
        wanted: `join`, or several kinds that one protocol is to have: `join+crash_electing`; or with a network in
            front, as the table of what was covered has it: `connections fifo: join`.

    Raises:
        ValueError: a kind cannot be favoured, no protocol has these together, or there is no such network.
    """
    where, _, kinds = wanted.rpartition(": ")
    if unknown := [kind for kind in kinds.split("+") if kind not in NEEDS]:
        raise ValueError(f"{unknown[0]} cannot be favoured: {', '.join(NEEDS)} can")
    need = together([NEEDS[kind] for kind in kinds.split("+")])
    world, network = need.world, where.removeprefix("connections ")
    if where:
        world = "connections" if where.startswith("connections ") else "datagrams"
        if network not in (*NETWORKS[world], STALE) or need.world not in ("", world):
            raise ValueError(f"{wanted}: there is no such step")
    return world, network, need


def together(needs: Sequence[Need]) -> Need:
    """What several kinds of steps need in one protocol.

    Raises:
        ValueError: they are of different worlds.
    """
    worlds = {need.world for need in needs if need.world}
    if len(worlds) > 1:
        raise ValueError(f"no protocol is of {' and of '.join(sorted(worlds))}")
    source = tuple(dict.fromkeys(word for need in needs for word in need.source))
    budgets = {name: max(n.budgets.get(name, 0) for n in needs) for need in needs for name in need.budgets}
    features = frozenset().union(*(need.features for need in needs))
    return Need("".join(worlds), source, max(need.nodes for need in needs), budgets, features)


def drawn(seed: int, wanted: Sequence[str] = ()) -> Generated:
    """The protocol of a seed; one in which a wanted kind of step can occur, if any is wanted."""
    return favoured(seed, wanted) if wanted else protocol(seed)


def favoured(seed: int, wanted: Sequence[str]) -> Generated:
    """The protocol of a seed in which one of several wanted kinds of steps can occur, each in its turn.

    Raises:
        ValueError: one cannot be favoured.
    """
    world, network, need = need_of(wanted[(seed + seed // 16) % len(wanted)])  # each with every size of shapes
    for k in range(1, MOST):
        builder = Builder(seed + k * APART, need.features)
        there = builder.words.world
        if world not in ("", there) or (DISK in need.source and not builder.words.disks):
            continue
        made = builder.built()
        if "system" in made.request and may_count(made.text):
            continue
        if "roles" in made.request and any(word in made.text for word in OF_ONE_KIND):
            continue
        if "members" in need.features and any(word in made.text for word in OF_MEMBERS):
            continue
        if not made.features["order"] and all(word in made.text for word in need.source):
            chosen = network or Random(f"favoured {seed}").choice(NETWORKS[there])
            request = over_network(made.request, there, chosen)
            request["max_states"] = MAX_STATES * (5 if made.features.get("most") else 1)
            there_least = made.features.get("least", {"nodes": 1, "budgets": {}})
            budgets = {**there_least["budgets"], **need.budgets}
            least = {"nodes": max(need.nodes, there_least["nodes"]), "budgets": budgets}
            features = {**made.features, "least": least}
            return replace(made, seed=seed, request=at_least(request, least), features=features)
    raise ValueError(f"no protocol in {MOST} has {' and '.join(need.source)}")


def over_network(request: Mapping[str, Any], world: str, network: str) -> dict[str, Any]:
    """A request over another network, with the budget that it alone has over connections."""
    budgets = dict(request["budgets"])
    if world == "connections" and network != request["network"]:
        budgets = {name: amount for name, amount in budgets.items() if name not in OF_NETWORKS.values()}
        if network in OF_NETWORKS:
            budgets[OF_NETWORKS[network]] = 1
    return {**request, "network": network, "budgets": budgets}
