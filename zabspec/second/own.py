"""The protocols that come with zabcheck (section 18)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from zabspec.second import configure, language
from zabspec.second.connections import NETWORKS as CONNECTIONS
from zabspec.second.connections import Connections
from zabspec.second.datagrams import NETWORKS as DATAGRAMS
from zabspec.second.datagrams import Datagrams
from zabspec.second.kinds import MessageUnion
from zabspec.second.language import Size
from zabspec.second.load import ROOT, Loader, Program, chosen
from zabspec.second.world import Model, World

PROTOCOLS = ROOT / "zabspec" / "protocols"
ZOOKEEPER = ROOT / "zabspec" / "zookeeper" / "text.py"
SOURCES = {
    "zab": [ROOT / "zabspec" / "zab.py"],
    "ladis": [PROTOCOLS / "ladis_oracle.py", PROTOCOLS / "ladis.py"],
    "db19": [PROTOCOLS / "election.py", PROTOCOLS / "db19.py"],
}
AMOUNTS = {
    "zab": {"timeouts": 2, "crashes": 1, "losses": 1},
    "ladis": {"timeouts": 2, "crashes": 1, "losses": 1},
    "db19": {"timeouts": 2},
}


def build(request: dict[str, Any]) -> World:
    """Return the model that a request names."""
    name = request["protocol"]
    if name in SOURCES:
        return built_in(request)
    return configure.user_model(request, ZOOKEEPER if name == "zookeeper" else Path(name))


def built_in(request: dict[str, Any]) -> World:
    """Return the model of a protocol whose budgets and bounds are its world's (O3)."""
    name, sizes = request["protocol"], request.get("sizes") or {}
    world, networks = ("datagrams", DATAGRAMS) if name == "db19" else ("connections", CONNECTIONS)
    network = request.get("network") or networks[0]
    loader = Loader(SOURCES[name][-1])
    variants = loader.run(PROTOCOLS / f"{name}_variants.py").VARIANTS if request.get("variant") else []
    mains = [loader.run(path) for path in SOURCES[name]]
    overrides = chosen(configure.listed(variants), request.get("variant") or "")
    program = Program(mains, list(loader.modules.values()), overrides)
    given = {**AMOUNTS[name], **(request.get("budgets") or {})}
    amounts = configure.amounts_of(world, network, given, {})
    size = Size(request.get("nodes") or 3, amounts, sizes.get("txns", 2), request.get("quorums") or "")
    configure.say_variant(size, configure.listed(variants), request.get("variant") or "")
    size.with_epochs(sizes.get("max_epoch") or largest_epoch(name, size, bool(overrides), network))
    fields, messages = declared(name, mains, size)
    union = MessageUnion(messages)
    configure.bind_messages(union, program)
    up, down = capacities(name, size, bool(overrides), network)
    model = Model(
        program=program,
        size=size,
        fields=fields,
        messages=union,
        network=networks.index(network),
        amounts=amounts,
        own=[],
        up=sizes.get("channel") or up,
        down=sizes.get("channel") or down,
        unforced=sizes.get("unforced", 4),
        user=False,
        transactions=True,
        revises=name == "db19",
        literal=bool(request.get("literal")),
    )
    return Datagrams(model) if name == "db19" else Connections(model)


def largest_epoch(name: str, size: Size, variant: bool, network: str) -> int:
    """Return the largest epoch of a model (O4)."""
    if name == "ladis":
        instances = 1 + sum(size.budgets.values())
        most = (size.nodes * instances - 1) // size.smallest_quorum + 1
        return most if variant else min(size.txns + 1, most)
    return configure.bounding_epoch("connections" if name == "zab" else "datagrams", size, network)


def capacities(name: str, size: Size, variant: bool, network: str) -> tuple[int, int]:
    """Return the capacities of the network: to a leader and to a follower (C2), or in flight (B6)."""
    txns, twice = size.txns, 2 * size.budgets["duplicates"]
    if name == "zab":
        return configure.bounding_room(size, network, variant)
    if name == "ladis":
        return 3 + txns + twice, 5 + 2 * txns + twice
    return 32, 32


def declared(name: str, mains: list[ModuleType], size: Size) -> tuple[list, list]:
    """Return the fields and messages of a protocol, and bind the names of its records (O3)."""
    main, txns = mains[-1], size.txns
    language.RECORDS.clear()
    language.RECORDS.update(language.records_of(main, size), Txn=size.txn)
    size.log = 2 * txns if name == "db19" else txns + size.budgets["duplicates"]
    return language.fields_of(main.State, size), language.messages_of(main, size)
