"""Releases of ZooKeeper by their numbers: which variant of the text each is."""

from __future__ import annotations

from zabspec.own.authoring import ConfigError

__all__ = ["release_of", "variant_of"]

# Releases that are the same as regards ZAB (docs/zookeeper.md); empty: the text itself.
VARIANTS = {
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


def variant_of(protocol: str, release: str) -> str:
    """The variant that a release is.

    Raises:
        ConfigError: the protocol has no releases, or not this one.
    """
    if protocol != "zookeeper":
        raise ConfigError(f"--release is for zookeeper, not {protocol}")
    for variant, numbers in VARIANTS.items():
        if release in numbers:
            return variant
    known = ", ".join(n for numbers in VARIANTS.values() for n in numbers)
    raise ConfigError(f"there is no release {release!r} in this text; there are {known}")


def release_of(variant: str) -> str:
    """The release that a variant is of, whatever is repaired in it besides; of one that is of none, the newest."""
    first = variant.split(",")[0]
    return first if first in VARIANTS and first else VARIANTS[""][1]
