"""Apply a repair to the sources of a ZooKeeper release: `python apply_repair.py SOURCES`.

SOURCES is a checkout, or a folder that has `org/apache/zookeeper`. The repair is `repair.json` beside this file, or the
file that is named behind SOURCES. It has lines that zabcheck's authors wrote, and none of ZooKeeper's. Of each place it
has the number of a line, how many lines go, the lines that come, and the SHA-256 of the lines that go with the three
above and the three below. In other releases the place is the nearest one with that digest. Nothing is written unless
every place is found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

AROUND = 3
MAIN = Path("zookeeper-server", "src", "main", "java")


class DoesNotFit(Exception):
    """The repair is not for these sources; the message says where, in one sentence."""


@dataclass(frozen=True)
class Place:
    """A change of a file.

    Attributes:
        line: the line of the release above which lines come, or the first that goes; from 1.
        removes: the number of lines that go.
        digest: of the lines around it, and of those that go.
        adds: the lines that come.
    """

    line: int
    removes: int
    digest: str
    adds: tuple[str, ...]


Repair = Mapping[str, Sequence[Place]]  # by file, below the folder of the sources


def read_repair(text: str) -> Repair:
    """Return the repair that a JSON text has."""
    return {
        file: [Place(one["line"], one["removes"], one["digest"], tuple(one["adds"])) for one in places]
        for file, places in json.loads(text).items()
    }


def repair_text(repair: Repair) -> str:
    """Return a repair as JSON."""
    files = {file: [vars(place) for place in places] for file, places in repair.items()}
    return json.dumps(files, indent=1) + "\n"


def digest_around(lines: Sequence[str], start: int, removes: int) -> str:
    """Return the digest of the lines around a place, which begins at an index, and of those that go."""
    return sha256("\n".join(lines[max(0, start - AROUND) : start + removes + AROUND]).encode()).hexdigest()


def repaired(text: str, places: Sequence[Place], file: str) -> str:
    """Return the text of a file with all changes.

    Raises:
        DoesNotFit: a place is not in it.
    """
    lines = text.split("\n")
    found = []
    for place in places:
        near = sorted(range(len(lines) + 1), key=lambda start, line=place.line: abs(start + 1 - line))  # type: ignore[misc]
        fits = (start for start in near if digest_around(lines, start, place.removes) == place.digest)
        start = next(fits, None)
        if start is None:
            raise DoesNotFit(f"the repair does not fit: {file} has no lines like those around line {place.line}")
        found.append((start, place))
    for start, place in sorted(found, key=lambda one: one[0], reverse=True):
        lines[start : start + place.removes] = place.adds
    return "\n".join(lines)


def apply_repair(repair: Repair, sources: Path) -> list[Path]:
    """Change the files of a folder of sources, and return their paths.

    Raises:
        DoesNotFit: the folder does not have every file and every place. Then nothing is changed.
    """
    folder = sources / MAIN if (sources / MAIN).is_dir() else sources
    changed: dict[Path, str] = {}
    for file, places in repair.items():
        path = folder / file
        try:
            with path.open(encoding="utf-8", newline="") as lines:
                changed[path] = repaired(lines.read(), places, file)
        except (OSError, UnicodeDecodeError):
            raise DoesNotFit(f"the repair does not fit: {path} cannot be read") from None
    for path, text in changed.items():
        with path.open("w", encoding="utf-8", newline="") as out:
            out.write(text)
    return list(changed)


def main() -> int:
    """Apply the repair that the command line names; return the exit code."""
    if len(sys.argv) not in (2, 3):
        print("usage: python apply_repair.py SOURCES [REPAIR.json]", file=sys.stderr)
        return 2
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("repair.json")
    try:
        for path in apply_repair(read_repair(file.read_text(encoding="utf-8")), Path(sys.argv[1])):
            print(f"changed {path}", file=sys.stderr)
    except (DoesNotFit, OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
