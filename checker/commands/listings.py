"""`zabcheck variants` and `zabcheck properties`: what there is to choose from."""

from __future__ import annotations

import click

from checker.commands import completing
from checker.commands.common import HELD, PROTOCOL_HELP, Answer, Subcommand, protocol_named, table

__all__ = ["properties", "variants"]

OF_PROTOCOL = click.option(
    "--protocol", metavar="NAME", shell_complete=completing.protocols, help=f"Of this one alone: {PROTOCOL_HELP}"
)


@click.command(cls=Subcommand)
@OF_PROTOCOL
def variants(protocol: str | None) -> Answer:
    """The protocols' variants: one rule changed in each."""
    from checker.ci.variants import shown
    from zabspec.protocols.registry import NAMES, PROTOCOLS

    known = {module: name for name, module in NAMES.items()}
    rows = []
    for chosen in [protocol_named(protocol)] if protocol is not None else PROTOCOLS.values():
        module = chosen.declared.module
        entries = shown(known[module]) if module in known else {}  # nothing is on record of user protocols
        for name, v in chosen.variants.items():
            there = entries.get(name)
            beside, given = (there.beside, there.within) if there is not None else ((), {})
            budget = " ".join(
                [f"--repair {','.join(beside)}"] * bool(beside)
                + [f"--{field.replace('_', '-')} {value}" for field, value in given.items()]
            )
            found = there.breaks if there is not None else ()
            breaks = "holds" if v.safe else ", ".join(found) or NOBODY_SAID[bool(given)]
            rows.append((chosen.name, name, v.rule, breaks, budget, " ".join(v.summary.split())))
    return Answer(
        HELD, [table(("protocol", "variant", "rule", "breaks", "shown within", "what is changed"), rows)], long=True
    )


NOBODY_SAID = {True: "nothing within it", False: ""}  # of a text of somebody's own an exploration says what it breaks


@click.command(cls=Subcommand)
@OF_PROTOCOL
def properties(protocol: str | None) -> Answer:
    """The properties, where the papers state them, and the premise that puts each to the test."""
    from invariants import NO_RUNTIME_ERROR, PROPERTIES, properties_of

    own = protocol is not None and not protocol_named(protocol).declared.bounded_by_world
    rows = []
    for p in PROPERTIES if protocol is None else (*properties_of(protocol), *([NO_RUNTIME_ERROR] if own else [])):
        if protocol is not None and not p.judges(protocol):
            continue
        name = p.name if p.default else f"{p.name} ({'always' if p is NO_RUNTIME_ERROR else 'only if named'})"
        rows.append((name, p.source, p.premise, " ".join(p.statement.split())))
    return Answer(HELD, [table(("property", "source", "premise", "statement"), rows)], long=True)
