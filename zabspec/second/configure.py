"""From a request to a model: budgets, sizes, capacities, variants and starts (sections 5, 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zabspec.second import connections, datagrams, language
from zabspec.second.kinds import MessageUnion, Record
from zabspec.second.language import Declaration, MessageName, RecordName, Size
from zabspec.second.load import Loader, Program, chosen
from zabspec.second.world import Model, World

WORLDS = {
    "datagrams": (datagrams.Datagrams, datagrams.NETWORKS),
    "connections": (connections.Connections, connections.NETWORKS),
}
WORLD_BUDGETS = {
    "datagrams": ("timeouts", "heartbeats", "crashes", "power_losses", "outages", "drops", "duplicates"),
    "connections": ("timeouts", "crashes", "power_losses", "outages", "losses", "partitions", "drops", "duplicates"),
}
USUAL = {"datagrams": {"timeouts": 2}, "connections": {"timeouts": 2, "crashes": 1, "losses": 1}}  # B3
ALLOWED_ON = {"drops": "lossy", "duplicates": "duplicating"}  # over connections (B2)


def user_model(request: dict[str, Any], path: Path) -> World:
    """Return the model of a user protocol in a file."""
    loader = Loader(path)
    main = loader.run(path)
    declaration = main.PROTOCOL
    overrides = chosen(listed(declaration.variants), request.get("variant") or "")
    program = Program([main], list(loader.modules.values()), overrides)
    return user_world(main, program, request)


def amounts_of(world: str, network: str, given: dict[str, int], declared: dict[str, int]) -> dict[str, int]:
    """Return the amount of every budget (B3, B4).

    Args:
        world, network: where.
        given: what the request says.
        declared: what the protocol says.
    """
    amounts = {b: given.get(b, declared.get(b, 0)) for b in (*WORLD_BUDGETS[world], *declared)}
    if world == "connections":
        for budget, allowed in ALLOWED_ON.items():
            if network != allowed and budget not in declared:
                amounts[budget] = 0
    return amounts


def user_world(main: Any, program: Program, request: dict[str, Any]) -> World:
    """Return the model of a user protocol in a module."""
    declaration: Declaration = main.PROTOCOL
    made, networks = WORLDS[declaration.world]
    network = request.get("network") or declaration.network or networks[0]
    declared = dict(declaration.budgets)
    bounded, variant = declaration.bounded_by_world, bool(program.overrides)
    given = {**(USUAL[declaration.world] if bounded else {}), **declared, **(request.get("budgets") or {})}
    amounts = amounts_of(declaration.world, network, given, declared)
    amounts |= {name: given.get(name, n) for name, n in language.parameters_of(main).items()}
    sizes = request.get("sizes") or {}
    txns = sizes.get("txns", 2) if declaration.transactions else 0
    counts = {role: given.get(role, n) for role, n in declaration.roles.items()}
    nodes = sum(counts.values()) or request.get("nodes") or declaration.nodes
    size = Size(nodes, {**amounts, **counts}, txns, request.get("quorums") or "")
    say_variant(size, listed(declaration.variants), request.get("variant") or "")
    if declaration.transactions:
        size.with_epochs(sizes.get("max_epoch") or epochs_of(declaration, size, network))
    channel = sizes.get("channel") or room_of(declaration, size, network, variant)
    up, down = channel if isinstance(channel, tuple) else (channel, channel)
    size.log = 2 * size.txns if declaration.world == "datagrams" else size.txns + amounts["duplicates"]
    types = bind_types(main, program, size)
    messages = MessageUnion(language.messages_of(main, size))
    bind_messages(messages, program)
    starts = [f for f in program.names.values() if getattr(f, "begins_runs", False)]
    starts += [program.current(s.function) for s in declaration.starts if s.name == request.get("start")]
    model = Model(
        program=program,
        size=size,
        fields=[g for f in language.fields_of(main.State, size) for g in (f, f.ended_by) if g is not None],
        drift=amounts[declaration.drift] if isinstance(declaration.drift, str) else declaration.drift,
        founders=founders(declaration, counts, nodes),
        messages=messages,
        network=networks.index(network),
        amounts=amounts,
        own=[b for b in declared if b not in WORLD_BUDGETS[declaration.world]],
        up=up,
        down=down,
        unforced=sizes.get("unforced", declaration.unforced),
        transactions=declaration.transactions,
        revises=declaration.revises,
        elects=tuple(declaration.elects),
        literal=bool(request.get("literal")),
        starts=tuple(starts),
        counts=counts,
        keeps_down=getattr(program.hook("is_down"), "__globals__", None) is program.names,
    )
    language.RECORDS.update(types)
    return made(model)


def founders(declaration: Declaration, counts: dict[str, int], nodes: int) -> list[int] | None:
    """Return who is a member at the beginning (U1); None: members do not change."""
    if declaration.members is None:
        return None
    out: list[int] = []
    begin = 0
    named = declaration.members if counts else {"": declaration.members}
    for role, count in (counts or {"": nodes}).items():
        out += range(begin, begin + named.get(role, count))
        begin += count
    return out


def say_variant(size: Size, variants: list, names: str) -> None:
    """Write into a size which variant it is of, and how often that gives up without a fault (B1, N3)."""
    size.variant = names
    size.given_up = sum(v.gives_up(size.txns) for v in variants if v.gives_up and v.name in names.split(","))


def epochs_of(declaration: Declaration, size: Size, network: str) -> int:
    """Return the largest epoch of a user protocol with transactions (B1, B7)."""
    if declaration.epochs:
        return declaration.epochs(size)
    return bounding_epoch(declaration.world, size, network) if declaration.bounded_by_world else size.nodes


def bounding_epoch(world: str, size: Size, network: str) -> int:
    """Return the largest epoch that a world bounds a protocol by: that of `zab`, and that of `db19` (O4)."""
    amounts = size.budgets
    if world == "datagrams":
        return size.nodes + amounts["timeouts"] + amounts["crashes"] + size.given_up
    more = network in ("unordered", "stale")
    iterations = 1 + size.given_up + sum(amounts[b] for b in WORLD_BUDGETS[world]) + more
    return max(1, size.nodes * iterations // size.smallest_quorum)


def room_of(declaration: Declaration, size: Size, network: str, variant: bool) -> int | tuple[int, int]:
    """Return how many messages may be in flight, or in a channel to a leader and to a follower (B6, B7)."""
    if declaration.flight:
        return declaration.flight(size)
    if not declaration.bounded_by_world or declaration.world == "datagrams":
        return 32
    return bounding_room(size, network, variant)


def bounding_room(size: Size, network: str, variant: bool) -> tuple[int, int]:
    """Return the capacities of `zab` (C2)."""
    txns, twice = size.txns, 2 * size.budgets["duplicates"]
    if not variant and network == "fifo" and not size.system:
        return 2 + txns, max(2 + txns, 1 + 2 * txns)
    over = 1 + sum(size.budgets[b] for b in WORLD_BUDGETS["connections"]) if network == "stale" else 1
    return over * (3 + txns + twice), over * (3 + 3 * txns + twice)


def bind_types(main: Any, program: Program, size: Size) -> dict[str, Record]:
    """Return the records of a protocol by name, `Txn` among them if it has transactions."""
    language.RECORDS.clear()
    if main.PROTOCOL.transactions:
        language.RECORDS["Txn"] = size.txn
    language.RECORDS.update(language.records_of(main, size))
    for name in language.RECORDS:
        program.names.setdefault(name, RecordName(name))
    return dict(language.RECORDS)


def bind_messages(messages: MessageUnion, program: Program) -> None:
    """Let the constants of a source make these messages."""
    language.MESSAGES.clear()
    language.MESSAGES.update(messages.by_name)
    for name in messages.by_name:
        program.names.setdefault(name, MessageName(name))


def listed(variants: Any) -> list:
    """Return the variants that a source has, in a list or by name."""
    return list(variants.values()) if isinstance(variants, dict) else list(variants)
