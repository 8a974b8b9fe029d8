"""The project's words: no module, class, command, flag, field of a request or key of JSON has a name of the old
dialect, and no two classes share a common one."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from checker.cli import main
from checker.requests.kinds import all_kinds

TOP = Path(__file__).parents[2]
PACKAGES = ("zabcheck", "zabspec", "invariants", "traces", "checker")

# What was said before, and what is said now. `CI gate` is the user's word, and stays in pages.
OLD = {
    "told": "message", "said": "message", "asked": "request", "asking": "query pool", "found": "violation, result",
    "quiet": "invisible", "looks": "step locality", "alone": "ample process", "stuck": "deadlock",
    "asleep": "sleep set", "sleepers": "sleep set", "forget": "ghost abstraction", "forgetting": "ghost abstraction",
    "idle": "stuttering receipt", "again": "rerun, restart", "careful": "partial observation", "gaps": "unknowns",
     "tally": "totals", "granted": "assumptions", "bridge": "refinement", "gate": "ci",
    "aim": "progress property", "goal": "progress property", "settling": "tiered compilation", "loaded": "cache key",
    "members": "desugaring", "inside": "crash within a step", "ordered": "step priority",
    "scratch": "step annotations", "watched": "instrumentation", "listener": "instrumentation",
    "listening": "instrumentation", "notes": "instrumentation", "drawn": "random schedules", "draw": "random numbers",
    "seal": "checksum", "neighbours": "shadowed packages", "early": "signal bootstrap", "narrow": "ample set",
}  # fmt: skip

# Names that still have one: the list may only get shorter.
LEFT_MODULES = {
    "traces/record/listener.py": "listener",
    "traces/record/notes.py": "notes",
}
LEFT_CLASSES = {"EventListener", "Listener", "StepListener", "Notes"}


def modules() -> list[Path]:
    return [p for package in PACKAGES for p in sorted((TOP / package).rglob("*.py"))]


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax trees of the product, by path."""
    return {path.relative_to(TOP).as_posix(): ast.parse(path.read_text()) for path in modules()}


@cache
def classes() -> dict[str, list[str]]:
    """The classes of the project by name, each with the files that have one."""
    where: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(path)
    return where


def words(name: str) -> list[str]:
    """The words of a name, in small letters: `OpenText` and `open_text` have two."""
    return [w.lower() for part in name.split("_") for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", part)]


def test_modules_are_not_called_by_old_words() -> None:
    found = {}
    for path in modules():
        inner = path.relative_to(TOP)
        for part in (*inner.parts[:-1], inner.stem):
            for word in OLD.keys() & set(words(part)):
                found[inner.as_posix()] = word
    assert found == LEFT_MODULES, f"new names with old words, or fewer than listed; say instead: {OLD}"


@pytest.mark.slow(seconds=1)
def test_classes_are_not_called_by_old_words() -> None:
    found = {name for name in classes() if OLD.keys() & set(words(name))}
    assert found == LEFT_CLASSES, f"new classes with old words, or fewer than listed; say instead: {OLD}"


# --- what scripts use: commands, flags, fields of requests, keys of JSON -----------------------------

# Words that are old where a script meets them, and may be good names of locals.
OLD_KEYS = OLD | {
    "goals": "progress properties", "moment": "stabilization time", "moments": "stabilization times",
    "trouble": "problem", "question": "request", "questions": "queries", "says": "sentence",
    "narrowed": "ample sets", "words": "schedule",
}  # fmt: skip
# Keys that still have one, by file: the list may only get shorter. Digests cover the manifests of checkpoints and
# sweeps, and tables; `notes` are remarks.
LEFT_KEYS = {
    ("checker/distributed/checkpoint.py", "question"),
    ("checker/distributed/expand.py", "words"),
    ("checker/report/audit.py", "notes"),
    ("checker/report/judged.py", "notes"),
    ("checker/report/schema/audit.schema.json", "notes"),
    ("traces/pictures/html.py", "words"),
    ("traces/sweep/block.py", "drawn"),
    ("traces/sweep/report.py", "question"),
    ("traces/zookeeper/log_picture.py", "words"),
}
WRITERS = ("checker", "traces")  # packages that write JSON


def old_in(name: str) -> set[str]:
    return OLD_KEYS.keys() & set(words(name.replace("-", "_")))


def commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {"zabcheck": main} | {name: command for name, command in found.items() if command is not None}


def test_commands_and_flags_are_not_called_by_old_words() -> None:
    names = commands()
    flags = {f"{name} {flag}" for name, c in names.items() for p in c.params if p.param_type_name == "option"
             for flag in p.opts if old_in(flag)}  # fmt: skip
    assert not flags
    assert not [name for name in main.list_commands(click.Context(main)) if old_in(name)]


def test_fields_of_requests_are_not_called_by_old_words() -> None:
    assert not [(kind, f.name) for kind, request in all_kinds().items() for f in fields(request) if old_in(f.name)]


def schema_keys(node: Any) -> Iterator[str]:
    """The keys that a schema documents."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for inner in node.values():
            yield from schema_keys(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from schema_keys(inner)


def written_keys() -> Iterator[tuple[str, str]]:
    """The keys of objects that code writes, each with its file: of dictionaries with several names in small letters."""
    for path, tree in trees().items():
        if path.partition("/")[0] not in WRITERS:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict) and len(node.keys) > 1:
                for key in node.keys:
                    if isinstance(key, ast.Constant) and re.fullmatch("[a-z_]+", str(key.value)):
                        yield path, str(key.value)


@pytest.mark.slow(seconds=1)
def test_keys_of_json_are_not_called_by_old_words() -> None:
    found = {(file, key) for file, key in written_keys() if old_in(key)}
    for path in sorted((TOP / "checker").rglob("*.schema.json")):
        keys = schema_keys(json.loads(path.read_text()))
        found |= {(path.relative_to(TOP).as_posix(), key) for key in keys if old_in(key)}
    assert found == LEFT_KEYS, f"new keys with old words, or fewer than listed; say instead: {OLD_KEYS}"


COMMON = (
    "Run", "Found", "Answer", "Action", "Plan", "Report", "Listener", "Property", "Variant", "Broken", "Part", "Text",
    "Place", "Finding",
)  # fmt: skip


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", COMMON)
def test_one_class_has_a_name_that_readers_meet_everywhere(name: str) -> None:
    where = classes().get(name, [])
    assert len(where) <= 1, where
