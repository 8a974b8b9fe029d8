"""The project's words: no module and no class has a name of the old dialect, and no two classes share a common one."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

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
    "checker/commands/bridge.py": "bridge",  # the command is called so
    "traces/record/listener.py": "listener",
    "traces/record/notes.py": "notes",
}
LEFT_CLASSES = {"EventListener", "Listener", "StepListener", "Notes"}


def modules() -> list[Path]:
    return [p for package in PACKAGES for p in sorted((TOP / package).rglob("*.py"))]


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


def test_classes_are_not_called_by_old_words() -> None:
    found = set()
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and OLD.keys() & set(words(node.name)):
                found.add(node.name)
    assert found == LEFT_CLASSES, f"new classes with old words, or fewer than listed; say instead: {OLD}"


COMMON = ("Run", "Found", "Answer", "Action", "Plan", "Report", "Listener", "Property", "Variant")


@pytest.mark.parametrize("name", COMMON)
def test_one_class_has_a_name_that_readers_meet_everywhere(name: str) -> None:
    where = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(path.relative_to(TOP).as_posix())
    assert len(where[name]) <= 1, where[name]
