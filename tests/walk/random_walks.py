"""Random walks in a browser: what the page shows after each click, beside what the interpreter says by itself."""

from __future__ import annotations

import random
from collections.abc import Callable

from checker.requests.exploring.walked import WalkRequest
from checker.walk.served import address_of
from tests.models import python_successors
from tests.pictures.browser import Browser
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
