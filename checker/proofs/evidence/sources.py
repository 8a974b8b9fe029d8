"""List the files that each kind of evidence depends on, and compute a digest of them.

A digest is of the bytes of the files: a byte changed anywhere in them, in a comment too, makes recorded evidence stale.
Files that are discovered in a folder (`invariants/`) are covered by a pattern, so a new one changes the digest too.
`tests/proofs/evidence/test_sources.py` compares the patterns with what the code imports.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from checker.report.evidence import INDUCTIVE, PROOF, REFINEMENT

FORMAT = 1
TOP = Path(__file__).resolve().parents[3]  # the packages lie beside each other, in a tree and installed

PACKAGES = ("checker", "invariants", "zabspec")
REQUESTS = (
    "checker/requests/base/bounded.py", "checker/requests/exploring/exploration.py",
    "checker/requests/explore.py",
    "checker/requests/base/model.py", "checker/requests/properties.py", "checker/requests/base/quorum_system.py",
    "checker/requests/exploring/ready.py", "checker/requests/base/request.py", "checker/requests/exploring/restart.py",
    "checker/requests/exploring/running.py", "checker/search/code.py", "checker/search/kernel.py",
    "checker/search/premises.py",
    "checker/search/search.py",
)  # fmt: skip
# The protocol with its variants, its worlds, the language it is written in, and the properties.
TEXT = (
    "zabspec/*.py", "zabspec/language/*.py", "zabspec/language/*/*.py", "zabspec/proofs/*.py", "zabspec/worlds/*.py",
    "zabspec/authoring/*.py",
    "zabspec/protocols/__init__.py", "zabspec/protocols/registry.py", "zabspec/protocols/zab_*.py",
    "zabspec/protocols/ladis.py", "zabspec/simulator/__init__.py", "zabspec/simulator/connections.py",
    "zabspec/simulator/datagrams.py", "zabspec/simulator/mail.py", "invariants/*.py", "invariants/proofs/*.py",
    "invariants/proofs/*.txt", "checker/explore/*.py", "checker/explore/reduce/*.py", *REQUESTS,
)  # fmt: skip
COMPUTING = ("checker/proofs/evidence/computing.py",)

SOURCES: Mapping[str, tuple[str, ...]] = {
    INDUCTIVE: (
        *TEXT, *COMPUTING, "checker/opinion/*.py", "checker/proofs/symbolic/*.py", "checker/explore/masks.py",
        "checker/proofs/requests/induct.py", "checker/proofs/requests/clauses.py", "checker/proofs/requests/queries.py",
    ),
    REFINEMENT: (
        *TEXT, *COMPUTING, "checker/opinion/*.py", "checker/proofs/refine/*.py", "zabspec/proofs/abstract/*.py",
        "checker/proofs/requests/refine.py", "checker/proofs/requests/queries.py", "checker/proofs/prove/circuit.py",
        "checker/proofs/prove/finite.py", "checker/proofs/prove/meaning.py", "checker/proofs/prove/stepping.py",
        "checker/proofs/symbolic/abandoned.py", "checker/proofs/symbolic/smt2.py", "checker/proofs/symbolic/solver.py",
        "checker/ending.py", "checker/pager.py",
    ),
    PROOF: (
        *COMPUTING, "checker/proofs/prove/*.py", "checker/proofs/prove/*.txt", "zabspec/proofs/abstract/*.py",
        "checker/proofs/symbolic/*.py",
        "checker/proofs/requests/prove.py", "checker/proofs/requests/queries.py", "checker/requests/base/request.py",
        "zabspec/ensemble.py", "zabspec/errors.py", "zabspec/zoo_cfg.py",
        "zabspec/files.py", "zabspec/limits.py", "zabspec/quorums.py", "zabspec/signals.py", "zabspec/typed.py",
    ),
}  # fmt: skip


def files(kind: str, top: Path = TOP) -> Iterator[Path]:
    """Yield the files that evidence of a kind depends on, in order.

    Raises:
        FileNotFoundError: a pattern matches no file, for instance if the packages are not installed as files.
    """
    for pattern in SOURCES[kind]:
        found = sorted(top.glob(pattern))
        if not found:
            raise FileNotFoundError(f"there is no {pattern} in {top}")
        yield from found


@cache
def digest(kind: str, top: Path = TOP) -> str:
    """Return a digest of all that evidence of a kind depends on; empty if that is not known."""
    solver = solver_version()  # the refinement check makes no query; it depends on the language of the proof
    if not solver:
        return ""
    if any(not is_here(package, top) for package in PACKAGES):
        return ""
    whole = hashlib.sha256(f"{FORMAT} {kind} {solver}\n".encode())
    try:
        for path in files(kind, top):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{path.relative_to(top).as_posix()} {content}\n".encode())
    except OSError:
        return ""
    return whole.hexdigest()


def still(kind: str, digest_before: str) -> bool:
    """Return whether the sources and the solver are those with which a computation began.

    No source file was changed while it ran, and the solver that was loaded is the one that is installed.

    Args:
        digest_before: the digest when it began.
    """
    solver = sys.modules.get("z3")
    if solver is not None and not solver_version().startswith(solver.get_version_string()):
        return False
    digest.cache_clear()
    return digest(kind) == digest_before


def is_here(package: str, top: Path) -> bool:
    """Return whether a loaded package is the one with these files: Python's path may have another of its name."""
    file = getattr(sys.modules.get(package), "__file__", None)
    return top != TOP or file is None or Path(file).resolve() == TOP / package / "__init__.py"


def solver_version() -> str:
    """Return the version of the installed z3, without loading it; empty if it is not known."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("z3-solver")
    except PackageNotFoundError:
        return ""
