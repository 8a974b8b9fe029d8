"""Check an audit's forecast: against real servers, and against what runs of the model served.

python -m benchmarks.forecast servers --count 20 --release 3.9.5
python -m benchmarks.forecast kinds --first 0
python -m benchmarks.forecast chaos --runs FOLDER --count 6 --release 3.6.0
python -m benchmarks.forecast drawn --count 400

`servers`: directories at the end of random runs, and after accidents; `kinds`: those of the tests of dangers;
`chaos`: the servers' disks of recorded chaos runs (a folder with a folder of each), two of three with an accident.
Every quorum of each is started on real servers on loopback, then the third server. The leader and what each server
serves must be in the forecast's set. A server that refuses to start, by the audit, is started alone: its log must have
the line that the audit quotes.
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

from benchmarks.accidents import ON_FILES
from checker.zookeeper.report.audit_forecast import grouped
from tests.transcript import cases
from tests.zookeeper.directories import directory, words_of
from tests.zookeeper.drawn import ACCIDENTS, REPAIRED, draw, nothing, real
from tests.zookeeper.real import free_ports, launched, mode_of
from tests.zookeeper.start_kinds import start_tree
from tests.zookeeper.written import Txn, create, ensemble, zxid
from traces.zookeeper.audit import audit as auditing
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.findings import DANGER, VIOLATION
from traces.zookeeper.audit.folding import variant_of
from traces.zookeeper.audit.forecast import Change, ForecastOutcome
from traces.zookeeper.audit.starting import STARTS
from traces.zookeeper.disk.rules import rules_for
from traces.zookeeper.disk.server import Server, find_directory

IN_DANGER = Path(__file__).parents[1] / "tests/zookeeper/audits/in-danger.txt"
Nodes = set[tuple[int, str]]  # the czxid and the path of each: what a transaction has created

SETS = ((0, 1), (0, 2), (1, 2), (0, 1, 2))
ATTEMPTS = 3  # to start servers whose ports other processes take meanwhile
PORT_TAKEN = "Address already in use"
SECONDS = 75.0  # seconds to wait: the machine may have other work


def drawn_directories(
    seed: int, folder: Path, variant: str = REPAIRED, accidents: bool = True
) -> tuple[list[Path], str]:
    """Return the disks at the end of a random run, and the accident; two of three runs have one."""
    faults = {"crashes": 0, "losses": 2} if seed % 2 else {"crashes": 2, "losses": 1}
    one, choose = draw(seed, variant, **faults), random.Random(seed)
    happens = choose.choice(ACCIDENTS) if seed % 3 else nothing
    return ensemble(folder, *happens(one, one.written(), choose)), happens.__name__


def after_chaos(runs: Path, release: str, number: int, folder: Path) -> tuple[list[Path], str]:
    """Return copies of the servers' disks at the end of a recorded chaos run, and the accident.

    Raises:
        IndexError: there are no more runs of this release.
    """
    names = sorted((f.name for f in runs.glob(f"{release}-*")), key=lambda n: int(n.rsplit("-", 1)[1]))
    run, choose = runs / names[number], random.Random(names[number])
    folders = [folder / f"server{n}" for n in (1, 2, 3)]
    for f in folders:
        shutil.copytree(run / f.name, f)
    if number % 3 == 0:
        return folders, f"{run.name} nothing"
    happens = ON_FILES[(number - number // 3 - 1) % len(ON_FILES)]
    happens(folders, choose)
    return folders, f"{run.name} {happens.__name__}"


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

    def ends_with(self, n: int, line: str) -> bool:
        """Return whether a server that is started alone ends, with a line in its log."""
        self.start(n)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.running[n].wait(SECONDS)
        return self.running[n].poll() is not None and line in (self.work / f"log{n + 1}.txt").read_text("latin-1")

    def tree(self, n: int) -> Nodes | None:
        """Return the nodes that a client reads from a server, or None if it does not serve."""
        from kazoo.client import KazooClient

        client = KazooClient(f"127.0.0.1:{self.clients[n]}", timeout=10)
        try:
            client.start(10)
            return created(client, "/")
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


def created(client: Any, path: str) -> Nodes:
    """Return what a client reads of the nodes below a path, without ZooKeeper's own."""
    names = [n for n in client.get_children(path) if (path, n) != ("/", "zookeeper")]
    paths = [f"{path.rstrip('/')}/{n}" for n in names]
    asked = [(p, client.exists_async(p)) for p in paths]
    found = [(p, a.get(30)) for p, a in asked]
    out = {(stat.czxid, p) for p, stat in found}
    return out.union(*(created(client, p) for p, stat in found if stat.numChildren))


