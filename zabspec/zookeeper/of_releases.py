"""Map release numbers of ZooKeeper to variants of the model."""

from __future__ import annotations

from zabspec.authoring.declaration import ConfigError
from zabspec.protocols.registry import PROTOCOLS, Protocol

SETTINGS = (
    "walk", "walk-large", "hole", "full-disk", "power", "transfer", "snapshots", "log-files", "rolls", "one-node",
    "fuzzy-snap", "observer",
)  # fmt: skip


def variant_of(protocol: str, release: str) -> str:
    """Return the variant that models a release.

    Raises:
        ConfigError: the protocol has no releases, or not this one.
    """
    releases = PROTOCOLS[protocol].declared.releases
    if not releases:
        raise ConfigError(f"--release is for zookeeper, not {protocol}")
    for variant, numbers in releases.items():
        if release in numbers:
            return variant
    known = ", ".join(n for numbers in releases.values() for n in numbers)
    raise ConfigError(f"there is no release {release!r} in this model; there are {known}")


def release_of(protocol: str, variant: str) -> str:
    """Return the release of a variant, whatever else is repaired in it; the newest if it has none."""
    first, releases = variant.split(",")[0], PROTOCOLS[protocol].declared.releases
    return first if first in releases and first else releases[""][1]


def settled(variant: str, release: str, asked: str) -> str:
    """Return the variant of a release with the settings of another one.

    Before 3.6.0 no server ends a file of its log behind each transaction (`rolls`): there one may end behind any.

    Args:
        variant: that of the release.
        asked: names of variants, those of settings among them.
    """
    names = [name for name in names_of(asked) if name in SETTINGS]
    if before(release, 3, 9, 4) and "hole" in names:
        names.remove("hole")
    if before(release, 3, 6) and "rolls" in names:
        names.remove("rolls")
    return ",".join(name for name in (variant, *names, *of_settings(release, ",".join(names))) if name)


def with_settings(protocol: Protocol, variant: str, release: str = "") -> str:
    """Return a variant with what its release does differently with the settings that it names.

    Args:
        variant: as `--variant` takes it: names with `,` or `+`, that of a release perhaps among them.
        release: its number, if the variant does not name it.

    Raises:
        ConfigError: the protocol has no releases, or not this one.
    """
    of_release = variant_of(protocol.name, release) if release else ""
    named = [name for name in protocol.declared.releases if name and name in names_of(variant)]
    more = of_settings(release, variant) if release else [n for one in named for n in of_settings(one, variant)]
    return ",".join(filter(None, (of_release, variant, *more)))


def of_servers(variant: str, release: str, start: str = "established") -> str:
    """Return a variant with what the servers of a re-enactment do besides, which have settings of their own.

    From 3.9.4 on a server refuses a log that lacks a transaction (`hole`), which the model leaves out by default.

    3.5.0 to 3.5.3 read their log for a learner (`walk`) whatever snapshotSizeFactor is.

    Those that take periodic snapshots have one due at each transaction that is logged, and roll the log there. Before
    3.6.0 it is each second of a term, which the model does not count.

    The first file of a new server's log is named by a record of the run: if that is logged again, it may write the file
    over.

    Args:
        start: where the run begins; empty for the initial state, of new servers.
    """
    names = names_of(variant)
    if not before(release, 3, 9, 4) and "hole" not in names:
        return of_servers(",".join(filter(None, (variant, "hole"))), release, start)
    walks = before(release, 3, 5, 4) and not before(release, 3, 5)
    if walks and not {"snapshots", "log-files", "walk", "walk-large"} & {*names}:
        return of_servers(",".join((variant, "walk", *of_settings(release, "walk"))), release, start)
    if not start and "snapshots" not in names and not {"log-files", "walk"} & {*names}:
        return ",".join(filter(None, (variant, "log-files")))
    if "snapshots" not in names or before(release, 3, 6) or {"log-files", "walk"} & {*names}:
        return variant
    return f"{variant},log-files,rolls"


def names_of(variant: str) -> list[str]:
    """Return the names in a variant."""
    return [name.strip() for name in variant.replace("+", ",").split(",")]


def of_settings(release: str, asked: str) -> tuple[str, ...]:
    """Return what a release does differently with the given settings, as variants that are not given yet."""
    names, more = names_of(asked), []
    if {"walk", "walk-large"} & {*names} and before(release, 3, 6):
        more.append("before-2418")
    if "power" in names and before(release, 3, 5, 10):
        more.append("before-2872")
    if "full-disk" in names:
        if before(release, 3, 5, 8) or (before(release, 3, 6, 3) and not before(release, 3, 6)):
            more.append("before-2307")
        if before(release, 3, 5, 7):
            more.append("before-3701")
    if "snapshots" in names and before(release, 3, 9, 4) and not before(release, 3, 9):
        more.append("before-4858")
    if "observer" in names and (before(release, 3, 4, 13) or (before(release, 3, 5, 4) and not before(release, 3, 5))):
        more.append("before-2959")
    # `transfer` alone is what `conform` has of every release.
    if {"transfer", "one-node"} <= {*names} and before(release, 3, 5, 5):
        more.append("before-3104")
    return tuple(name for name in more if name not in names)


def before(release: str, *number: int) -> bool:
    """Return whether a release comes before one; master comes after all."""
    parts = tuple(int(part) for part in release.split(".") if part.isdigit())
    return bool(parts) and parts < number
