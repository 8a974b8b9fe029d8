"""Read a zoo.cfg as `QuorumPeerConfig` of a release does: what it refuses is refused, what it accepts is accepted.

A zoo.cfg is a Java properties file in Latin-1. From 3.5 on the servers may be in a second one (`dynamicConfigFile`).
`benchmarks/zoo_cfg.py` holds the rules against the classes of official releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from zabspec.ensemble import ConfigError, Ensemble, word
from zabspec.files import read_bytes

__all__ = ["NEWEST", "ZooCfg", "dynamic_places", "dynamic_version", "membership", "parse", "read_zoo_cfg"]

NO_OPTIONS: Mapping[str, str] = {}
SEVERAL = "zookeeper.multiAddress.enabled"  # an option of the JVM: in a zoo.cfg it has no effect on addresses
NEWEST = "3.9.5"  # the release that is meant where none is named
LARGEST = 1 << 20  # bytes
MARK = "\u00ef\u00bb\u00bf"  # a byte order mark, in Latin-1
MEMBERS = ("server.", "group", "weight")  # how keys of the membership begin
PLAIN = re.compile(r"(server|group|weight)\.\d+")
LIKE = re.compile(r"\W*(server|group|weight)s?\W*\d", re.IGNORECASE)
OLD, SECOND, SIXTH, SEVENTH, ORACLES = (3, 4), (3, 5), (3, 6), (3, 7), (3, 8)
# Settings that a release parses, by the first that does.
NUMBERS = {
    "clientPort": OLD, "tickTime": OLD, "maxClientCnxns": OLD, "minSessionTimeout": OLD, "maxSessionTimeout": OLD,
    "initLimit": OLD, "syncLimit": OLD, "electionAlg": OLD, "autopurge.snapRetainCount": OLD,
    "autopurge.purgeInterval": OLD, "quorum.cnxn.threads.size": OLD, "secureClientPort": SECOND,
    "observerMasterPort": SIXTH, "clientPortListenBacklog": SIXTH, "connectToLearnerMasterLimit": SIXTH,
    "multiAddress.reachabilityCheckTimeoutMs": SIXTH, "jvm.pause.info-threshold.ms": SIXTH,
    "jvm.pause.warn-threshold.ms": SIXTH, "jvm.pause.sleep.time.ms": SIXTH,
}  # fmt: skip
FLAGS = {
    "standaloneEnabled": SECOND, "reconfigEnabled": SECOND, "localSessionsEnabled": SEVENTH,
    "localSessionsUpgradingEnabled": SEVENTH, "quorumListenOnAllIPs": SEVENTH, "syncEnabled": SEVENTH,
    "sslQuorum": SEVENTH, "portUnification": SEVENTH, "sslQuorumReloadCertFiles": SEVENTH,
    "jvm.pause.monitor": SEVENTH, "multiAddress.enabled": SEVENTH, "multiAddress.reachabilityCheckEnabled": SEVENTH,
    "quorum.auth.enableSasl": SEVENTH, "quorum.auth.learnerRequireSasl": SEVENTH,
    "quorum.auth.serverRequireSasl": SEVENTH,
}  # fmt: skip


# Releases that are the same as regards ZAB (docs/explanation/zookeeper-bugs.md), by variant.
SAME = {
    "": ("master", "3.9.5", "3.9.4"),
    "3.9.3": ("3.9.3",),
    "3.9.2": ("3.9.2", "3.8.6", "3.8.5"),
    "3.9.1": ("3.9.1", "3.9.0", "3.8.4", "3.8.3", "3.8.2", "3.8.1", "3.8.0", "3.7.2", "3.7.1", "3.6.4", "3.6.3"),
    "3.6.0": ("3.6.2", "3.6.1", "3.6.0", "3.5.9", "3.5.8", "3.5.7", "3.5.6", "3.5.5", "3.5.4"),
    "3.5.10": ("3.5.10",),
    "3.5.3": ("3.5.3",),
    "3.4.14": ("3.4.14", "3.4.13", "3.4.12"),
    "3.4.10": ("3.4.10",),
}
FLAG = re.compile(r"-D([A-Za-z][\w.]*)(?:=([^\s\"']*))?")


@dataclass(frozen=True)
class ZooCfg:
    """A configuration.

    Attributes:
        ensemble: who votes, and how; None if the servers are in the file that `dynamic` names and that was not read.
        settings: every key with its value; of a key given twice the last.
        release: the one whose rules were applied.
        warnings: what a reader may overlook, a sentence each.
        dynamic: the value of `dynamicConfigFile`; empty without one.
        version: of the membership; 0 without one.
    """

    ensemble: Ensemble | None
    settings: Mapping[str, str]
    release: str
    warnings: tuple[str, ...] = ()
    dynamic: str = ""
    version: int = 0

    @property
    def voters(self) -> Ensemble:
        """The ensemble.

        Raises:
            ConfigError: its file was not read.
        """
        if self.ensemble is None:
            raise ConfigError(f"the servers are in {self.dynamic} (dynamicConfigFile), which was not given")
        return self.ensemble


@dataclass
class Properties:
    """A properties file as Java loads it."""

    values: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def trimmed(self) -> dict[str, str]:
        return {key.strip(): value.strip() for key, value in self.values.items()}


def properties(data: bytes) -> Properties:
    """Read a properties file.

    Raises:
        ConfigError: a Unicode escape has not four digits, which Java refuses.
    """
    import javaproperties  # it costs as much as the rest of a short command

    out = Properties()
    try:
        for item in javaproperties.parse(data):
            if not isinstance(item, javaproperties.KeyValue):
                continue
            if item.key in out.values:
                out.warnings.append(f"{item.key} is given twice: the last counts")
            out.values[item.key] = item.value
            if item.key.startswith(MARK):
                out.warnings.append(
                    f"the file begins with a byte order mark, which Java reads as a part of the first key: "
                    f"{item.key.removeprefix(MARK)} is not set"
                )
            elif LIKE.match(item.key) and not PLAIN.fullmatch(item.key):
                out.warnings.append(f"{item.key!r} is no key of the membership")
    except javaproperties.InvalidUEscapeError as problem:
        raise ConfigError(f"{problem.escape!r} is no character: \\u takes four digits") from None
    return out


def parse(
    data: bytes, release: str = NEWEST, dynamic: bytes | None = None, options: Mapping[str, str] = NO_OPTIONS
) -> ZooCfg:
    """Read a configuration.

    Args:
        data: the zoo.cfg.
        dynamic: the file that its `dynamicConfigFile` names, if it was found.
        options: system properties of the servers' JVM.

    Raises:
        ConfigError: a server of the release refuses it, or it has no server that votes.
    """
    found, numbers = properties(data), release_numbers(release)
    settings = found.trimmed()
    check_settings(settings, numbers)
    named = settings.get("dynamicConfigFile") if numbers >= SECOND else None
    members, warnings, version = found.values, list(found.warnings), 0
    if named is not None:
        static = next((key for key in settings if key.startswith(MEMBERS)), "")
        if static:
            raise ConfigError(f"{static} must be in the file that dynamicConfigFile names, {named}")
        if dynamic is None:
            return ZooCfg(None, settings, release, tuple(warnings), named)
        beside = properties(dynamic)
        check_dynamic(beside.values)
        members, version = beside.values, dynamic_version(named)
        warnings += beside.warnings
    elif numbers >= SECOND and "version" in members:
        version = long(members["version"], "the version", 16)
    ensemble = members_of(members, settings, numbers, options)
    return ZooCfg(ensemble, settings, release, tuple(warnings), named or "", version)


def membership(text: str) -> tuple[Ensemble, int]:
    """Read the data of /zookeeper/config or of a reconfig record: the ensemble and its version.

    Raises:
        ConfigError: it is none.
    """
    found = properties(text.encode("latin-1", "replace"))
    version = long(found.values["version"], "the version", 16) if "version" in found.values else 0
    settings, options = {"standaloneEnabled": "false"}, {SEVERAL: "true"}
    return members_of(found.values, settings, release_numbers(NEWEST), options), version


def read_zoo_cfg(path: Path, release: str = "", options: Mapping[str, str] = NO_OPTIONS) -> ZooCfg:
    """Read a configuration and the dynamic file that it names: where it says, or else beside it.

    Raises:
        ConfigError: as for `parse`, or the dynamic file is at neither place.
        OSError: a file cannot be read.
    """
    release, data = release or NEWEST, read_bytes(path, LARGEST)
    if b"\0" in data[:4096]:
        raise ConfigError("it is not text in Latin-1, which Java reads")
    first = parse(data, release, options=options)
    warnings = list(first.warnings)
    if first.ensemble is None:
        place = next((p for p in dynamic_places(path, first.dynamic) if p.is_file()), None)
        if place is None:
            raise ConfigError(
                f"the servers are in {first.dynamic} (dynamicConfigFile), which is neither there nor beside {path.name}"
            )
        first = parse(data, release, read_bytes(place, LARGEST), options)
        warnings = [*first.warnings, f"the servers are those of {place}"]
        named = dynamic_version(first.dynamic)
        newer = [p.name for p in path.parent.glob(f"{path.name}.dynamic.*") if dynamic_version(p.name) > named]
        warnings += [f"beside it {name} is later, but dynamicConfigFile does not name it" for name in sorted(newer)]
    if path.with_name(f"{path.name}.dynamic.next").is_file():
        warnings.append(f"{path.name}.dynamic.next has a membership that was proposed, and perhaps not committed")
    return replace(first, warnings=tuple(warnings))


def dynamic_places(path: Path, name: str) -> list[Path]:
    """Return where the dynamic file of a configuration is looked for: where its name says, then beside it."""
    return [path.parent / name, path.parent / Path(name).name] if name else []


def dynamic_version(name: str) -> int:
    """Return the version in the name of a dynamic file (zoo.cfg.dynamic.100000000); 0 if it has none."""
    ending = name.rpartition(".")[2]
    return int(ending, 16) if re.fullmatch("[0-9a-fA-F]{1,16}", ending) else 0


# --- what a release refuses ---------------------------------------------------------------------------


def release_numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())


def check_settings(settings: Mapping[str, str], release: tuple[int, ...]) -> None:
    """Check every setting that a release parses.

    Raises:
        ConfigError: it refuses one.
    """
    for key, since in NUMBERS.items():
        if key in settings and release >= since:
            long(settings[key], key, bits=63 if key.startswith("jvm.") else 31)
    for key, since in FLAGS.items():
        if key in settings and release >= since and settings[key].lower() not in ("true", "false"):
            raise ConfigError(f"{key} is true or false, not {settings[key]!r}")
    kind = settings.get("peerType", "participant")
    if kind.lower() not in ("participant", "observer"):
        raise ConfigError(f"peerType is participant or observer, not {kind!r}")
    if release >= SIXTH and int(settings.get("electionAlg", "3")) != 3:
        raise ConfigError(f"electionAlg {settings['electionAlg']} is not supported from 3.6 on: only 3")
    ticks = int(settings.get("tickTime", "3000"))
    least, most = int(settings.get("minSessionTimeout", "-1")), int(settings.get("maxSessionTimeout", "-1"))
    if ticks == 0:
        raise ConfigError("tickTime is 0")
    if (ticks * 2 if least == -1 else least) > (ticks * 20 if most == -1 else most):
        raise ConfigError("minSessionTimeout is larger than maxSessionTimeout")
    learner, server = (is_true(settings, f"quorum.auth.{who}RequireSasl") for who in ("learner", "server"))
    if (learner or server) and not is_true(settings, "quorum.auth.enableSasl"):
        raise ConfigError("quorum.auth.enableSasl is not true, but SASL is required")
    if server and not learner:
        raise ConfigError("quorum.auth.serverRequireSasl needs quorum.auth.learnerRequireSasl")
    if release < SECOND:
        return
    for port in ("clientPort", "secureClientPort"):
        if f"{port}Address" in settings and int(settings.get(port, "0")) == 0:
            raise ConfigError(f"{port}Address is set, but {port} is not")
    for key in ("dataDir", "dataLogDir", "dynamicConfigFile"):
        if len(settings.get(key, "./")) < 2 and settings[key] != "/":
            raise ConfigError(f"{key} {settings[key]!r} is refused (StringIndexOutOfBoundsException): name it in full")


def is_true(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() == "true"


def check_dynamic(members: Iterable[str]) -> None:
    """Check the keys of a dynamic file.

    Raises:
        ConfigError: a server refuses one.
    """
    for key in map(str.strip, members):
        if key == "version":
            raise ConfigError("a dynamic file has its version in its name, not as a line")
        if not key.startswith(MEMBERS):
            raise ConfigError(f"a dynamic file has servers, groups and weights alone, not {key}")


def long(text: str, what: str, base: int = 10, bits: int = 63) -> int:
    """Parse a whole number as Java does: a sign, digits, no blanks.

    Raises:
        ConfigError: it is none, or does not fit.
    """
    digits = r"[+-]?[0-9a-fA-F]+" if base == 16 else r"[+-]?\d+"
    if not re.fullmatch(digits, text) or len(text) > 64 or not -(1 << bits) <= int(text, base) < 1 << bits:
        raise ConfigError(f"{what} must be a whole number, not {text!r:.80}")
    return int(text, base)


def pieces(text: str, at: str) -> list[str]:
    """Split a text as `String.split` does, which leaves out empty pieces at the end."""
    out = text.split(at)
    while len(out) > 1 and not out[-1]:
        out.pop()
    return [] if out == [""] and text else out


# --- the membership -----------------------------------------------------------------------------------


def members_of(
    members: Mapping[str, str], settings: Mapping[str, str], release: tuple[int, ...], options: Mapping[str, str]
) -> Ensemble:
    """Return the ensemble of the lines server., group. and weight.

    Raises:
        ConfigError: a server refuses them, or none votes.
    """
    if release < SECOND:
        members = {key.strip(): value.strip() for key, value in members.items()}
    roles: dict[int, str] = {}
    groups: list[tuple[int, tuple[int, ...]]] = []
    weights: dict[int, int] = {}
    several = release >= SIXTH and is_true(options, SEVERAL)
    hierarchical = release < SECOND or any(key.strip().startswith(MEMBERS[1:]) for key in members)
    oracle = settings.get("oraclePath", "") if release >= ORACLES and "oraclePath" in settings else ""
    for key, value in members.items():
        if key.startswith("server."):
            number = long(key.partition(".")[2], "the number of a server")
            kind = role(key, value, release, several)
            if kind and roles.setdefault(number, kind) != kind:
                raise ConfigError(f"server {number} is given under two keys, and with two roles")
        elif key.startswith("group") and hierarchical and not oracle:
            listed = [long(m, f"a member of {key}") for m in pieces(value, ":")]
            groups.append((long(key[key.find(".") + 1 :], f"the number of {key}"), tuple(listed)))
        elif key.startswith("weight") and hierarchical and not oracle:
            server = long(key[key.find(".") + 1 :], f"the number of {key}")
            weights[server] = long(value, f"the weight of server {server}")
    check_limits(roles, settings, release)
    if release < SECOND and len(roles) == 1:  # a standalone server, which still refuses a member of two groups
        check_groups(groups)
        groups, weights = [], {}
    return ensemble_of(roles, groups, weights, oracle, hierarchical and release >= SECOND and not oracle)


def check_limits(roles: Mapping[int, str], settings: Mapping[str, str], release: tuple[int, ...]) -> None:
    """Check what a server checks of the membership as a whole.

    Raises:
        ConfigError: it refuses it.
    """
    voters = [s for s, kind in roles.items() if kind != "observer"]
    alone = release < SECOND or settings.get("standaloneEnabled", "true").lower() == "true"
    if len(voters) <= 1 and alone and len(roles) > len(voters):
        raise ConfigError("observers need at least two servers that vote")
    if not voters:
        raise ConfigError("there is no server that votes: no line like server.1=host:2888:3888")
    if len(voters) > 1 or not alone:
        for key in ("initLimit", "syncLimit"):
            if int(settings.get(key, "1")) == 0:
                raise ConfigError(f"{key} is 0")
        if release < SECOND and int(settings.get("electionAlg", "3")) != 0:
            missing = [s for s, kind in roles.items() if kind == "no election port"]
            if missing:
                raise ConfigError(f"server {missing[0]} has no election port: a server is host:port:port")


def check_groups(groups: Iterable[tuple[int, tuple[int, ...]]]) -> None:
    seen: set[int] = set()
    for _, members in groups:
        for m in members:
            if m in seen:
                raise ConfigError(f"server {m} is in a group twice")
            seen.add(m)


def ensemble_of(
    roles: Mapping[int, str], groups: Iterable[tuple[int, tuple[int, ...]]], weights: Mapping[int, int],
    oracle: str = "", grouped: bool = True,
) -> Ensemble:  # fmt: skip
    """Return the ensemble of servers, groups and weights.

    Args:
        roles: `observer`, or anything else of a server that votes.
        groups: pairs of a number and members. Java counts each pair, and adds up weights by number.
        oracle: the value of `oraclePath`, which makes Java pass over groups and weights.
        grouped: whether weights without a group are refused; 3.4 passes over them.

    Raises:
        ConfigError: a server refuses it.
    """
    voters = tuple(sorted(s for s, kind in roles.items() if kind != "observer"))
    observers = tuple(sorted(set(roles) - set(voters)))
    merged: dict[int, tuple[int, ...]] = {}
    pairs = list(groups)
    check_groups(pairs)
    for number, members in pairs:
        merged[number] = (*merged.get(number, ()), *members)
    if not pairs and not (weights and grouped):
        return Ensemble(voters, observers, {}, dict.fromkeys(voters, 1), oracle=oracle)
    inside = {m for members in merged.values() for m in members}
    if outside := [s for s in voters if s not in inside]:
        raise ConfigError(f"server {outside[0]} is in no group: with weights or groups every server must be in one")
    if not grouped and len(inside) != len(voters):
        raise ConfigError("a group has a member that does not vote")
    given = {s: weights.get(s, 1) for s in voters} | {s: weights[s] for s in inside - set(voters) if s in weights}
    if unknown := sorted(inside - given.keys()):
        raise ConfigError(f"server {unknown[0]} is in a group, but neither votes nor has a weight")
    if sum(map(abs, given.values())) != word(sum(map(abs, given.values()))):
        raise ConfigError("the weights add up to more than 64 bits hold")
    counted = len(pairs) - sum(not sum(given[m] for m in ms) for ms in merged.values() if ms)
    return Ensemble(voters, observers, merged, given, counted)


def role(key: str, value: str, release: tuple[int, ...], several: bool) -> str:
    """Return the role of a server; empty for a line that 3.4 passes over with an error in its log.

    Args:
        value: host:port:port[:role][;client port], from 3.6 on several of these divided by `|`.
        several: whether several addresses are accepted.

    Raises:
        ConfigError: a server refuses it.
    """
    wrong = f"{key}: a server is host:port:port[:role], not {value!r:.80}"
    if release < SECOND:
        parts = list(split_address(value, wrong, False))
        if len(parts) < 2:
            raise ConfigError(wrong)
        check_ports(parts[1:3], wrong)
        kind = parts[3].lower() if len(parts) > 3 else "participant"
        if kind not in ("participant", "observer"):
            raise ConfigError(f"{key}: a role is participant or observer, not {kind!r}")
        return kind if len(parts) > 2 else "no election port"
    ends = pieces(value, ";")
    if not ends or len(ends) > 2:
        raise ConfigError(wrong)
    if len(ends) == 2:
        client = list(split_address(ends[1], wrong, release >= SIXTH))
        if not client or len(client) > 2:
            raise ConfigError(wrong)
        check_ports(client[-1:], wrong)
    addresses = pieces(ends[0], "|") if release >= SIXTH else [ends[0]]
    if len(addresses) > 1 and not several:
        raise ConfigError(f"{key} has several addresses, which need -D{SEVERAL}=true as an option of the JVM (3.6)")
    kinds = set()
    for address in addresses:
        parts = list(split_address(address, wrong, release >= SIXTH))
        if not 3 <= len(parts) <= 4:
            raise ConfigError(wrong)
        check_ports(parts[1:3], wrong)
        if release >= (3, 5, 6) and int(parts[1]) == int(parts[2]):
            raise ConfigError(f"{key}: both ports are {parts[1]}")
        kind = parts[3].lower() if len(parts) == 4 else ""
        kind = kind.strip() if release >= SIXTH else kind
        if len(parts) == 4 and kind not in ("participant", "observer"):
            raise ConfigError(f"{key}: a role is participant or observer, not {parts[3]!r}")
        kinds |= {kind} - {""}
    if len(kinds) > 1:
        raise ConfigError(f"{key}: its addresses have two roles")
    return kinds.pop() if kinds else "participant"


def split_address(text: str, wrong: str, alone: bool) -> Iterator[str]:
    """Yield the host and what follows, divided by colons; an IPv6 host is in brackets.

    Raises:
        ConfigError: a bracket is not closed.
    """
    if not text.startswith("["):
        yield from pieces(text, ":")
        return
    host, closed, rest = text.partition("]" if alone else "]:")
    if not closed:
        raise ConfigError(wrong)
    yield host[1:]
    if alone and rest in ("", ":"):
        return
    yield from pieces(rest[1:] if alone else rest, ":")


def check_ports(ports: Iterable[str], wrong: str) -> None:
    for port in ports:
        if not 0 <= long(port, f"{wrong}: a port", bits=31) <= 65535:
            raise ConfigError(f"{wrong}: there is no port {port}")


def options_of(text: str) -> dict[str, str]:
    """Return the properties that the `-D` flags of a JVM set, as java.env has them in its variables."""
    return dict(FLAG.findall(text))
