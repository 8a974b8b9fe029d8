"""Servers of which all that is compared is given, and a thread's end of its question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.zookeeper.reenact.schedules import zk_4394
from traces.zookeeper.reenact.compare import Comparison
from traces.zookeeper.reenact.stores import Disk
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.zookeeper.state import WIDTH

BASE = 0x100000002
FIRST, SECOND = WIDTH + 1, WIDTH + 2


@dataclass
class Server:
    """A server of which all that is compared is given."""

    data: Path
    disks: Mapping[Path, Disk] = field(default_factory=dict)
    mode: str = "leader"
    zxid: int = BASE
    runs: bool = True
    snapshot: Callable[[int], Path] | None = None

    def on_disk(self) -> Disk:
        return self.disks[self.data]

    def status(self) -> tuple[str, int]:
        return self.mode, self.zxid


def comparison(disks: dict[Path, Disk], batches: bool = False) -> tuple[Comparison, dict[int, Server]]:
    servers = {n: Server(path, disks) for n, path in zip((1, 2, 3), disks, strict=True)}
    ensemble: Any = SimpleNamespace(servers=servers)
    return Comparison(ensemble, Zxids(BASE), (1, 2, 3), batches), servers


def state() -> dict[str, Any]:
    """The established start, with a transaction in the leader's queue and one to be applied."""
    from traces.record.runner import Runner
    from traces.record.values import state_json
    from zabspec.model import Model

    s = state_json(Runner(Model(zk_4394().configuration)).state)
    s["sync_queue"][0], s["to_apply"][0] = [SECOND], [SECOND]
    return s


class End:
    """A thread's end of its question."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.answers.append(data)
