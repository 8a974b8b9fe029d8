"""Check an audit's forecast: against real servers, and against what runs of the model served.

python -m benchmarks.forecast servers --count 20 --release 3.9.5
python -m benchmarks.forecast kinds --first 0
python -m benchmarks.forecast drawn --count 400

`servers`: directories at the end of random runs, and after accidents; `kinds`: those of the tests of dangers.
Every quorum of each is started on real servers on loopback, then the third server. The leader and what each server
serves must be in the forecast's set.
`drawn`: the audit of such directories compared with what was served in the run, which the model knows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.zookeeper import test_danger as danger
from tests.zookeeper.drawn import ACCIDENTS, REPAIRED, draw, nothing, real
from tests.zookeeper.real import free_ports, launched, mode_of
from tests.zookeeper.written import Txn, create, ensemble, server, zxid
from traces.zookeeper import audit as auditing
from traces.zookeeper.audit import Audit, audit
from traces.zookeeper.folding import variant_of
from traces.zookeeper.forecast import Change, Outcome
from traces.zookeeper.server import find_directory
from traces.zookeeper.starting import start_tree

SETS = ((0, 1), (0, 2), (1, 2), (0, 1, 2))
SECONDS = 75.0  # seconds to wait: the machine may have other work


def drawn_directories(
    seed: int, folder: Path, variant: str = REPAIRED, accidents: bool = True
) -> tuple[list[Path], str]:
    """Return the disks at the end of a random run, and the accident; two of three runs have one."""
    faults = {"crashes": 0, "losses": 2} if seed % 2 else {"crashes": 2, "losses": 1}
    one, choose = draw(seed, variant, **faults), random.Random(seed)
    happens = choose.choice(ACCIDENTS) if seed % 3 else nothing
    return ensemble(folder, *happens(one, one.written(), choose)), happens.__name__


def audited(folders: list[Path], release: str) -> Audit:
    """Audit directories as those of a release, with the forecast."""
    auditing.PAUSE = 0
    for n, folder in enumerate(folders, 1):
        (folder / "myid").write_text(str(n))
    return audit([find_directory([f], f.name) for f in folders], None, release=release, forecast=True)


# --- real servers ------------------------------------------------------------------------------------------


class Started:
    """Three servers, some of which are started on copies of directories."""

    def __init__(self, release: str, folders: list[Path], work: Path) -> None:
        self.release, self.work = release, work
        ports = free_ports(9)
        self.clients = ports[:3]
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        for n, folder in enumerate(folders):
            shutil.copytree(folder, work / f"server{n + 1}")
            (work / f"server{n + 1}" / "myid").write_text(str(n + 1))
            lines = [
                "tickTime=200", "initLimit=50", "syncLimit=25", f"dataDir={work}/server{n + 1}",
                f"clientPort={self.clients[n]}", "4lw.commands.whitelist=*", "standaloneEnabled=false",
                "reconfigEnabled=false", "admin.enableServer=false", "clientPortAddress=127.0.0.1",
                "localSessionsEnabled=true",  # or the session of each reader would be a write
            ]  # fmt: skip
            lines += [f"server.{k + 1}=127.0.0.1:{ports[3 + 2 * k]}:{ports[4 + 2 * k]}" for k in range(3)]
            (work / f"zoo{n + 1}.cfg").write_text("\n".join(lines) + "\n")

    def start(self, *which: int) -> None:
        for n in which:
            self.running[n] = launched(self.release, self.work, n)

    def wait(self) -> dict[int, str]:
        """Return the modes of the running servers, once all serve or the time is over."""
        end = time.monotonic() + SECONDS
        while True:
            modes = {n: mode_of(self.clients[n]) for n in self.running}
            if "leader" in modes.values() and all(m in ("leader", "follower") for m in modes.values()):
                return modes
            if time.monotonic() > end or all(p.poll() is not None for p in self.running.values()):
                return modes
            time.sleep(0.25)

    def tree(self, n: int) -> set[str] | None:
        """Return the nodes that a client reads from a server, or None if it does not serve."""
        from kazoo.client import KazooClient

        client = KazooClient(f"127.0.0.1:{self.clients[n]}", timeout=10)
        try:
            client.start(10)
            return set(client.get_children("/")) - {"zookeeper"}
        except Exception:  # the server does not serve
            return None
        finally:
            with contextlib.suppress(Exception):
                client.stop()
                client.close()

    def stop(self) -> None:
        for p in self.running.values():
            p.kill()
        for p in self.running.values():
            p.wait()


def expected(before: set[str], change: Change, known: set[str]) -> set[str] | None:
    """Return the nodes that a server serves in the end, or None if it does not.

    Args:
        known: all nodes that some server has before: a range without an end has those of it.
    """
    if not change.serves:
        return None
    for lo, hi in change.cuts:
        before = before - among(known, lo, hi)
    for lo, hi in (*change.gets, *change.keeps):
        before = before | among(known, lo, hi)
    return before


def among(known: set[str], lo: int, hi: int) -> set[str]:
    """Return the nodes of a range of transactions."""
    return {n for n in known if lo <= zxid(*map(int, n[1:].split("_"))) <= hi}


def seen_on_servers(release: str, folders: list[Path], members: tuple[int, ...], late: bool) -> dict[str, Any]:
    """Return what real servers do when the given members are started; with `late` the third is started afterwards."""
    with tempfile.TemporaryDirectory(prefix="zabcheck-forecast-") as work:
        servers = Started(release, folders, Path(work))
        try:
            servers.start(*members)
            modes = servers.wait()
            leader = next((n for n, m in modes.items() if m == "leader"), -1)
            out: dict[str, Any] = {"leader": leader}
            out["trees"] = {n: servers.tree(n) if modes[n] else None for n in members}
            if late and leader >= 0:
                third = next(n for n in range(3) if n not in members)
                servers.start(third)
                after = servers.wait()
                out["late"] = servers.tree(third) if after.get(third) else None
                out["leader_later"] = next((n for n, m in after.items() if m == "leader"), -1)
            return out
        finally:
            servers.stop()


def matches(one: Outcome, seen: dict[str, Any], before: list[set[str]], members: tuple[int, ...]) -> bool:
    """Return whether an outcome of a forecast is what real servers did."""
    name = f"server{seen['leader'] + 1}" if seen["leader"] >= 0 else ""
    if one.leader != name or one.started != [f"server{n + 1}" for n in members]:
        return False
    changes, known = {c.server: c for c in one.changes}, set[str]().union(*before)
    for n in members:
        if name and expected(before[n], changes[f"server{n + 1}"], known) != seen["trees"][n]:
            return False
    if "late" in seen:
        third = next(n for n in range(3) if n not in members)
        return seen["late"] in [
            expected(before[third], c, known) for c in one.later if c.server == f"server{third + 1}"
        ]
    return True


def kinds_of_danger(folder: Path, which: int) -> tuple[list[Path], str]:
    """Return the directories of three servers of a kind in the tests of dangers; each transaction creates a node.

    Raises:
        IndexError: there are no more.
    """
    danger.TXNS = [Txn(zxid(e, n), *create(f"/t{e}_{n}")) for e, most in ((1, 14), (2, 10), (3, 6))
                   for n in range(1, most + 1)]  # fmt: skip
    danger.tail = lambda count, epoch=3, start=7: [
        Txn(zxid(epoch, start + n), *create(f"/t{epoch}_{start + n}")) for n in range(count)
    ]
    kind = list(danger.KINDS)[which]
    disks = kind([server(danger.TXNS) for _ in range(3)])
    return ensemble(folder, *disks[:3]), kind.__name__ + (" (three of five)" if len(disks) > 3 else "")


def on_servers(count: int, first: int, release: str, out: Path, minutes: float, kinds: bool) -> None:
    """Compare forecasts with real servers, and print the totals."""
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    totals, end = Counter[str](), time.monotonic() + 60 * minutes
    for seed in range(first, min(first + count, len(danger.KINDS)) if kinds else first + count):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory(prefix="zabcheck-drawn-") as folder:
            variant = REPAIRED if release == "3.9.5" else variant_of(release)
            made = kinds_of_danger(Path(folder), seed) if kinds else drawn_directories(seed, Path(folder), variant)
            folders, happened = made
            found = audited(folders, release)
            ahead = found.forecast
            assert ahead is not None
            row: dict[str, Any] = {"seed": seed, "release": release, "accident": happened, "verdict": found.verdict}
            if ahead.unknown:
                totals["unknown"] += 1
                out.open("a").write(json.dumps(row | {"unknown": ahead.unknown}) + "\n")
                continue
            totals["directories"] += 1
            before = [{p[1:] for p in start_tree(s, release) if p.startswith("/t")} for s in found.servers]
            starting = {n for n, s in enumerate(found.starts) if s.outcome == "starts"}
            row["sets"] = []
            for members in SETS:
                mine = [o for o in ahead.outcomes if o.started == [f"server{n + 1}" for n in members]]
                if not mine and not set(members) <= starting:
                    continue  # one of them does not start, which the audit says
                late = len(members) == 2 and starting == {0, 1, 2}
                seen = seen_on_servers(release, folders, members, late)
                good = any(matches(o, seen, before, members) for o in mine)
                effects = {repr((o.last, o.loses, o.may_lose, o.drops, o.revives, bool(o.leader))) for o in mine}
                single = len({repr((o.leader, o.last, [c.serves for c in o.changes])) for o in mine}) == 1
                totals["sets"] += 1
                totals["in the forecast"] += good
                totals["one outcome"] += single
                totals["one history"] += len(effects) == 1
                row["sets"].append({"started": members, "in": good, "one": single, "one_history": len(effects) == 1})
                if not good:
                    said = {k: sorted(v) if isinstance(v, set) else v for k, v in seen.items() if k != "trees"}
                    said["trees"] = {n: sorted(t) if t is not None else None for n, t in seen["trees"].items()}
                    row["sets"][-1]["seen"] = said
                    print(seed, happened, members, said, [(o.leader, o.changes, o.later) for o in mine])
            out.open("a").write(json.dumps(row) + "\n")
        print(seed, happened, dict(totals), flush=True)


# --- the model's own truth ------------------------------------------------------------------------------------


def on_drawn(count: int, first: int, accidents: bool) -> None:
    """Compare audits with what was served in random runs, and print the totals."""
    totals, begun = Counter[str](), time.process_time()
    for seed in range(first, first + count):
        faults = {"crashes": 0, "losses": 2} if seed % 2 else {"crashes": 2, "losses": 1}
        one = draw(seed, **faults)
        with tempfile.TemporaryDirectory(prefix="zabcheck-drawn-") as folder:
            choose = random.Random(seed)
            happens = choose.choice(ACCIDENTS) if accidents else nothing
            found = audited(ensemble(Path(folder), *happens(one, one.written(), choose)), "3.9.5")
        ahead = found.forecast
        assert ahead is not None
        served = {real(z) for z in one.served}
        gone = [o for o in ahead.outcomes if o.leader and any(
            lo <= z <= hi for lo, hi in (*o.loses, *o.may_lose, *o.drops) for z in served)]  # fmt: skip
        totals[found.verdict] += 1
        totals["forecast unknown"] += bool(ahead.unknown)
        totals["forecast loses what was served"] += bool(gone)
        totals["forecast says that it can lose"] += bool(ahead.losing)
        wrong = found.verdict == "VIOLATION" or (found.verdict == "DANGER" and not ahead.losing and not accidents)
        wrong = wrong or (bool(gone or ahead.losing) and found.verdict in ("OK", "WARN"))
        totals["wrong"] += wrong
        if wrong:
            print(
                seed, happens.__name__, found.verdict, [f.code for f in found.findings], ahead.unknown, ahead.losing[:1]
            )
    print(json.dumps({"drawn": count, "first": first, "cpu_s": round(time.process_time() - begun, 1)} | dict(totals)))


def main() -> None:
    """Run the comparison that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("what", choices=("servers", "kinds", "drawn"))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--accidents", action="store_true", help="with `drawn`: each has one")
    parser.add_argument("--release", default="3.9.5")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "forecast.jsonl")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are stopped
    if given.what in ("servers", "kinds"):
        on_servers(given.count, given.first, given.release, given.out, given.minutes, given.what == "kinds")
    else:
        on_drawn(given.count, given.first, given.accidents)


if __name__ == "__main__":
    main()
