"""Reproduce the return of a write that was never acknowledged, on free-running servers behind passive proxies.

    python benchmarks/comes_back.py FOLDER --release 3.9.5

The run is that of docs/findings/snap-tail.md. No step is forced: servers are killed, cut off and started, and what one
of them sends is delayed for a while. If the write does not come back, the command says so and writes no record.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from traces.zookeeper.conform.chaos import ROOT, Chaos, ChaosPlan
from traces.zookeeper.reenact.distributions import Cannot, find_release

PATIENCE = 20.0  # seconds that one action of a server may take
A, B, C = 3, 2, 1  # of two equal servers the one with the greater number leads


class ComesBack(Chaos):
    """The ensemble: A leads first, and keeps a write that no other server has; B leads next, with C."""

    session = 120.0  # so long that no session expires, which is a transaction

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.numbers.sort(reverse=True)  # the servers that are started first: A is to lead

    def disturb(self, say: Callable[[str], None]) -> None:
        self.writing.clear()
        writer = self.client(f"127.0.0.1:{self.servers[A].client}", 20)
        self.expect(lambda: self.leading(self.numbers) == A, "A leads")
        time.sleep(1.0)
        say("A has a write that nobody else has")
        self.hold(A, True)
        writer.create_async(f"{ROOT}/back", b"")
        time.sleep(0.3)
        self.told(f"{ROOT}/back", "unknown")
        self.cut(A, True)
        self.kill(A)
        with contextlib.suppress(Exception):
            writer.stop()
        self.expect(lambda: self.leading([B, C]) == B, "B leads")
        self.again(B, C)
        self.expect(lambda: self.leading([B, C]) == B and bool(self.mode(C)), "B leads, and remembers no proposal")
        self.cut(A, False)
        self.start(A)
        self.expect(lambda: self.mode(A) == "follower", "A follows")
        say("B leads again, and A joins before the epoch is on a quorum")
        self.cut(A, True)
        tap = next(t for t in self.taps if t.packets and (t.source, t.target) == (C, B))
        tap.holds_behind = "ACKEPOCH"
        self.again(B)
        self.expect(
            lambda: any(pair[1].held for _, pair in tap.live), "C follows B, and is not told that the epoch began"
        )
        tap.holds_behind = ""
        self.cut(A, False)
        self.expect(lambda: self.mode(A) == "follower", "A follows in the new epoch")
        self.hold(B, False)
        self.expect(lambda: self.mode(C) == "follower", "C follows in the new epoch")
        say("A's connection breaks, and A is elected")
        self.cut(A, True)
        self.expect(lambda: not self.mode(A), "A looks for a leader")
        self.kill(B)
        self.cut(A, False)
        self.expect(lambda: self.leading([A, C]) == A, "A leads")
        self.start(B)
        self.expect(lambda: self.mode(B) == "follower", "B follows")
        client = self.client(f"127.0.0.1:{self.servers[A].client}", 20)
        self.told(f"{ROOT}/later", self.asked(client, f"{ROOT}/later"))
        say("A starts again")
        time.sleep(0.5)
        self.again(A)
        self.expect(lambda: all(self.mode(n) for n in self.numbers), "all serve")

    def again(self, *numbers: int) -> None:
        for n in numbers:
            self.kill(n)
        for n in numbers:
            self.start(n)

    def hold(self, sender: int, holds: bool) -> None:
        for tap in self.taps:
            if tap.packets:
                tap.hold(sender, holds)

    def expect(self, seen: Callable[[], bool], what: str) -> None:
        self.wait(seen, what, PATIENCE)


def main() -> None:
    """Run the ensemble, and write its record if the write comes back."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("folder", type=Path)
    words.add_argument("--release", default="3.9.5")
    said = words.parse_args()
    said.folder.mkdir(parents=True)
    try:
        ensemble = ComesBack(
            said.folder.resolve(), find_release(said.release), ChaosPlan(6.0, 1, clients=1, writes=4, faults=())
        )
        try:
            ensemble.run(lambda text: print(text, flush=True))
        finally:
            ensemble.end()
    except Cannot as problem:
        raise SystemExit(f"it did not come to it: {problem}") from None
    for n, paths in sorted(ensemble.served.paths.items()):
        print(f"server {n} serves {', '.join(p.rpartition('/')[2] for p in paths)}")


if __name__ == "__main__":
    main()
