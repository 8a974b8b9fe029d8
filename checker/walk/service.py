"""What each request gets: plain JSON in, plain JSON out, without HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from checker.requests.walk import WalkRequest
from checker.walk.continuing import Bounds
from checker.walk.jobs import GOALS, Jobs
from checker.walk.page import saved_page
from checker.walk.served import Served, Serving, address_of
from traces.record.file import trace_text
from traces.walk.address import Address
from traces.walk.saved import trace_of
from traces.walk.view import about, drawn, shown
from traces.walk.walker import Place

__all__ = ["BadRequest", "Card", "Service"]


class BadRequest(Exception):
    """A request is not one that there is: one sentence says why."""


@dataclass(frozen=True)
class Card:
    """A model to begin with, for a command line that names none.

    Attributes:
        title: what it is.
        summary: why one would walk there.
        request: the model.
    """

    title: str
    summary: str
    request: WalkRequest


class Service:
    """What a server does.

    Args:
        serving: the models.
        first: the address that is opened first; empty: cards.
        cards: models to begin with.
        bounds: of every job.
    """

    def __init__(self, serving: Serving, first: str, cards: tuple[Card, ...], bounds: Bounds) -> None:
        self.serving, self.first, self.cards = serving, first, cards
        self.jobs = Jobs(serving, bounds)
        self.does: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
            "start": self.start,
            "view": self.view,
            "trace": self.trace,
            "page": self.page,
            "job": self.job,
            "progress": self.progress,
            "cancel": self.cancel,
        }

    def start(self, given: Fields) -> dict[str, Any]:
        """Where a walk begins."""
        cards = [{"title": c.title, "summary": c.summary, "address": address_of(c.request).text} for c in self.cards]
        return {"address": self.first, "cards": cards}

    def view(self, given: Fields) -> dict[str, Any]:
        """All that is shown of a place."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, here, whole):
            return {**self.places(found, here, whole), "picture": drawn(whole, address.at)}

    def places(self, found: Served, here: Place, whole: Place) -> dict[str, Any]:
        """A place and its address."""
        address = found.address(whole.path, len(here.path))
        return {
            "address": address.text,
            "command": f"zabcheck walk {quote(address.text)}",
            "about": about(found.walker),
            "place": shown(here),
            "ahead": len(whole.path) - len(here.path),
        }

    def trace(self, given: Fields) -> dict[str, Any]:
        """The way to a place as a trace file."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (_, here, _):
            trace = trace_of(here)
        name = trace.property_name or "walk"
        return {
            "name": f"zabcheck-{name}.trace.json",
            "text": trace_text(trace),
            "sentence": f"{len(trace.steps)} steps, replayed in the simulator",
        }

    def page(self, given: Fields) -> dict[str, Any]:
        """A walk as one file."""
        address = Address.read(given.text("address"))
        levels = given.number("levels", 1, 2)
        with self.serving.at(address) as (found, _, whole):
            made = saved_page(found, replace(address, at=min(address.at, len(whole.path))), whole, levels)
        return {"name": "zabcheck-walk.html", "text": made.text, "sentence": made.said}

    def job(self, given: Fields) -> dict[str, Any]:
        """Begin to look for a way."""
        address = Address.read(given.text("address"))
        goal = given.text("goal")
        if goal not in GOALS:
            raise BadRequest(f"there is no goal {goal[:40]!r}; there are {', '.join(GOALS)}")
        return {"job": self.jobs.begin(address, goal, given.text("property"), given.flag("here"))}

    def progress(self, given: Fields) -> dict[str, Any]:
        """How far a job is."""
        return self.jobs.told(given.number("job", 1, 1 << 30))

    def cancel(self, given: Fields) -> dict[str, Any]:
        """End a job."""
        self.jobs.cancel(given.number("job", 1, 1 << 30))
        return {}

    def close(self) -> None:
        """End all jobs."""
        self.jobs.close()


class Fields:
    """The fields of a request, each read once.

    Args:
        given: the JSON of its body.

    Raises:
        BadRequest: it is no object.
    """

    def __init__(self, given: object) -> None:
        if not isinstance(given, dict):
            raise BadRequest("a request is a JSON object")
        self.given = given

    def text(self, name: str) -> str:
        """
        Raises:
            BadRequest: it is no text.
        """
        value = self.given.get(name)
        if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
            raise BadRequest(f"{name} must be a text")
        return value

    def number(self, name: str, low: int, high: int) -> int:
        """
        Raises:
            BadRequest: it is no whole number in this range.
        """
        value = self.given.get(name)
        if type(value) is not int or not low <= value <= high:
            raise BadRequest(f"{name} must be a whole number, {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """
        Raises:
            BadRequest: it is neither true nor false.
        """
        value = self.given.get(name, False)
        if type(value) is not bool:
            raise BadRequest(f"{name} must be true or false")
        return value
