"""`zabcheck variants` and `zabcheck properties`: what there is to choose from."""

from __future__ import annotations

import click

from checker.commands.common import Subcommand, table

__all__ = ["properties", "variants"]


@click.command(cls=Subcommand)
def variants() -> int:
    """The protocols' variants: one rule changed in each."""
    from zabspec.protocols import PROTOCOLS

    rows = []
    for protocol in PROTOCOLS.values():
        for name, v in protocol.variants.items():
            budget = " ".join(f"--{field.replace('_', '-')} {value}" for field, value in v.budget.items())
            breaks = "holds" if v.safe else ", ".join(v.breaks) or "nothing within it"
            rows.append((protocol.name, name, v.rule, breaks, budget, " ".join(v.summary.split())))
    return table(("protocol", "variant", "rule", "breaks", "shown within", "what is changed"), rows)


@click.command(cls=Subcommand)
def properties() -> int:
    """The properties, where the papers state them, and the premise that puts each to the test."""
    from invariants import PROPERTIES

    rows = []
    for p in PROPERTIES:
        name = p.name if p.default else f"{p.name} (only if named)"
        rows.append((name, p.source, p.premise, " ".join(p.statement.split())))
    return table(("property", "source", "premise", "statement"), rows)