def expected(before: Nodes, change: Change, known: Nodes) -> Nodes | None:
    """Return the nodes that a server serves in the end, or None if it does not.

    All transactions that change the tree create a node, and no node is created twice in one history.

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


def among(known: Nodes, lo: int, hi: int) -> Nodes:
    """Return the nodes of a range of transactions."""
    return {n for n in known if lo <= n[0] <= hi}


def started_with(server: Server, release: str) -> Nodes:
    """Return the nodes that a server starts with, without ZooKeeper's own."""
    found = start_tree(server, rules_for(release)).values()
    return {(n.stats[0], n.path) for n in found if n.path and not f"{n.path}/".startswith("/zookeeper/")}


def seen_on_servers(release: str, folders: list[Path], members: tuple[int, ...], late: bool) -> dict[str, Any]:
    """Return what real servers do when the given members are started; with `late` the third is started afterwards.

    They are started again if another process has taken one of their ports.
    """
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(prefix="zabcheck-forecast-") as work:
            servers = Started(release, folders, Path(work))
            try:
                out = seen_of(servers, members, late)
            finally:
                servers.stop()
            errors = [line for log in Path(work).glob("log*.txt") for line in log.read_text("latin-1").splitlines()]
            if not any(PORT_TAKEN in line for line in errors):
                break
    if out["leader"] < 0:
        out["errors"] = [line[:200] for line in errors if "ERROR" in line or "Exception" in line][-20:]
    return out


def seen_of(servers: Started, members: tuple[int, ...], late: bool) -> dict[str, Any]:
    """Start servers, and return what they do."""
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
        out["later"] = {n: servers.tree(n) if after.get(n) else None for n in members}
    return out


def matches(one: ForecastOutcome, seen: dict[str, Any], before: list[Nodes], members: tuple[int, ...]) -> bool:
    """Return whether an outcome of a forecast is what real servers did."""
    name = f"server{seen['leader'] + 1}" if seen["leader"] >= 0 else ""
    if one.leader != name or one.started != [f"server{n + 1}" for n in members]:
        return False
    changes, known = {c.server: c for c in one.changes}, Nodes().union(*before)
    for n in members:
        if name and expected(before[n], changes[f"server{n + 1}"], known) != seen["trees"][n]:
            return False
    if "late" in seen:
        if seen["later"] != seen["trees"]:  # what is served does not change by a server that comes later
            return False
        third = next(n for n in range(3) if n not in members)
        return seen["late"] in [
            expected(before[third], c, known) for c in one.later if c.server == f"server{third + 1}"
        ]
    return True


def kinds_of_danger(folder: Path, which: int) -> tuple[list[Path], str]:
    """Return the directories of a case of three servers in the tests of dangers; each transaction creates a node.

    Raises:
        IndexError: there are no more.
    """
    txns = [
        Txn(zxid(e, n), *create(f"/t{e}_{n}")) for e, most in ((1, 14), (2, 10), (3, 6)) for n in range(1, most + 1)
    ]
    of_three = [(title, lines) for title, lines in cases(IN_DANGER.read_text()) if lines[-1][0] in "123"]
    title, lines = of_three[which]
    return ensemble(folder, *(directory(one, txns) for one in words_of(lines))), title


def made(given: argparse.Namespace, seed: int, folder: Path) -> tuple[list[Path], str]:
    """Make the directories of a seed as the command line asks for.

    Raises:
        IndexError: there are no more.
    """
    if given.what == "kinds":
        return kinds_of_danger(folder, seed)
    if given.what == "chaos":
        return after_chaos(given.runs, given.release, seed, folder)
    return drawn_directories(seed, folder, REPAIRED if given.release == "3.9.5" else variant_of(given.release))


