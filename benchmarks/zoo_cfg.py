"""Hold our reading of zoo.cfg against official servers: `python -m benchmarks.zoo_cfg FOLDER [--record FILE]`.

FOLDER has releases as zookeeper-VERSION/lib/*.jar. Draws configurations, asks `QuorumPeerConfig`, `QuorumMaj` and
`QuorumHierarchical` of each release through `ZooCfg.java`, and prints every answer that differs from ours. The recorded
answers are the test `tests/quorums/test_zoo_cfg.py`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from zabspec.ensemble import ConfigError
from zabspec.zoo_cfg import parse

RELEASES = ("3.4.14", "3.5.6", "3.6.3", "3.8.6", "3.9.5")
SOURCE = Path(__file__).with_name("ZooCfg.java")


def quorum_system(draw: random.Random) -> str:
    """Return servers with weights and groups as a zoo.cfg: some below zero, some groups empty or without weight."""
    count = draw.randrange(1, 7)
    servers = list(range(1, count + 1))
    observers = [s for s in servers[1:] if draw.random() < 0.08]
    lines = [f"server.{s}=127.0.0.1:{2000 + s}:{3000 + s}{':observer' if s in observers else ''}" for s in servers]
    if draw.random() < 0.15:
        lines += [f"weight.{draw.randrange(1, count + 2)}=2"] if draw.random() < 0.4 else []
        return "\n".join(lines)
    draw.shuffle(servers)
    cuts = sorted(draw.randrange(count + 1) for _ in range(draw.randrange(3)))
    groups = [servers[a:b] for a, b in zip([0, *cuts], [*cuts, count], strict=True)]
    groups = [[s for s in g if s not in observers or draw.random() < 0.3] for g in groups]
    if draw.random() < 0.06:
        groups[-1].append(draw.randrange(1, 9))
    for number, group in enumerate(groups, 1):
        if group or draw.random() < 0.7:
            lines.append(f"group.{number}={':'.join(map(str, group)) or ':'}")
    low = draw.choice((0, 0, -1, -3))
    for s in servers:
        if draw.random() < 0.7:
            lines.append(f"weight.{s}={draw.randrange(low, 4)}")
    if draw.random() < 0.1:
        lines.append("weight.9=2")
    return "\n".join(lines)


SEPARATORS = ("=", "=", "=", "=", ":", " ", " = ", "\t", " : ", "  ", "==", "")
ROLES = ("", "", "", ":participant", ":observer", ":OBSERVER", ":learner", ":", ": observer")
CLIENTS = ("", "", "", ";2181", ";127.0.0.1:2181", ";", ";a;b", ";x")
PORTS = ("2888:3888", "2888:3888", "2888:3888", "2888:3888", "2888", "", "2888:", ":3888", "2888:2888", "x:3888",
         "2888:70000", "2888:-1", "+2888:3888", "0:3888", "2888:3888:4888", "2888: 3888")  # fmt: skip
HOSTS = ("127.0.0.1", "127.0.0.1", "127.0.0.1", "[::1]", "[::1", "::1", "", "localhost")
BEHIND = ("", "", "", "", "", " ", " # first", "\t", "#x", "\\", "\\\\")
NUMBERS = ("1", "2", "3", "4", "01", "+2", " 3", "-1", "x", "", "1.2", "99999999999999999999", "\u0663")
PREFIXES = ("server.", "server.", "server.", "server.", " server.", "Server.", "server", "se\\u0072ver.", "server\\.",
            "se\\rver.", "\\u00zz", "!server.", "#server.", "\\ server.")  # fmt: skip
OTHERS = (
    "tickTime=2000", "tickTime=abc", "tickTime= 2000 ", "initLimit=0", "initLimit=10 ", "syncLimit=x",
    "peerType=observer", "peerType=learner", "standaloneEnabled=false", "standaloneEnabled=no",
    "standaloneEnabled=FALSE",
    "reconfigEnabled=true", "reconfigEnabled=1", "electionAlg=3", "electionAlg=0", "electionAlg=1", "maxClientCnxns=x",
    "minSessionTimeout=9000\nmaxSessionTimeout=8000", "autopurge.purgeInterval=1", "autopurge.purgeInterval=one",
    "snapshot.trust.empty=true", "jute.maxbuffer=4194304", "4lw.commands.whitelist=*", "oraclePath=/none",
    "multiAddress.enabled=true", "version=100000000", "version=xyz", "group=1", "groups.1=1:2:3", "weight=1",
    "weight.1=1", "weight.1=1 ", "group.1=1:2:3", "group.1=1:2:3 # all", "group.x=1", "weight.1=x", "group.1=1:2:2",
    "group.1=1: 2:3", "sslQuorum=true", "portUnification=maybe", "dynamicConfigFile=/none/zoo.cfg.dynamic",
    "dynamicConfigFile.next=/none", "syncEnabled=false", "syncEnabled=x", "quorumListenOnAllIPs=x",
    "secureClientPort=2281", "secureClientPort=x", "clientPortAddress=127.0.0.1", "clientPort=x", "admin.serverPort=x",
    "localSessionsEnabled=x", "electionPortBindRetry=x", "quorum.cnxn.threads.size=x", "observerMasterPort=x",
    "connectToLearnerMasterLimit=x", "clientPortListenBacklog=x", "quorum.auth.enableSasl=maybe",
    "quorum.auth.learnerRequireSasl=true", "snapRetainCount=x",
    "autopurge.snapRetainCount=x", "jvm.pause.monitor=x", "jvm.pause.sleep.time.ms=x", "peerType=participant",
    "authProvider.1=x", "sslQuorumReloadCertFiles=x", "traceFile=x", "dataLogDir=", "client.portUnification=x",
)  # fmt: skip


def grammar(draw: random.Random) -> str:
    """Return a zoo.cfg that uses what a properties file allows, and more."""
    lines = []
    odd = draw.choice((0.0, 0.03, 0.15))

    def some(words: tuple[str, ...]) -> str:
        return draw.choice(words) if draw.random() < odd else words[0]

    count = draw.choice((0, 1, 1, 2, 3, 3, 3, 4))
    for number in range(1, count + 1):
        named = draw.choice(NUMBERS) if draw.random() < odd / 2 else str(number)
        host = "|".join(f"{some(HOSTS)}:{some(PORTS)}{some(ROLES)}" for _ in range(1 + (draw.random() < odd)))
        value = f"{host}{some(CLIENTS)}{some(BEHIND)}"
        if draw.random() < odd:
            value = value.replace(":", "\\\n   :", 1)
        lines.append(f"{some(PREFIXES)}{named}{draw.choice(SEPARATORS) if odd else '='}{value}")
    if draw.random() < 0.2:
        lines += [lines[0]] if lines else []
    lines += draw.sample(OTHERS, draw.choice((0, 1, 1, 2)))
    if draw.random() < 0.15:
        lines += [f"group.1={':'.join(map(str, range(1, count + 1)))}", "weight.1=2"]
    if draw.random() < 0.2:
        draw.shuffle(lines)
    lines += draw.sample(("# a comment", "! another", "", "   ", "\f", "# not continued \\", "key\u00e9=\u00e9"), 2)
    text = draw.choice(("\n", "\n", "\n", "\r\n", "\r")).join(lines)
    return draw.choice(("", "", "", "", "\u00ef\u00bb\u00bf", "\n")) + text


def drawn(seed: int) -> Iterator[str]:
    """Yield 500 quorum systems and 200 configurations, each in Latin-1."""
    draw = random.Random(seed)
    yield from (quorum_system(draw) for _ in range(500))
    yield from (grammar(draw).encode("latin-1", "replace").decode("latin-1") for _ in range(200))


def asked(folder: Path, configs: list[str], scratch: Path) -> dict[str, list[str]]:
    """Return the answers of each release, in the order of the configurations."""
    for number, text in enumerate(configs):
        (scratch / f"{number:05}.cfg").write_bytes(text.encode("latin-1"))
    out = {}
    for release in RELEASES:
        jars, classes = f"{folder}/zookeeper-{release}/lib/*", scratch / release
        subprocess.run(["javac", "-nowarn", "-Xlint:-unchecked", "-cp", jars, "-d", classes, SOURCE], check=True)
        command = ["java", "-cp", f"{jars}:{classes}", "ZooCfg", scratch]
        done = subprocess.run(command, capture_output=True, check=True)
        lines = [line.split("\t", 1)[1] for line in done.stdout.decode().splitlines() if ".cfg\t" in line]
        assert len(lines) == len(configs)
        out[release] = lines
    return out


def ours(text: str, release: str) -> str:
    """Return our answer as `ZooCfg` writes it."""
    try:
        found = parse(text.encode("latin-1"), release).voters
    except ConfigError as problem:
        return f"refused\t{problem}"
    voters = found.participants
    sets = [frozenset(v for k, v in enumerate(voters) if mask >> k & 1) for mask in range(1 << len(voters))]
    table = sum(1 << mask for mask, chosen in enumerate(sets) if found.is_quorum(chosen))
    return f"{list(voters)}\t{list(found.observers)}\t{table:x}"


def agree(mine: str, theirs: str) -> bool:
    """Return whether our answer agrees with a server's; reasons may be worded differently.

    A server without `server.` lines, and in 3.4 with one, runs alone: we refuse the first, which has no quorums.
    """
    if theirs == "standalone" or theirs.startswith("[]"):
        return mine.startswith("refused\tthere is no server") or mine.endswith("]\t[]\t2")
    return mine == theirs or (mine.startswith("refused") and theirs.startswith("refused"))


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--record", type=Path)
    words.add_argument("--also", type=Path, nargs="*", default=[], help="further configurations")
    given = words.parse_args()
    configs = [*drawn(given.seed), *(path.read_bytes().decode("latin-1") for path in given.also)]
    with tempfile.TemporaryDirectory() as scratch:
        answers = asked(given.folder, configs, Path(scratch))
    different = 0
    for release, lines in answers.items():
        for text, line in zip(configs, lines, strict=True):
            if not agree(mine := ours(text, release), line):
                different += 1
                print(f"--- {release}\n{text!r}\n  {line}\n  {mine}")
    print(f"{len(configs)} configurations, seed {given.seed}, on {len(RELEASES)} releases: {different} differ")
    if given.record is not None:
        given.record.write_bytes(lzma.compress(json.dumps({"configs": configs, "answers": answers}).encode(), preset=9))
    return int(different > 0)


if __name__ == "__main__":
    raise SystemExit(main())
