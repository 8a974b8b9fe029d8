"""Edit the numbers in servers' own logs, one edit each, and count what `zabcheck conform FOLDER` reports.

    python benchmarks/tampered_logs.py

The logs are those of the tests. Each number of a line of the protocol becomes one more, one less, and that of another
epoch; the members of a quorum become another pair.
"""

from __future__ import annotations

import io
import lzma
import re
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from traces.zookeeper.conform.from_lines import explained_by_lines
from traces.zookeeper.conform.server_lines import read_server_lines
from traces.zookeeper.reenact.stores import read_disk

DATA = Path(__file__).parents[1] / "tests" / "data"
NUMBERS = (1, 2, 3)
LINE = re.compile(
    r"Synchronizing with|Sending (?:DIFF|TRUNC|snapshot)|highest zxid|New election|Getting a |Truncating log|"
    r"Snapshotting|Set the current epoch|Sent NEWLEADER|Have quorum"
)
ZXID = re.compile(r"(?<=0x)[0-9a-f]+|(?<=with zxid )[0-9a-f]+")
EPOCH = re.compile(r"(?<=epoch to )\d+")
MEMBERS = re.compile(r"(?<=\[\[)\d, \d")
SECONDS = 5.0  # for one search


def edits(line: str) -> Iterator[str]:
    """Yield a line with each edit."""
    begin = line.index(" - ", 30)
    for found in ZXID.finditer(line, begin):
        z = int(found[0], 16)
        for other in (z + 1, z - 1, z + (1 << 32), z - (1 << 32), z + (9 << 32)):
            if other >= 0:
                yield line[: found.start()] + f"{other:x}" + line[found.end() :]
    for found in EPOCH.finditer(line, begin):
        for by in (1, -1, 9):
            yield line[: found.start()] + str(int(found[0]) + by) + line[found.end() :]
    for found in MEMBERS.finditer(line, begin):
        for members in {"2, 3", "1, 3", "1, 2"} - {found[0]}:
            yield line[: found.start()] + members + line[found.end() :]


def main() -> None:
    """Print the verdicts, by the text of the edited line."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    elsewhere = 0
    for name in ("logs-comes-back", "logs-trunc"):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            with tarfile.open(fileobj=io.BytesIO(lzma.decompress((DATA / f"{name}.tar.xz").read_bytes()))) as packed:
                packed.extractall(folder, filter="data")
            logs = {n: folder / f"log{n}.txt" for n in NUMBERS}
            (release,) = read_server_lines(logs).releases
            disks = {n: read_disk(folder / f"server{n}", release) for n in NUMBERS}
            for n, log in logs.items():
                lines = log.read_text().splitlines()
                for k, line in enumerate(lines):
                    text = LINE.search(line)
                    for edited in edits(line) if text is not None else ():
                        log.write_text("\n".join([*lines[:k], edited, *lines[k + 1 :]]) + "\n")
                        read = read_server_lines(logs)
                        done = explained_by_lines(read, disks, "", SECONDS)
                        verdicts[text[0] if text is not None else ""][done.verdict] += 1
                        at = done.at
                        if done.verdict == "NOT EXPLAINED" and at is not None and (at.server, at.number) != (n, k + 1):
                            elsewhere += 1
                log.write_text("\n".join(lines) + "\n")
    for kind, of_kind in verdicts.items():
        print(kind, dict(of_kind))
    print(
        "all", dict(sum(verdicts.values(), Counter())), "refuted at the line that the edited one contradicts", elsewhere
    )


if __name__ == "__main__":
    main()
