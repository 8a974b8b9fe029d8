"""`zabcheck variants` and `zabcheck properties`: what there is to choose from."""

from __future__ import annotations

import click

from checker.commands import completing
from checker.commands.common import HELD, PROTOCOL_HELP, Answer, Subcommand, protocol_named, table

__all__ = ["properties", "variants"]

OF_PROTOCOL = click.option(
    "--protocol", metavar="NAME", shell_complete=completing.protocols, help=f"Of this one alone: {PROTOCOL_HELP}"
)


WORDS = click.argument("words", nargs=-1, metavar="[WORD]...")


@click.command(cls=Subcommand)
@WORDS
@OF_PROTOCOL
def variants(words: tuple[str, ...], protocol: str | None) -> Answer:
    """The protocols' variants: one rule changed in each.

    With WORDs those that all of them are said of: zabcheck variants joiner proposals."""
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
            breaks = "nothing: it holds" if v.safe else ", ".join(found) or NOBODY_SAID[bool(given)]
            rows.append((chosen.name, name, v.rule, breaks, budget, " ".join(v.summary.split())))
    head = ("protocol", "variant", "rule", "breaks", "shown within", "what is changed")
    return Answer(HELD, [table(head, having(words, rows, "variant"))], long=True)


NOBODY_SAID = {True: "nothing within it", False: ""}  # of a text of somebody's own an exploration says what it breaks


def having(words: tuple[str, ...], rows: list[tuple[str, ...]], what: str) -> list[tuple[str, ...]]:
    """Return the rows that have all of some words, in any column and in any case.

    Raises:
        UsageError: none has.
    """
    found = [row for row in rows if all(word.lower() in " ".join(row).lower() for word in words)]
    if not found:
        raise click.UsageError(f"no {what} is described with {' and '.join(map(repr, words))}")
    return found


@click.command(cls=Subcommand)
@WORDS
@OF_PROTOCOL
def properties(words: tuple[str, ...], protocol: str | None) -> Answer:
    """The properties, where the papers state them, and the premise that puts each to the test.

    With WORDs those that all of them are said of: zabcheck properties primary order."""
    from invariants import NO_RUNTIME_ERROR, PROPERTIES, properties_of

    own = protocol is not None and not protocol_named(protocol).declared.bounded_by_world
    rows = []
    for p in PROPERTIES if protocol is None else (*properties_of(protocol), *([NO_RUNTIME_ERROR] if own else [])):
        if protocol is not None and not p.judges(protocol):
            continue
        name = p.name if p.default else f"{p.name} ({'always' if p is NO_RUNTIME_ERROR else 'only if named'})"
        rows.append((name, p.source, p.premise, " ".join(p.statement.split())))
    head = ("property", "source", "premise", "statement")
    return Answer(HELD, [table(head, having(words, rows, "property"))], long=True)
