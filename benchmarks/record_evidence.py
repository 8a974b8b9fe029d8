"""Record the evidence that comes with the package, or say what of it is stale.

python -m benchmarks.record_evidence             computes what is stale: minutes of CPU time
python -m benchmarks.record_evidence --check     names what is stale, and computes nothing: 1 if anything is
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs, to_builtins

from checker.proofs.evidence import computing, sources, store
from checker.proofs.evidence.gathered import Applicable, of_zab
from checker.proofs.requests.induct import Induct
from checker.requests.base.request import Request
from zabspec.files import write_whole


def stale(file: Path = store.RECORDED_FILE) -> list[Applicable]:
    """Return the kinds of evidence that are not recorded for the sources as they are."""
    return [
        one for one in of_zab("")
        if store.recorded(one.kind, sources.digest(one.kind), one.request.as_json(), file) is None
    ]  # fmt: skip


def record(file: Path, stale_ones: Sequence[Applicable]) -> bool:
    """Compute evidence and write each kind to the file as soon as it is computed.

    Returns:
        Whether all of it was decided: what was not is not recorded.
    """
    whole = True
    for one in stale_ones:
        began = spent()
        computed = computing.OF_KIND[one.kind](patient(one.request), sources.digest(one.kind), lambda _: None)
        entry = structs.replace(computed, request=one.request.as_json())
        if not entry.digest or not entry.final or not sources.still(one.kind, entry.digest):
            print(
                f"{one.kind}: not recorded: undecided, or its sources have changed; {entry.why}",
                file=sys.stderr,
                flush=True,
            )
            whole = False
            continue
        said = entry.why or f"{len(entry.claims)} claims"
        print(f"{one.kind}: {spent() - began:.0f} s of CPU time, {entry.bounds}; {said}", file=sys.stderr, flush=True)
        content = json.dumps(store.read(file) | {one.kind: to_builtins(entry)}, indent=1, sort_keys=True) + "\n"
        write_whole(file, content.encode())
    return whole


def patient(request: Request) -> Request:
    """Return a request with a larger time limit: no decided answer depends on it, and a busy machine decides later."""
    return replace(request, query_limit=600.0, time_limit=7200.0) if isinstance(request, Induct) else request


def spent() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the module as a program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_evidence", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="Compute nothing.")
    parser.add_argument(
        "--file", type=Path, default=store.RECORDED_FILE, help="Use this file instead of the package's."
    )
    given = parser.parse_args(arguments)
    left = stale(given.file)
    if given.check:
        for one in left:
            print(f"{one.kind}: not recorded for these sources; made by: {one.command}", file=sys.stderr)
        return 1 if left else 0
    return 0 if record(given.file, left) else 1


if __name__ == "__main__":
    raise SystemExit(main())
