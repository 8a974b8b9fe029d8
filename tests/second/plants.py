"""The faults that `planted.py` plants, of `plants.toml`: each is a text that stands in the product, and another."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plant:
    """A fault.

    Attributes:
        what: it does.
        engines: the engines that the campaign compares.
        file: the file that it stands in.
        old: a text in that file.
        new: the text in its place.
        part: the part of the product that it stands in.
        needs: a regular expression that the source or the request of a protocol matches if the fault can show in it.
        favour: steps or features that protocols are drawn for (`--favour`).
    """

    what: str
    engines: str
    file: str
    old: str
    new: str
    part: str = ""
    needs: str = ""
    favour: str = ""


GROUPS = {
    group: {name: Plant(**plant) for name, plant in plants.items()}
    for group, plants in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
BY_ANOTHER = GROUPS["by_another"]
PLANTS = {name: plant for plants in GROUPS.values() for name, plant in plants.items()}
