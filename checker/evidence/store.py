"""Stored evidence: recorded with the package, or computed on this machine before.

An entry is valid only under the digest that it was made with, and for the request that it answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDED_FILE = Path(__file__).parent / "recorded.json"
FOLDER = "evidence"  # in the cache


@dataclass(frozen=True)
class Entry:
    """The evidence of one kind.

    Attributes:
        digest: of all that it depends on (`sources.digest`).
        request: the one that it answers, as JSON.
        bounds, claims, why: as for `checker.report.evidence.Evidence`.
        assumptions: of the claims, a sentence each.
        final: whether the same request always has the same answer: nothing was undecided or cut short.
    """

    digest: str
    request: Mapping[str, Any]
    bounds: str
    claims: Mapping[str, str]
    why: str = ""
    assumptions: tuple[str, ...] = ()
    final: bool = field(default=True, compare=False)

    def as_json(self) -> dict[str, Any]:
        """Return the entry in the form that is stored."""
        return {
            "digest": self.digest,
            "request": dict(self.request),
            "bounds": self.bounds,
            "assumptions": list(self.assumptions),
            "why": self.why,
            "claims": dict(self.claims),
        }


def entry_of(given: object) -> Entry | None:
    """Return the entry that a stored value describes, or None if it describes no entry."""
    if not isinstance(given, dict):
        return None
    texts = [given.get(name) for name in ("digest", "bounds", "why")]
    claims, request, assumptions = (given.get(name) for name in ("claims", "request", "assumptions"))
    if not all(isinstance(text, str) for text in texts) or not isinstance(assumptions, list):
        return None
    if not isinstance(claims, dict) or not isinstance(request, dict):
        return None
    if not all(isinstance(said, str) for said in (*claims, *claims.values(), *assumptions)):
        return None
    digest, bounds, why = (str(text) for text in texts)
    return Entry(digest, request, bounds, claims, why, tuple(assumptions))


def recorded(kind: str, digest: str, request: Mapping[str, Any], file: Path | None = None) -> Entry | None:
    """Return the evidence recorded with the package, if it was made with this digest and answers this request."""
    found = entry_of(read(RECORDED_FILE if file is None else file).get(kind))
    return found if found is not None and digest and (found.digest, found.request) == (digest, request) else None


def read(file: Path) -> dict[str, Any]:
    """Return the entries of a file by kind; empty if there is no such file, or it is not a file of zabcheck."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def place(kind: str, digest: str, request: Mapping[str, Any], text: str) -> Path:
    """Return the path of the file for computed evidence."""
    from zabspec.language.jit import cache_folder

    said = json.dumps([kind, digest, request, text], sort_keys=True)
    return cache_folder() / FOLDER / f"{hashlib.sha256(said.encode()).hexdigest()}.json"


def kept(kind: str, digest: str, request: Mapping[str, Any], text: str) -> Entry | None:
    """Return the evidence computed on this machine before.

    Args:
        text: a digest of the protocol as it is loaded; empty if the kind is about no executable protocol.
    """
    return recorded(kind, digest, request, place(kind, digest, request, text)) if digest else None


def keep(kind: str, entry: Entry, text: str) -> None:
    """Save computed evidence. If it cannot be written, it is computed again the next time."""
    from contextlib import suppress

    from zabspec.files import write_whole

    if not entry.digest or not entry.final:
        return
    path = place(kind, entry.digest, entry.request, text)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({kind: entry.as_json()}).encode())
