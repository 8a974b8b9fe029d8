"""`zabcheck mcp`: the commands as tools of the Model Context Protocol, for an assistant that calls them."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, create_subprocess_exec
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import click

from checker.commands.common import Subcommand
from checker.ending import Answer
from checker.errors import HELD, NO_VERDICT, VIOLATED, RequestError
from checker.requests.base.kinds import EXPLORE
from zabspec.extras import missing

FLAG = "as_json"  # the parameter of --json: a command without it answers nobody but a person
TYPES = {"integer": "integer", "float": "number"}


@click.command(cls=Subcommand)
@click.pass_context
def mcp(ctx: click.Context) -> Answer:
    """Serve every command that has --json as a tool of the Model Context Protocol, on stdin and stdout.

    A call runs the command in a process of its own, in the folder in which the server was started. The result is what
    the command prints with --json; a wrong request is an error with its sentence.
    """
    if lacking := missing("mcp"):
        raise RequestError(f"mcp needs {lacking}")
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

    commands = dict(tools(ctx.find_root()))

    async def listed(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name=name, **declared(c)) for name, c in commands.items()])

    async def called(context: Any, params: Any) -> CallToolResult:
        try:
            code, text = await run(words_of(params.name, commands[params.name], params.arguments or {}))
        except KeyError as unknown:
            code, text = -1, f"there is no {unknown}"
        said = TextContent(type="text", text=text)
        return CallToolResult(content=[said], is_error=code not in (HELD, VIOLATED, NO_VERDICT))

    async def serve() -> None:
        server = Server("zabcheck", on_list_tools=listed, on_call_tool=called)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    asyncio.run(serve())
    return Answer(HELD)


def tools(root: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands that have --json, by the names of their tools."""
    assert isinstance(root.command, click.Group)
    yield EXPLORE, root.command
    for name in root.command.list_commands(root):
        with suppress(RequestError):  # a part that is not installed
            command = root.command.get_command(root, name)
            if command is not None and any(p.name == FLAG for p in command.params) and name != "walk":
                yield name, command  # walk answers a browser, until Ctrl-C


def parameters(command: click.Command) -> dict[str, click.Parameter]:
    """Return a command's parameters by their longest flags, without the dashes: the keys of its tool."""
    return {max(p.opts, key=len).lstrip("-"): p for p in command.params if p.name != FLAG and not p.is_eager}


def declared(command: click.Command) -> dict[str, Any]:
    """Return what a tool says of itself, and the JSON schema of what it is called with."""
    found, fields = parameters(command), {}
    for key, p in found.items():
        kind = {"type": "boolean" if getattr(p, "is_flag", False) else TYPES.get(p.type.name, "string")}
        said = f"{getattr(p, 'help', '')} ({p.make_metavar(click.Context(command))})".strip()
        fields[key] = {"description": said} | ({"type": "array", "items": kind} if p.multiple or p.nargs < 0 else kind)
    required = [key for key, p in found.items() if p.required]
    takes = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
    return {"description": (command.help or "").partition("\b")[0].strip(), "input_schema": takes}


def words_of(name: str, command: click.Command, given: Mapping[str, Any]) -> list[str]:
    """Return the command line of a call.

    Raises:
        KeyError: it gives what is no parameter.
    """
    known, words, last = parameters(command), [] if name == EXPLORE else [name], ["--"]
    for key, value in given.items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        if isinstance(known[key], click.Argument):
            last += map(str, values)
        elif getattr(known[key], "is_flag", False) and isinstance(value, bool):
            words += [f"--{key}"] if value else []
        else:
            words += [f"--{key}={each}" for each in values]
    return [*words, "--json", *last]


async def run(words: list[str]) -> tuple[int | None, str]:
    """Run a command line; return its exit code, and what it printed. A call that is given up is interrupted."""
    line = [sys.executable, "-m", "zabcheck", *words]
    job = await create_subprocess_exec(*line, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    try:
        out, trouble = await job.communicate()
    except asyncio.CancelledError:
        job.send_signal(signal.SIGINT)
        raise
    return job.returncode, (out or trouble).decode()
