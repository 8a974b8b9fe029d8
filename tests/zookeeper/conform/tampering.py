"""Records of real servers as lines, which tests tamper with."""

from __future__ import annotations

import json
import lzma
from itertools import accumulate
from pathlib import Path
from typing import Any

Line = dict[str, Any]
SAMPLE = Path(__file__).parents[2] / "data" / "conform-3.9.5.jsonl.xz"
TRUNC, COMES_BACK = "conform-trunc.jsonl.xz", "conform-comes-back.jsonl.xz"
# The first parts of records of `chaos`, of 3.9.5 and 3.4.14.
WAITS, APPLIED = "conform-waits.jsonl.xz", "conform-applied.jsonl.xz"


def sample(name: str = SAMPLE.name) -> list[Line]:
    """The lines of the record: three servers of 3.9.5, a follower and then the leader killed and started."""
    return [json.loads(line) for line in lzma.decompress(SAMPLE.with_name(name).read_bytes()).decode().splitlines()]


def put(path: Path, lines: list[Line]) -> Path:
    """Write lines as a record whose last line counts them rightly, and whose times follow each other."""
    times = accumulate((x.get("s", 0.0) for x in lines), max)
    lines = [x | {"s": s} if "s" in x else dict(x) for x, s in zip(lines, times, strict=True)]
    if lines[-1]["what"] == "end":
        lines[-1]["observations"] = len(lines) - 2
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    return path


def where(lines: list[Line], count: int = 0, **wanted: Any) -> int:
    """The place of a packet that is like that; `count`: so many of them are passed over."""
    found = [k for k, x in enumerate(lines) if all(x.get(name) == value for name, value in wanted.items())]
    return found[count]
