"""The process in which the reference runs: a request a line, an answer a line. It loads nothing of the product."""

from __future__ import annotations

import json
import sys
import traceback
from importlib import import_module

OURS = ("zabspec", "zabcheck", "checker", "traces", "invariants")


def main() -> None:
    """Answer requests until there are no more."""
    explore = import_module("tests.second.reference").explore
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            answer = explore(json.loads(line))
        except Exception as problem:
            last = traceback.extract_tb(problem.__traceback__)[-1]
            answer = {"failed": f"{type(problem).__name__}: {problem} ({last.filename}:{last.lineno})"}
        loaded = [
            name for name, module in sys.modules.items()
            if name.partition(".")[0] in OURS and getattr(module, "__file__", None) and is_ours(str(module.__file__))
        ]  # fmt: skip
        if loaded:
            answer = {"failed": f"the reference has loaded {', '.join(sorted(loaded)[:3])}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()


def is_ours(path: str) -> bool:
    """Whether a module's file is one of the product, and not of the second semantics or the folder that it is in."""
    return "/second/" not in path and not path.endswith("/zabspec/__init__.py")


if __name__ == "__main__":
    main()
