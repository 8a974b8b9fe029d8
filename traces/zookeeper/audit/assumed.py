"""Word what an audit assumes because no file and no option says it: the one place that does, for every report."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from traces.zookeeper.audit.voters import START, Quorums
from traces.zookeeper.disk.rules import OPTIONS, Rules
from traces.zookeeper.disk.server import Server


def assumed(
    servers: Sequence[Server], quorums: Quorums, rules: Rules, named: bool, replayed: bool,
    tree_of_its_own: Collection[str] = (), doubted: Sequence[str] = (),
) -> dict[str, str]:  # fmt: skip
    """Return the assumptions on which an audit rests, in words, by what they are about.

    Args:
        rules: by which files are read. named: whether the request names the release.
        replayed: whether the logs were replayed.
        tree_of_its_own: with a forecast, the servers whose trees are not those of their transactions.
        doubted: servers that may have lost what they acknowledged.
    """
    out = {"voters": voters(servers, quorums), "release": release(rules, named), "options": options(rules)}
    out["directories"] = "each has all files of one stopped server, copied at one time; it may read and write them"
    if quorums.log_directory and any(s.logs and len(s.directory.folders) == 1 for s in servers):
        out["logs"] = f"those beside the snapshots are the ones of {quorums.log_directory} (dataLogDir)"
    if (lacking := [s for s in servers if not s.directory.myid]) and len(servers) > 1:
        numbers = ", ".join(f"{s.directory.number} for {s.name}" for s in lacking)
        out["numbers"] = f"{numbers} (there is no myid): of equal votes any may win"
    if doubted and quorums(doubted, START):
        lost = ", ".join(doubted)
        out["disks"] = f"nothing was acknowledged by {lost} alone, a quorum that may have lost what it had"
    if not replayed:
        out["trees"] = "snapshots have what the logs say: the logs were not replayed (--no-digests)"
    elif tree_of_its_own:
        what = f"a forecast follows transactions; {', '.join(sorted(tree_of_its_own))} has a tree of its own"
        out["trees"] = f"{what}, and keeps it unless its leader sends a whole one"
    return out


def voters(servers: Sequence[Server], quorums: Quorums) -> str:
    """Return who is taken to vote, and where that is from."""
    if quorums.unknown(servers):
        return "unknown, since one server of an ensemble was given, and no file lists the others (--config)"
    if quorums.first is not None:
        return quorums.told
    if len(servers) == 1 and not quorums.changes:
        return "the server given alone: it has transactions of no ensemble"
    if quorums.changes:
        return f"{quorums.told}, and the servers' zoo.cfg has the same (--config)"
    return f"{quorums.told}; no other server votes, and none of them observes (--config)"


def release(rules: Rules, named: bool) -> str:
    """Return by which release files are read."""
    if named:
        return f"every server runs {rules.release}"
    return f"files are read as by {rules.release}, the newest that can have written them (--release)"


def options(rules: Rules) -> str:
    """Return which properties of the servers' JVM are known, and which have no effect here."""
    said = ", ".join(f"{name}={value}" for name, value in rules.options)
    said = f"{said}; " if said else ""
    if other := [name for name, _ in rules.options if name not in OPTIONS]:
        said += f"{', '.join(other)} has no effect on an audit; "
    return f"{said}the JVM's other properties are those with which the files were written (--server-option)"