def on_servers(given: argparse.Namespace) -> None:
    """Compare forecasts with real servers, and print the totals."""
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    totals, end = Counter[str](), time.monotonic() + 60 * given.minutes
    for seed in range(given.first, given.first + given.count):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory(prefix="zabcheck-drawn-") as folder:
            try:
                folders, happened = made(given, seed, Path(folder))
            except IndexError:
                break
            row = {"seed": seed, "release": given.release, "accident": happened}
            row |= compared(given.release, folders, totals)
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(seed, happened, dict(totals), flush=True)


def compared(release: str, folders: list[Path], totals: Counter[str]) -> dict[str, Any]:
    """Return what the audit says of directories, and whether real servers do it."""
    files = {p: p.read_bytes() for f in folders for p in f.rglob("*") if p.is_file()}
    found = audited(folders, release)
    files |= {f / "myid": (f / "myid").read_bytes() for f in folders}
    ahead = found.forecast
    assert ahead is not None
    row: dict[str, Any] = {"verdict": found.verdict, "codes": sorted({f.code for f in found.told(VIOLATION, DANGER)})}
    if ahead.unknown:
        totals["unknown"] += 1
        return row | {"unknown": ahead.unknown}
    totals["directories"] += 1
    before = [started_with(s, release) for s in found.servers]
    starting = {n for n, s in enumerate(found.starts) if s.outcome == STARTS}
    row |= {"sets": [], "refused": {}}
    for n in sorted({0, 1, 2} - starting):
        row["refused"][n] = refused_on_server(release, folders, n, found.starts[n].line)
        totals["refusals"] += 1
        totals["refusals as told"] += row["refused"][n]
    for members in SETS:
        mine = [o for o in ahead.outcomes if o.started == [f"server{n + 1}" for n in members]]
        if not mine and not set(members) <= starting:
            continue  # one of them does not start, which the audit says
        seen = seen_on_servers(release, folders, members, len(members) == 2 and starting == {0, 1, 2})
        one = {
            "in": any(matches(o, seen, before, members) for o in mine),
            "one": len({repr((o.leader, o.last, [c.serves for c in o.changes])) for o in mine}) == 1,
            "told_as_one": len(list(grouped(mine))) == 1,  # what differs is at most the leader
            "one_history": len({repr((o.last, o.loses, o.may_lose, o.drops, o.revives, bool(o.leader))) for o in mine})
            == 1,
        }
        totals["sets"] += 1
        totals.update(name for name, yes in one.items() if yes)
        row["sets"].append({"started": members} | one)
        if not one["in"]:
            said = {k: v for k, v in seen.items() if k in ("leader", "errors")}
            trees = seen["trees"] | ({"late": seen["late"]} if "late" in seen else {})
            said |= {str(n): sorted(t) if t is not None else None for n, t in trees.items()}
            row["sets"][-1]["seen"] = said
            print(members, str(said)[-2000:], [(o.leader, o.changes, o.later) for o in mine])
    assert files == {p: p.read_bytes() for f in folders for p in f.rglob("*") if p.is_file()}, "a directory was changed"
    return row


def refused_on_server(release: str, folders: list[Path], n: int, line: str) -> bool:
    """Return whether a real server that is started from a directory ends with a line in its log."""
    with tempfile.TemporaryDirectory(prefix="zabcheck-forecast-") as work:
        servers = Started(release, folders, Path(work))
        try:
            return servers.ends_with(n, line)
        finally:
            servers.stop()


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
    parser.add_argument("what", choices=("servers", "kinds", "chaos", "drawn"))
    parser.add_argument("--runs", type=Path, help="with `chaos`: a folder of recorded chaos runs, RELEASE-NUMBER each")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--accidents", action="store_true", help="with `drawn`: each has one")
    parser.add_argument("--release", default="3.9.5")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "forecast.jsonl")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are stopped
    if given.what == "chaos" and given.runs is None:
        parser.error("chaos needs --runs")
    if given.what == "drawn":
        on_drawn(given.count, given.first, given.accidents)
    else:
        on_servers(given)


if __name__ == "__main__":
    main()
