"""What is asked of a generated protocol: processes, network, budgets, properties."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from tests.second.generator.systems import with_system

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

NETWORKS = {
    "datagrams": ("datagrams", "ordered", "ordered", "fifo"),
    "connections": ("fifo", "lossy", "unordered", "duplicating"),
}
STALE, OFTEN = "stale", 0.2  # it is drawn apart, so that the other protocols stay as they were
MAX_STATES = 700
USUAL = {"datagrams": ("timeouts",), "connections": ("timeouts", "crashes", "losses")}  # of those bounded by it
FEW = 0.3
MOST_FEW = 0.6
FAULTS = ("crashes", "drops", "duplicates", "losses")


def request_for(b: Builder, properties: list[str]) -> dict[str, Any]:
    """A request that fits the protocol of a builder."""
    random, words = b.random, b.words
    network = random.choice(NETWORKS[words.world])
    if words.world == "connections" and not any("elects=" in d for d in b.declared):
        network = STALE if Random(f"{b.seed} stale").random() < OFTEN else network
    faults = {"crashes": 0.35}
    if words.world == "datagrams":
        faults |= {"drops": 0.3, "duplicates": 0.3}
    else:
        faults |= {"losses": 0.6, "partitions": 0.3}
        faults |= {"drops": 0.9} if network == "lossy" else {}
        faults |= {"duplicates": 0.9} if network == "duplicating" else {}
    if any(c.role == "on_disk" for c in words.cells):
        faults |= {"power_losses": 0.7}
    budgets = dict(words.budgets)
    for name, p in faults.items():
        budgets[name] = 1 if random.random() < p else 0
    if b.usual:  # how much there is of these is not said
        budgets = {name: n for name, n in budgets.items() if name not in USUAL[words.world]}
    budgets |= {name: min(max(budgets.get(name, 0), b.least[name]), b.most[name]) for name in b.least}
    if b.most:  # little of all others, so that the model is explored to the end, as ample sets are compared
        few = Random(f"{b.seed} few")
        kept = {*b.least, "elections"}
        budgets = {name: n if name in kept or few.random() < FEW else 0 for name, n in budgets.items()}
    if b.small:  # the same, of what is spent as well
        few = Random(f"{b.seed} small")
        budgets = {name: min(n, 1) if name in words.budgets or few.random() < MOST_FEW else 0 for name, n in
                   budgets.items()}  # fmt: skip
    nodes = random.choice((2, 2, 2, 3, 3, 1)) if words.world == "datagrams" else random.choice((2, 2, 3))
    request: dict[str, Any] = {
        "variant": "other" if any("variants=" in d for d in b.declared) and random.random() < 0.5 else "",
        "start": "already" if any("starts=" in d for d in b.declared) and random.random() < 0.7 else "",
        "nodes": 2 if b.most else nodes,
        "network": network,
        "budgets": budgets,
        "sizes": {"txns": Random(f"{b.seed} txns").choice((1, 2))} if b.transactions else {},
        "max_states": MAX_STATES,
        "max_depth": None,
        "properties": properties,
    }
    if b.roles is not None:
        request |= {"roles": b.roles, "skew": random.random() < 0.6, "nodes": random.choice((2, 3, 4, 4))}
    return with_system(request if b.system is None else {**request, "system": b.system})


def at_least(request: Mapping[str, Any], least: Mapping[str, Any]) -> dict[str, Any]:
    """A request with no fewer processes, and no less of some budgets, than there have to be."""
    budgets = dict(request["budgets"])
    budgets |= {name: max(amount, budgets.get(name, 0)) for name, amount in least["budgets"].items()}
    return with_system({**request, "nodes": max(least["nodes"], request["nodes"]), "budgets": budgets})


def at_most(request: Mapping[str, Any], most: Mapping[str, int]) -> dict[str, Any]:
    """A request with no more of some budgets than there may be."""
    return {**request, "budgets": {name: min(n, most.get(name, n)) for name, n in request["budgets"].items()}}


def larger(request: dict[str, Any], random: Random) -> dict[str, Any]:
    """A request with more: a process, or more of a budget."""
    out = {**request, "budgets": dict(request["budgets"])}
    raisable = [name for name, n in out["budgets"].items() if 0 < n < 3 and name not in out.get("roles", ())]
    if out["nodes"] < 2 or (out["nodes"] < 3 and random.random() < 0.5):
        out["nodes"] += 1
        out = with_system(out)
    elif raisable and random.random() < 0.6:
        out["budgets"][random.choice(raisable)] += 1
    else:
        for name in FAULTS:
            if out["budgets"].get(name) == 0:
                out["budgets"][name] = 1
                return out
        for name in raisable:
            out["budgets"][name] += 1
    return with_system(out)


def smaller(request: dict[str, Any], random: Random) -> dict[str, Any]:
    """A request with less."""
    out = {**request, "budgets": dict(request["budgets"])}
    kept = ("elections", *out.get("roles", ()))
    reducible = [name for name, n in out["budgets"].items() if n > 0 and name not in kept]
    several = [name for name in reducible if out["budgets"][name] > 1]
    if out["nodes"] > 2 and random.random() < 0.5:
        out["nodes"] -= 1
        out = with_system(out)
    elif several:
        out["budgets"][random.choice(several)] -= 1
    elif len(reducible) > 1:
        out["budgets"][random.choice(reducible)] = 0
    elif out["nodes"] > 1:
        out["nodes"] -= 1
    return with_system(out)
