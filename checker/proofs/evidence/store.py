"""Stored evidence: recorded with the package, or computed on this machine before.

An entry is valid only under the digest that it was made with, and for the request that it answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from zabspec import typed
from zabspec.typed import Typed, WrongValue

RECORDED_FILE = Path(__file__).parent / "recorded.json"
FOLDER = "evidence"  # in the cache


class Entry(Typed, frozen=True):
    """The evidence of one kind, as it is stored.

    Attributes:
        digest: of all that it depends on (`sources.digest`).
        request: the one that it answers, as JSON.
        bounds, claims, why: as for `checker.report.evidence.Evidence`.
        assumptions: of the claims, a sentence each.
        final: whether the same request always has the same answer: nothing was undecided or cut short.
    """

    digest: str
    request: dict[str, Any]
    bounds: str
    claims: dict[str, str]
    why: str = ""
    assumptions: tuple[str, ...] = ()
    final: bool = True


def recorded(kind: str, digest: str, request: Mapping[str, Any], file: Path | None = None) -> Entry | None:
    """Return the evidence recorded with the package, if it was made with this digest and answers this request."""
    with suppress(WrongValue):
        found = typed.read(read(RECORDED_FILE if file is None else file).get(kind), Entry)
        return found if digest and (found.digest, found.request) == (digest, request) else None
    return None


def read(file: Path) -> dict[str, Any]:
    """Return the entries of a file by kind; empty if there is no such file, or it is not a file of zabcheck."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def place(kind: str, digest: str, request: Mapping[str, Any], text: str) -> Path:
    """Return the path of the file for computed evidence."""
    from zabspec.language.native.jit import cache_folder

    said = json.dumps([kind, digest, request, text], sort_keys=True)
    return cache_folder() / FOLDER / f"{hashlib.sha256(said.encode()).hexdigest()}.json"


def kept(kind: str, digest: str, request: Mapping[str, Any], text: str) -> Entry | None:
    """Return the evidence computed on this machine before.

    Args:
        text: a digest of the protocol as it is loaded; empty if the kind is about no executable protocol.
    """
    return recorded(kind, digest, request, place(kind, digest, request, text)) if digest else None


def keeps_any() -> bool:
    """Return whether any evidence was computed on this machine before."""
    from zabspec.language.native.jit import cache_folder

    return (cache_folder() / FOLDER).is_dir()


def keep(kind: str, entry: Entry, text: str) -> None:
    """Save computed evidence. If it cannot be written, it is computed again the next time."""
    from zabspec.files import write_whole

    if not entry.digest or not entry.final:
        return
    path = place(kind, entry.digest, entry.request, text)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.encode({kind: entry}))
