"""The models that a server knows: those of its command line, and the project's by their options."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from checker.errors import RequestError
from checker.requests.exploring.walked import WalkRequest, request_of_address, walker_of
from traces.walk.address import Address, made_of
from traces.walk.walker import Walker, WalkError, WalkPlace
from zabspec.authoring.sources import begin_request

MOST = 8  # models that are kept beside those of the command line


def address_of(request: WalkRequest) -> Address:
    """Return the address of the beginning of a walk, without a digest."""
    return Address(request.model.name, request.options)


@dataclass
class Served:
    """A model that is walked through.

    Attributes:
        request: describes it.
        walker: its interpreted world; used under `lock`.
        made: the digest of its sources.
    """

    request: WalkRequest
    walker: Walker
    made: str
    lock: threading.Lock

    def address(self, way: tuple[int, ...] = (), at: int | None = None) -> Address:
        """Return the address of a place."""
        first = address_of(self.request)
        return replace(first, way=way, at=len(way) if at is None else at, made=self.made, tool=self.walker.tool)


class Serving:
    """The models that are served.

    Args:
        own: those that the command line names: the only ones whose protocol may be a file.
    """

    def __init__(self, own: tuple[WalkRequest, ...] = ()) -> None:
        self.own = {address_of(request).text: request for request in own}
        self.known: OrderedDict[str, Served] = OrderedDict()
        self.lock = threading.Lock()

    def model(self, address: Address) -> Served:
        """Return the model of an address.

        Raises:
            WalkError: it is not served here, or has other sources.
            RequestError: there is no such model.
            ConfigError, LanguageError, NoVerdict: its source is wrong.
        """
        key = Address(address.protocol, address.options).text
        with self.lock:
            found = self.known.get(key)
            if found is None:
                found = self.known[key] = self.made(key, address)
                others = [k for k in self.known if k not in self.own]
                for old in others[:-MOST]:
                    del self.known[old]
            self.known.move_to_end(key)
        address.check(found.made, found.walker.tool)
        return found

    def made(self, key: str, address: Address) -> Served:
        """Build a model."""
        request = self.own.get(key)
        if request is None:
            from zabspec.protocols.registry import NAMES

            if address.protocol not in NAMES:
                raise WalkError(
                    f"this server has not been started for {address.protocol:.80}: on the command line, "
                    "`zabcheck walk 'ADDRESS'` reads files"
                )
            request = request_of_address(address.protocol, address.options)
        walker = walker_of(request)
        return Served(request, walker, made_of(walker), threading.Lock())

    def check_current(self, found: Served) -> None:
        """Check that the source of a protocol, executed again, makes the same model as when the walk began.

        Raises:
            WalkError: it does not, so that results about it would not be about this walk.
        """
        if not found.walker.model.protocol.text.released:
            begin_request()
            if made_of(walker_of(found.request)) != found.made:
                name = found.request.model.name
                raise WalkError(f"the source of {name} has changed since this walk began: reload it first")

    @contextmanager
    def at(self, address: Address) -> Iterator[tuple[Served, WalkPlace, WalkPlace]]:
        """Yield a model with the place of an address, and the place at the end of its path, for exclusive use.

        Raises:
            WalkError, RequestError, ConfigError, LanguageError, NoVerdict: as for `model`; or there is no such place.
        """
        found = self.model(address)
        with found.lock:
            whole = found.walker.place(address.way)
            here = found.walker.place(address.way[: address.at])
            yield found, here, whole

    def reload(self, request: WalkRequest) -> Served:
        """Read the source of a model again.

        Raises:
            RequestError, ConfigError, LanguageError, NoVerdict: it is wrong now; the old one stays.
        """
        key = address_of(request).text
        if key not in self.own:
            raise RequestError("only a model of the command line can be reloaded")
        begin_request()
        walker = walker_of(request)
        with self.lock:
            self.known[key] = Served(request, walker, made_of(walker), threading.Lock())
            return self.known[key]
