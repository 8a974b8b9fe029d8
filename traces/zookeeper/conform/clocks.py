"""Align the times of servers whose clocks or time zones differ.

A transfer that is sent once and received once, by its learner, kind and zxid, happens within moments on two servers.
The times decide only where a run is sought first: no verdict follows from them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from statistics import median

from traces.zookeeper.conform.server_lines import ServerLines
from traces.zookeeper.server_logs.log_lines import ServerLine

CLOSE = 2.0  # seconds between clocks that are taken as they are


def align(lines: ServerLines) -> dict[int, float]:
    """Shift the times of servers to those of the first of them; return by how many seconds, where any."""
    apart = clocks_apart(lines)
    ahead: dict[int, float] = {}
    for first in lines.servers:
        if first in ahead:
            continue
        ahead[first], reached = 0.0, [first]
        for a in reached:
            for b in lines.servers:
                if b not in ahead and (a, b) in apart:
                    ahead[b] = ahead[a] + apart[a, b]
                    reached.append(b)
    shifted = {server: by for server, by in ahead.items() if abs(by) > CLOSE}
    for line in lines.all_of():
        if line.server in shifted and (time := moment(line)) is not None:
            line.time = (time - timedelta(seconds=shifted[line.server])).isoformat(" ", "microseconds")
    return shifted


def clocks_apart(lines: ServerLines) -> dict[tuple[int, int], float]:
    """Return by how many seconds the second server's clock is ahead of the first's, for pairs that show it."""
    sent = [(line.learner, line.sends, line) for line in lines.all_of() if line.sends is not None]
    times_sent = Counter((learner, sends) for learner, sends, _ in sent)
    got: dict[tuple[int, tuple[str, int] | None], list[ServerLine]] = defaultdict(list)
    for line in lines.all_of():
        if line.kind in ("got DIFF", "got TRUNC", "got SNAP"):
            got[line.server, (line.kind.removeprefix("got "), line.zxid)].append(line)
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for learner, sends, line in sent:
        received = got[learner, sends]
        if times_sent[learner, sends] == 1 == len(received):
            a, b = moment(line), moment(received[0])
            if a is not None and b is not None:
                found[line.server, learner].append((b - a).total_seconds())
                found[learner, line.server].append((a - b).total_seconds())
    return {pair: median(times) for pair, times in found.items()}


def moment(line: ServerLine) -> datetime | None:
    """Return the time of a line, or None."""
    try:
        return datetime.fromisoformat(line.time)
    except ValueError:
        return None
