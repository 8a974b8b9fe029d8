"""What a click costs in all: the server's answer and what the browser does until it is painted, in CPU time.

python -m benchmarks.walk_painting --clicks 40
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from benchmarks.walk import LONGEST, MODELS
from checker.walk.continuing import Bounds
from checker.walk.served import Serving, address_of
from checker.walk.service import Service
from checker.walk.serving import WalkServer, keep_what_is_loaded
from tests.pictures.browser import Browser, browser

PAINTED = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"
COUNT = "document.querySelectorAll('.take:not([aria-disabled])').length"


def spent(page: Browser) -> float:
    """CPU milliseconds of the page's thread so far."""
    metrics = {m["name"]: float(m["value"]) for m in page("Performance.getMetrics")["metrics"]}
    return 1000 * metrics["TaskDuration"]


def clicks(page: Browser, server: WalkServer, address: str, count: int) -> list[tuple[float, float]]:
    """CPU milliseconds of each click: those of the server's process, and of the page's thread."""
    source, out = random.Random(1), []
    depth = LONGEST
    while len(out) < count:
        free = page.run(COUNT) if depth < LONGEST else 0
        if not free:
            page.visit(f"{server.url}&{address}", (1280, 800))
            page.until("document.querySelector('#steps .inside')?.childElementCount")
            depth = 0
            continue
        chosen = f"document.querySelectorAll('.take:not([aria-disabled])')[{source.randrange(free)}]"
        depth += 1
        theirs, ours = spent(page), time.process_time()
        page.run(f"{chosen}.click()")
        page.until(f"document.title.includes('step {depth} ')")
        page.run(PAINTED)
        out.append((1000 * (time.process_time() - ours), spent(page) - theirs))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=40)
    given = parser.parse_args()
    server = WalkServer(Service(Serving(tuple(MODELS.values())), "", (), Bounds()))
    server.start()
    print("| model | server, median | page, median | both, 95 % | both, slowest |")
    print("|---|---:|---:|---:|---:|")
    try:
        with browser() as page:
            page("Performance.enable", timeDomain="threadTicks")
            for name, request in MODELS.items():
                clicks(page, server, address_of(request).text, 1)
                keep_what_is_loaded()
                found = clicks(page, server, address_of(request).text, given.clicks)
                both = sorted(a + b for a, b in found)
                print(
                    f"| {name} | {statistics.median(a for a, _ in found):.0f} ms | "
                    f"{statistics.median(b for _, b in found):.0f} ms | {both[int(0.95 * len(both)) - 1]:.0f} ms | "
                    f"{both[-1]:.0f} ms |",
                    flush=True,
                )
    finally:
        server.stop()


if __name__ == "__main__":
    main()
