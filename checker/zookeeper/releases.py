"""Releases of ZooKeeper by their numbers: which variant of the text each is."""

from __future__ import annotations

from zabspec.authoring.declaration import ConfigError
from zabspec.protocols.registry import PROTOCOLS

__all__ = ["release_of", "variant_of"]


def variant_of(protocol: str, release: str) -> str:
    """The variant that a release is.

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
    raise ConfigError(f"there is no release {release!r} in this text; there are {known}")


def release_of(protocol: str, variant: str) -> str:
    """The release that a variant is of, whatever is repaired in it besides; of one that is of none, the newest."""
    first, releases = variant.split(",")[0], PROTOCOLS[protocol].declared.releases
    return first if first in releases and first else releases[""][1]
