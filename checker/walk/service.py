"""Answer each request: plain JSON in, plain JSON out, without HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from checker.requests.exploring.walked import WalkRequest, row_of
from checker.walk.continuing import Bounds
from checker.walk.jobs import GOALS, Jobs
from checker.walk.page import saved_page
from checker.walk.served import Served, Serving, address_of
from traces.record.file import trace_text
from traces.record.trace import text_of
from traces.walk.address import Address
from traces.walk.saved import trace_of
from traces.walk.view import about, drawn, shown
from traces.walk.walker import WalkPlace


class BadRequest(Exception):
    """A request is not valid; the message says why, in one sentence."""


@dataclass(frozen=True)
class Card:
    """A model to begin with, for a command line that names none.

    Attributes:
        title: of the card.
        summary: a reason to walk there.
        request: the model.
    """

    title: str
    summary: str
    request: WalkRequest


class Service:
    """The service behind the page.

    Args:
        serving: the models.
        first: the address that is opened first; empty for the cards.
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
            "watch": self.watch,
            "reload": self.reload,
            "job": self.job,
            "progress": self.progress,
            "cancel": self.cancel,
        }

    def start(self, given: Fields) -> dict[str, Any]:
        """Return where a walk begins."""
        cards = [{"title": c.title, "summary": c.summary, "address": address_of(c.request).text} for c in self.cards]
        return {"address": self.first, "cards": cards}

    def view(self, given: Fields) -> dict[str, Any]:
        """Return all that is shown of a place."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, here, whole):
            return {**self.places(found, here, whole), "picture": drawn(whole, address.at)}

    def places(self, found: Served, here: WalkPlace, whole: WalkPlace) -> dict[str, Any]:
        """Return a place and its address."""
        address = found.address(whole.path, len(here.path))
        return {
            "address": address.text,
            "command": f"zabcheck walk {quote(address.text)}",
            "about": about_of(found),
            "reloads": not found.walker.model.protocol.text.released,
            "place": shown(here),
            "ahead": len(whole.path) - len(here.path),
        }

    def trace(self, given: Fields) -> dict[str, Any]:
        """Return the path to a place as a trace file."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, here, _):
            self.serving.check_current(found)
            trace = trace_of(here)
        name = trace.property_name or "walk"
        return {
            "name": f"zabcheck-{name}.trace.json",
            "text": trace_text(trace),
            "sentence": f"{len(trace.steps)} steps, replayed in the simulator",
        }

    def page(self, given: Fields) -> dict[str, Any]:
        """Return a walk as one file."""
        address = Address.read(given.text("address"))
        levels = given.number("levels", 1, 2)
        with self.serving.at(address) as (found, _, whole):
            made = saved_page(
                found, replace(address, at=min(address.at, len(whole.path))), whole, levels, about_of(found)
            )
        return {"name": "zabcheck-walk.html", "text": made.text, "sentence": made.said}

    def watch(self, given: Fields) -> dict[str, Any]:
        """Return whether the source of a model has changed."""
        found = self.serving.model(Address.read(given.text("address")))
        return {"changed": text_of(found.request.model.name) != found.walker.model.protocol.text.digest}

    def reload(self, given: Fields) -> dict[str, Any]:
        """Read the source of a model again, and take the same steps as far as they are possible."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, _, whole):
            fresh = self.serving.reload(found.request)
            with fresh.lock:
                end, refused = fresh.walker.retaken(whole)
        said = f"reloaded: all {len(whole.path)} steps are possible as before"
        if refused:
            said = f"reloaded: step {len(end.path) + 1} is no longer possible ({refused}); this is the state before it"
        at = len(end.path) if refused else min(address.at, len(end.path))
        return {"address": fresh.address(end.path, at).text, "sentence": said}

    def job(self, given: Fields) -> dict[str, Any]:
        """Begin a search for a run."""
        address = Address.read(given.text("address"))
        goal = given.text("goal")
        if goal not in GOALS:
            raise BadRequest(f"there is no goal {goal[:40]!r}; there are {', '.join(GOALS)}")
        return {"job": self.jobs.begin(address, goal, given.text("property"), given.flag("here"))}

    def progress(self, given: Fields) -> dict[str, Any]:
        """Return the progress of a job."""
        job = self.jobs.job(given.number("job", 1, 1 << 30))
        return {"state": job.state, "sentence": job.said, "address": job.address}

    def cancel(self, given: Fields) -> dict[str, Any]:
        """Cancel a job."""
        self.jobs.cancel(given.number("job", 1, 1 << 30))
        return {}

    def close(self) -> None:
        """End all jobs."""
        self.jobs.close()


def about_of(found: Served) -> dict[str, Any]:
    """Return the facts about a model at every place; for the release of a known bug also what happens there."""
    told, row = about(found.walker), row_of(found.walker.model.configuration)
    return told if row is None else {**told, "changed": [f"ZK-{row.issue}: {row.says.rstrip('.')}", *told["changed"]]}


class Fields:
    """The fields of a request, each read once.

    Args:
        given: the JSON of its body.

    Raises:
        BadRequest: it is not an object.
    """

    def __init__(self, given: object) -> None:
        if not isinstance(given, dict):
            raise BadRequest("a request is a JSON object")
        self.given = given

    def text(self, name: str) -> str:
        """Return a field that is a text.

        Raises:
            BadRequest: it is not a text.
        """
        value = self.given.get(name)
        if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
            raise BadRequest(f"{name} must be a string")
        return value

    def number(self, name: str, low: int, high: int) -> int:
        """Return a field that is a whole number in a range.

        Raises:
            BadRequest: it is not.
        """
        value = self.given.get(name)
        if type(value) is not int or not low <= value <= high:
            raise BadRequest(f"{name} must be a whole number, {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """Return a field that is a boolean; False if it is missing.

        Raises:
            BadRequest: it is neither true nor false.
        """
        value = self.given.get(name, False)
        if type(value) is not bool:
            raise BadRequest(f"{name} must be true or false")
        return value
