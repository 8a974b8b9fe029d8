"""`zabcheck variants` and `zabcheck properties`: list what a user can choose from."""

from __future__ import annotations

import click

from checker.commands import completing
from checker.commands.common import PROTOCOL_HELP, Answer, Subcommand
from checker.commands.publishing import publish

WORDS = click.argument("words", nargs=-1, metavar="[WORD]...")
OF_PROTOCOL = click.option(
    "--protocol",
    metavar="NAME",
    shell_complete=completing.protocols,
    help=f"List only those of this protocol: {PROTOCOL_HELP}",
)
JSON = click.option("--json", "as_json", is_flag=True, help="The list as JSON.")


@click.command(cls=Subcommand)
@WORDS
@OF_PROTOCOL
@JSON
def variants(words: tuple[str, ...], protocol: str | None, as_json: bool) -> Answer:
    """List the protocols' variants: each changes one rule.

    With WORDs, list only variants whose description has all of them: zabcheck variants joiner proposals.
    """
    from checker.ci.listed import variants_listed

    return publish(variants_listed(words, protocol), as_json, long=True)


@click.command(cls=Subcommand)
@WORDS
@OF_PROTOCOL
@JSON
def properties(words: tuple[str, ...], protocol: str | None, as_json: bool) -> Answer:
    """List the properties, where the papers state them, and their premises.

    With WORDs, list only properties whose description has all of them: zabcheck properties primary order.
    """
    from checker.ci.listed import properties_listed

    return publish(properties_listed(words, protocol), as_json, long=True)
