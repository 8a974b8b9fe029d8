"""Translate zxids and epochs between the model and the servers."""

from __future__ import annotations

from dataclasses import dataclass

from zabspec.zookeeper.state import WIDTH, counter_of, epoch_of


@dataclass(frozen=True)
class Zxids:
    """Translates zxids and epochs between the model and the servers.

    Epochs differ by a constant. <1,1> stands for everything that was there when the run began; later counters of epoch
    1 count on from it, and those of later epochs are the same. If the servers were new then, all are the same.

    Attributes:
        base: the servers' zxid for <1,1>.
        new: whether the servers were new when the run began, so that they have nothing from before.
    """

    base: int
    new: bool = False

    def epoch(self, model: int) -> int:
        """Return a server's epoch for a model's; -1 and 0 stay."""
        return model if model <= 0 else model - 1 + (self.base >> 32)

    def real(self, model: int) -> int:
        e, n = epoch_of(model), counter_of(model)
        if not e:
            return 0
        if e == 1 and n:
            return self.base + n - 1
        return self.epoch(e) << 32 | n

    def logged(self, log: tuple[int, ...]) -> list[str]:
        """Return a server's log as zxids of the model; everything from before the run is one transaction."""
        if self.new:
            return [self.told(z) for z in log]
        out = ["<1,1>"] if any(z == self.base for z in log) else []
        return out + [self.told(z) for z in log if z > self.base]

    def saved(self, names: tuple[int, ...]) -> list[str]:
        """Return the snapshots of the run as zxids of the model, sorted; of new servers all are."""
        first = 0 if self.new else self.base
        return sorted(self.told(z) for z in names if z >= first)

    def told(self, real: int) -> str:
        """Return a server's zxid as a zxid of the model."""
        e, n = real >> 32, real & 0xFFFFFFFF
        first = self.base >> 32
        if e < first or (e == first and n > 0 and real < self.base):
            return f"before the run ({real:#x})" if real else "<0,0>"
        if e == first and n:
            return f"<1,{real - self.base + 1}>"
        return f"<{e - first + 1},{n}>"

    @staticmethod
    def said(model: int) -> str:
        return f"<{model // WIDTH},{model % WIDTH}>"
