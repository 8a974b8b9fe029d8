"""Define the findings of an audit, and its notes of what is unusual but legitimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from traces.zookeeper.disk.decode import zxid_text

VIOLATION, DANGER, WARN, NOTE = "VIOLATION", "DANGER", "WARN", "NOTE"
RANKS = {VIOLATION: 0, DANGER: 1, WARN: 2, NOTE: 3}
# What another finding may have caused, which is reported first.
DERIVED = ("MISSING", "COMMITTED_LOST", "DIGEST_MISMATCH", "DIGEST_SHARED", "TREE_DIFFERS", "SNAPSHOT_DIGEST",
           "RESTART_DIFFERS", "TREES_APART")  # fmt: skip
LISTED = 10  # nodes of a finding
GRAVE = (VIOLATION, DANGER, WARN)  # everything but notes


@dataclass
class AuditFinding:
    """A finding or a note.

    Attributes:
        code: see `codes.py`, which has what is the same of all findings of a code.
        severity: VIOLATION (a promise is broken), DANGER (nothing is proved lost, and what the ensemble does next can
            lose acknowledged writes), WARN or NOTE.
        server: whose it is; empty if it is of no server, or it is not known whose. `servers`: all that it concerns.
        file, offset, zxid: where, as far as there is such a place; `offset` and `zxid` are -1 if not.
        sentence: what was found.
        last: the last zxid of several; -1 if there is only one.
        evidence: facts by name, for machines and people: both versions of a transaction, digests.
        advice: what to do here, where that is not what `codes.py` says.
    """

    code: str
    severity: str
    sentence: str
    server: str = ""
    file: str = ""
    offset: int = -1
    zxid: int = -1
    last: int = -1
    servers: list[str] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""

    def list_nodes(self, nodes: Mapping[str, str] | Sequence[str]) -> None:
        """Add nodes to the evidence: the first ones, and the number of the others."""
        first = list(nodes)[:LISTED]
        self.evidence["nodes"] = {p: nodes[p] for p in first} if isinstance(nodes, Mapping) else first
        if len(nodes) > LISTED:
            self.evidence["further nodes"] = len(nodes) - LISTED

    def order(self) -> tuple[Any, ...]:
        first = (RANKS[self.severity], self.code in DERIVED)
        return (*first, self.server, self.zxid if self.zxid >= 0 else 1 << 63, self.offset, self.code)

    @property
    def place(self) -> str:
        """Return the place in words."""
        said = [self.server] if self.server else []
        said += [f"{self.file} at {self.offset}" if self.offset >= 0 else self.file] if self.file else []
        if self.zxid >= 0:
            many = self.last >= 0 and self.last != self.zxid
            own = f"0x{self.zxid:x}..0x{self.last:x}" if many else f"0x{self.zxid:x}"
            said += [f"zxid {own} ({zxid_text(self.zxid)}{f'..{zxid_text(self.last)}' if many else ''})"]
        return ", ".join(said)


def worst(findings: list[AuditFinding]) -> list[AuditFinding]:
    """Sort findings by severity, the worst first."""
    return sorted(findings, key=AuditFinding.order)
