"""Examine the ensemble after a run: let everything continue, start every server, and read from each as a client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.ensemble import Ensemble
from traces.zookeeper.reenact.player import ELECTION, Played
from traces.zookeeper.reenact.servers import EXITED
from traces.zookeeper.reenact.zxids import Zxids

RUN_DONE = "done"  # begins the line that ends the recorded events of a run's steps
OWN = "zookeeper"  # the node that every server has
SETTLES = 15.0  # seconds that an ensemble may take to serve again


@dataclass
class Aftermath:
    """The state of the servers after a re-enacted run.

    Attributes:
        trees: what a client reads under the run's node, of each server that serves.
        refuses: servers that end when they are started, each with what its log says.
        exits: servers that end once they have looked for a leader, each with its exit code and what its log says.
        silent: servers that run and do not serve.
        harm: what clients have lost, in sentences.
    """

    trees: dict[int, tuple[str, ...]] = field(default_factory=dict)
    refuses: dict[int, str] = field(default_factory=dict)
    exits: dict[int, tuple[int, str]] = field(default_factory=dict)
    silent: list[int] = field(default_factory=list)
    harm: list[str] = field(default_factory=list)


def aftermath(ensemble: Ensemble, played: Played) -> Aftermath:
    """Let the ensemble recover by itself, and examine it."""
    out = Aftermath()
    ensemble.recording.note("run", f"{RUN_DONE}; all threads continue")
    for proxy in ensemble.quorum.values():
        for c in proxy.connections:
            if c.up.dead or c.down.dead:
                c.close()
    ensemble.open_all()
    since = {n: len(s.said().encode()) for n, s in ensemble.servers.items() if not s.runs}
    for n in since:
        ensemble.start(n)
    for n, s in ensemble.servers.items():
        ensemble.recording.wait(lambda s=s: bool(s.status()[0]) or not s.runs, SETTLES)  # type: ignore[misc]
        if not s.runs:
            found = EXITED.findall(s.said())
            why = found[-1] if found else "it gives no reason"
            if n in since and not ELECTION.search(s.said(since[n])):
                out.refuses[n] = why
            else:
                assert s.process is not None
                out.exits[n] = s.process.returncode, why
    for n, s in ensemble.servers.items():
        if not s.runs:
            continue
        try:
            out.trees[n] = read(ensemble, n, played.root or "/")
        except Cannot:
            out.silent.append(n)
    ensemble.recording.note(
        "run", f"read: {out.trees}; refuse to start: {out.refuses}; exit: {out.exits}; do not serve: {out.silent}"
    )
    out.harm = harm(out, played)
    return out


def read(ensemble: Ensemble, n: int, root: str) -> tuple[str, ...]:
    """Return what a server serves under the run's node, without its own.

    Raises:
        Cannot: the server answers no client.
    """
    client: Any = ensemble.client(n, seconds=SETTLES)
    try:
        client.sync(root)
        return tuple(sorted(name for name in client.get_children(root) if name != OWN))
    except Exception as problem:
        raise Cannot(f"server {n} answers a read with {type(problem).__name__}") from None


def harm(a: Aftermath, played: Played) -> list[str]:
    """Return the harm found afterwards, as sentences of a report."""
    out = [f"server {n} can no longer be started: {why}" for n, why in sorted(a.refuses.items())]
    for n, (code, why) in sorted(a.exits.items()):
        out.append(f"server {n} looks for a leader, and exits with code {code}: {why}")
    for w in played.writes:
        name, zxid = w.path.rsplit("/", 1)[1], Zxids.said(w.zxid)
        without = [n for n, tree in sorted(a.trees.items()) if name not in tree]
        if w.answered and without and len(without) == len(a.trees):
            out.append(
                f"the write of {w.path} ({zxid}) was acknowledged to its client at step {w.answered}, "
                f"and is on none of the {len(a.trees)} servers that serve"
            )
        elif w.served and without and len(without) == len(a.trees):
            out.append(
                f"a client read {w.path} ({zxid}) from the leader at step {w.served}, and it is on none of the "
                f"{len(a.trees)} servers that serve"
            )
        elif without and len(without) < len(a.trees):
            there = [n for n in sorted(a.trees) if n not in without]
            said = f"acknowledged at step {w.answered}" if w.answered else "never acknowledged"
            out.append(f"servers differ: {w.path} ({zxid}, {said}) is on {listed(there)} and not on {listed(without)}")
    return out


def listed(numbers: list[int]) -> str:
    return f"server{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
