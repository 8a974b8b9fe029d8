"""Measure how long a click takes: from the address of a new place to all that is shown of it, as JSON.

python -m benchmarks.walk --clicks 60     # keeps benchmarks/results/walk.json
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time

from benchmarks.figures import Figures
from checker.requests.base.model import ModelRequest
from checker.requests.exploring.walked import WalkRequest
from checker.walk.continuing import Bounds
from checker.walk.served import Serving, address_of
from checker.walk.service import Fields, Service
from checker.walk.serving import keep_what_is_loaded
from traces.walk.address import Address, way_text

MODELS = {
    "zab": WalkRequest(),
    "db19": WalkRequest(ModelRequest("db19")),
    "zookeeper": WalkRequest(ModelRequest("zookeeper", start="established")),
    "zab, 7 nodes": WalkRequest(ModelRequest(nodes=7)),
}
LONGEST = 30  # steps of a walk, after which another one begins


def clicks(request: WalkRequest, count: int) -> tuple[float, list[float], list[float], int]:
    """Return the CPU milliseconds to build the model, of each click, and of a repeated click, and the most bytes."""
    source = random.Random(1)
    begun = time.process_time()
    service = Service(Serving((request,)), address_of(request).text, (), Bounds())
    view = service.view(Fields({"address": address_of(request).text}))
    ready = 1000 * (time.process_time() - begun)
    keep_what_is_loaded()  # as the command does
    first, fresh, again, largest = view, [], [], 0
    while len(fresh) < count:
        free = [s["index"] for s in view["place"]["steps"] if not s["fails"]]
        if not free or view["place"]["depth"] >= LONGEST:
            view = first
            continue
        place = view["address"].split("&at=")[0]
        way = (*Address.read(view["address"]).way, source.choice(free))
        address = f"{place}&at={len(way)}&way={way_text(way)}"
        for into in (fresh, again):
            begun = time.process_time()
            view = service.view(Fields({"address": address}))
            largest = max(largest, len(json.dumps(view)))
            into.append(1000 * (time.process_time() - begun))
    return ready, fresh, again, largest


def main() -> None:
    """Measure the table, a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=60)
    given = parser.parse_args()
    head = ("model", "ready", "click, median", "click, 95 %", "slowest", "seen before", "most bytes")
    kept = Figures("walk", "clicks", head)
    for name, request in MODELS.items():
        ready, fresh, again, largest = clicks(request, given.clicks)
        most = sorted(fresh)[int(0.95 * len(fresh)) - 1]
        times = (ready, statistics.median(fresh), most, max(fresh), statistics.median(again))
        kept.add(name, *(f"{time_:.0f} ms" for time_ in times), largest)


if __name__ == "__main__":
    main()
