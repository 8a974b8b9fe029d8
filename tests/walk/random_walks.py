"""Random walks in a browser: what the page shows after each click, beside what the interpreter says by itself.

python -m tests.walk.random_walks --walks 20 --steps 8
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from checker.requests.exploring.walked import WalkRequest, walker_of
from checker.walk.continuing import Bounds
from checker.walk.served import Serving, address_of
from checker.walk.service import Service
from checker.walk.serving import WalkServer
from tests.models import python_successors
from tests.pictures.browser import Browser, browser
from tests.walk.asking import OWN, SIX
from traces.walk.view import shown
from traces.walk.walker import Walker, WalkPlace

# What stands in the page of each field: its name, then the cell of each process, or the one that it has.
TABLE = """
(() => { const value = cell => (cell.querySelector("ins") || cell).textContent;
return [...document.querySelectorAll("#state tr[data-field]")].map(
  row => [row.dataset.field, ...[...row.querySelectorAll("td")].map(value)]); })()
"""
BUDGETS = "[...document.querySelectorAll('#bar .budgets li')].map(e => e.textContent)"
STEPS = "[...document.querySelectorAll('#steps .choice .head')].map(e => e.textContent)"


def same_as_shown(page: Browser, place: WalkPlace) -> None:
    """The page shows the fields, the budgets and the possible steps of a place, and no others."""
    view = shown(place)
    assert sorted(page.run(TABLE)) == sorted([f["name"], *(c["now"] for c in f["cells"])] for f in view["fields"])
    assert page.run(BUDGETS) == [f"{b['name']} {b['left']} of {b['of']}" for b in view["budgets"]]
    assert page.run(STEPS) == [s["headline"] for s in view["steps"]]


def walk_alike(
    visit: Callable[[str], None], page: Browser, request: WalkRequest, walker: Walker, seed: int, steps: int
) -> int:
    """Click steps at random; how many were taken. After each the page shows the interpreter's state.

    Args:
        visit: opens an address in the page.
        walker: of the same model, and not the server's.
        steps: how many at most.
    """
    source, c = random.Random(seed), request.configuration()
    visit(address_of(request).text)
    place = walker.start
    same_as_shown(page, place)
    for number in range(1, steps + 1):
        free = [p for p in place.possible if p.failure is None]
        if not free:
            return number - 1
        chosen = source.choice(free)
        alone = dict(python_successors(c, place.state.key()))
        assert alone.keys() == {p.step.word.word for p in place.possible}
        place = walker.after(place, chosen.index)
        assert place.state.key() == alone[chosen.step.word.word][: walker.layout.size]
        page.run(f"document.querySelector('.take[data-index=\"{chosen.index}\"]').click()")
        page.until(f"document.title.includes('step {number} ')")
        same_as_shown(page, place)
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=8)
    given = parser.parse_args()
    server = WalkServer(Service(Serving((OWN,)), "", (), Bounds(threads=1)))
    server.start()
    taken: Mapping[str, Any] = {}
    try:
        with browser() as page:

            def visit(address: str) -> None:
                page.visit(f"{server.url}&{address}", (1280, 800))
                page.until("document.querySelector('#steps .inside')?.childElementCount")

            begun = time.process_time()
            for name, request in SIX.items():
                walker = walker_of(request)
                count = sum(walk_alike(visit, page, request, walker, seed, given.steps) for seed in range(given.walks))
                taken = {**taken, name: count}
                print(f"{name}: {given.walks} walks, {count} steps, the page as the interpreter", flush=True)
        print(f"{sum(taken.values())} steps, {time.process_time() - begun:.0f} s of CPU beside the browser's")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
