"""`zabcheck completion`: print the script with which a shell completes the words of a command."""

from __future__ import annotations

import click

from checker.commands import completing
from checker.commands.common import Subcommand
from checker.ending import Answer

EXAMPLES = """\b
Where to put it:
  bash   eval "$(zabcheck completion bash)"        in ~/.bashrc
  zsh    eval "$(zabcheck completion zsh)"         in ~/.zshrc, after compinit
  fish   zabcheck completion fish > ~/.config/fish/completions/zabcheck.fish
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(completing.SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> Answer:
    """Print a script with which a shell completes commands, flags and the names of a protocol."""
    return completing.script(shell, ctx.find_root().command)
