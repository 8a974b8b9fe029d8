"""The keys of `zabcheck.toml`: its own, and the options of requests that a check may have, from their declarations.

`python -m checker.ci.keys` prints the JSON schema, for editors.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from checker.requests.explore import Explore
from checker.requests.live import LiveCheck
from checker.requests.request import Field, Request, fields_of
from checker.requests.simulate import Simulate

SCHEMAS = Path(__file__).parent / "schema"
KINDS: dict[str, type[Request]] = {"live": LiveCheck, "simulate": Simulate}  # by engine; the others explore
# Fields that a check does not have: it decides them, or they would change what a group of checks shares.
NOT_OF_CHECKS = (
    "release", "engine", "reduction", "master", "resume", "fingerprint", "require_witness", "symbolic", "evidence",
    "number", "show", "check",
)  # fmt: skip


def options_of(kind: type[Request]) -> dict[str, Field]:
    """Return the fields of a request that a check may have, by name."""
    found = ((name, field) for name, field in fields_of(kind).items() if name not in NOT_OF_CHECKS)
    return {name: f for name, f in found if f.option is not None and not f.option.place}


@cache
def options() -> dict[str, Field]:
    """Return every option that some check may have, by name."""
    return {**options_of(Simulate), **options_of(LiveCheck), **options_of(Explore)}


def own_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of the keys that are no options."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return found


@cache
def schema(name: str, values: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a file.

    Args:
        values: whether it has the types of options as well, which requests check themselves.
    """
    found = own_schema(name)
    if name == "zabcheck":
        known = {key: schema_of(field) if values else {} for key, field in options().items()}
        for part in (found["properties"]["defaults"], found["properties"]["check"]["items"]):
            part["properties"] |= known
    return found


def schema_of(field: Field) -> dict[str, Any]:
    """Return the JSON schema of an option; one that is converted may be text."""
    found = msgspec.json.schema(field.hint)
    found = next((each for each in found.get("anyOf", ()) if each.get("type") != "null"), found)
    said = field.option.help if field.option is not None else ""
    text = {"type": [found["type"], "string"]} if field.type is int and field.option and field.option.reads else {}
    return found | text | {"description": said}


if __name__ == "__main__":
    json.dump(schema("zabcheck", values=True), sys.stdout, indent=1)
