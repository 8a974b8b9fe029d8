"""`zabcheck mcp`, as a client of the protocol's own package sees it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

SMALL = {"nodes": 2, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}


async def asked(folder: Path) -> tuple[dict[str, Any], list[tuple[bool, Any]]]:
    from mcp import Client, StdioServerParameters  # half a second, in every worker
    from mcp.client.stdio import stdio_client

    here = StdioServerParameters(command=sys.executable, args=["-m", "zabcheck", "mcp"], cwd=folder)
    calls = [
        ("explore", SMALL),
        ("explore", SMALL | {"variant": "small-quorum", "no-second-opinion": True}),
        ("explore", SMALL | {"variant": "small-quorum", "keep-going": False, "trace": "run.trace.json"}),
        ("replay", {"trace": "run.trace.json"}),
        ("explore", {"nodes": 0}),
        ("explore", SMALL | {"keep-going": "false"}),
        ("export", {"trace": "-", "to": "text"}),
        ("docs", {"words": ["deadlock", "final"]}),
        ("nothing", {}),
    ]
    async with Client(stdio_client(here)) as client:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        answers = [await client.call_tool(name, given) for name, given in calls]
    return tools, [(bool(a.is_error), a.content[0].text) for a in answers]  # type: ignore[union-attr]


@pytest.mark.slow(seconds=8)
def test_commands_are_tools(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="pip install 'zabcheck[mcp]'")
    tools, (held, unknown, broken, replayed, wrong, text, missing, docs, nothing) = asyncio.run(asked(tmp_path))
    assert {"explore", "check", "audit", "replay", "docs"} <= tools.keys()
    assert not {"mcp", "walk", "completion"} & tools.keys()
    for schema in tools.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert tools["explore"]["properties"]["nodes"]["type"] == "integer"
    assert "[auto|stuttering|none]" in tools["explore"]["properties"]["reduction"]["description"]
    assert tools["explore"]["properties"]["property"]["type"] == "array"
    assert tools["lint"]["required"] == ["file"]
    jsonschema.validate(SMALL, tools["explore"])
    assert (held[0], json.loads(held[1])["verdict"]) == (False, "holds")
    assert unknown == (True, "there is no 'no-second-opinion'")
    assert (broken[0], json.loads(broken[1])["exit_code"]) == (False, 1)
    assert (replayed[0], json.loads(replayed[1])["exit_code"]) == (False, 0)
    assert wrong[0]
    assert "--nodes must be 1" in wrong[1]
    assert text[0]  # a text is no boolean: it would be taken for one that is true
    assert missing[0]
    assert docs[0] is False
    assert json.loads(docs[1])["sections"]
    assert nothing == (True, "there is no 'nothing'")
