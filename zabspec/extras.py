"""Which extra of zabcheck brings a package that is not installed, and what installs it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

# The extra of each package, by the name that Python imports.
EXTRAS = {
    "pyarrow": "tables", "numpy": "tables",
    "matplotlib": "plots",
    "pandas": "spark", "pyspark": "spark",
    "grpc": "connect", "grpc_status": "connect", "google.rpc": "connect", "zstandard": "connect",
    "kazoo": "servers",
    "starlette": "explore", "uvicorn": "explore",
    "mcp": "mcp",
    "tree_sitter": "drift", "tree_sitter_java": "drift",
}  # fmt: skip


def missing(*names: str) -> str:
    """Return the first package that is not installed, and what installs it; empty if all are there."""
    return next((f"{name}, which {installing(EXTRAS[name])} installs" for name in names if not is_there(name)), "")


def installing(extra: str) -> str:
    """Return the command that adds an extra to zabcheck, by the tool that installed it."""
    tools = {"pipx_metadata.json": "pipx runpip zabcheck install", "uv-receipt.toml": "uv tool install"}
    tool = next((words for file, words in tools.items() if Path(sys.prefix, file).exists()), "pip install")
    return f"`{tool} 'zabcheck[{extra}]'`"


def is_there(name: str) -> bool:
    """Return whether a package is installed, without importing more of it than its parents."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
