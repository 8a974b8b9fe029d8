"""Provide a data tree that grows as needed, and the buffer from which it is fed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from traces.zookeeper.disk import kernel
from traces.zookeeper.disk import tree_kernel as tk
from traces.zookeeper.disk.memory import ByteBuffer, Scan, Tree
from traces.zookeeper.disk.numbers import CONTAINER
from zabspec.language.native.kernels import machine

ROOM = 1 << 20
NODES = 1 << 10
EVENTS = 1 << 12
STATS = ("czxid", "mzxid", "pzxid", "ctime", "mtime", "version", "cversion", "aversion", "owner")
IN_HEX = ("czxid", "mzxid", "pzxid", "owner")  # as zkCli's `stat` prints them


@dataclass(frozen=True)
class Node:
    """A node for comparison, with a hash and the length of its data."""

    path: str
    data: int
    length: int
    acl: int
    stats: tuple[int, ...]

    @property
    def lasts(self) -> bool:
        """Return whether no session owns it."""
        owner = self.stats[-1]
        return owner in (0, CONTAINER) or tk.TTL <= owner < 0

    def told(self) -> str:
        shown = [(n, v) for n, v in zip(STATS, self.stats, strict=True) if n not in ("ctime", "mtime")]
        said = ", ".join(f"{n} 0x{v & (1 << 64) - 1:x}" if n in IN_HEX else f"{n} {v}" for n, v in shown)
        return f"{self.path or '/'} ({'no data' if self.length < 0 else f'{self.length} bytes'}, {said})"


class DataTree:
    """A data tree, empty at first.

    Attributes:
        tree: the struct; it is replaced when it grows.
        text, scan: the buffer into which snapshots are read.
    """

    def __init__(self) -> None:
        self.load = machine(tk.load_nodes)
        self.run = machine(tk.replay)
        self.move = machine(tk.move_all)
        self.hash = machine(kernel.hash_text)
        self.table = machine(tk.fill_table)
        self.latest = machine(tk.newest_zxid)
        self.unlisted = machine(tk.unlisted)
        self.text = ByteBuffer(room=ROOM)
        self.scan = Scan(text=self.text, most=1, double=2)
        self.begin([])

    def larger_text(self) -> ByteBuffer:
        self.text = ByteBuffer(room=4 * self.text.room)
        self.scan = Scan(text=self.text, most=1, double=2)
        return self.text

    def make(self, nodes: int, room: int, lists: int) -> Tree:
        slots = 1 << max(4, (2 * nodes - 1).bit_length())
        made = Tree(text=ByteBuffer(room=room), most=nodes, slots=slots, lists=lists, most_events=EVENTS)
        self.table(made)
        return made

    def begin(self, permissions: list[tuple[int, int]]) -> None:
        """Start an empty tree, with the permissions of a snapshot by number."""
        self.tree = self.make(NODES, NODES * 32, len(permissions))
        for place, (index, value) in enumerate(permissions):
            self.tree.list_index[place] = index
            self.tree.list_hash[place] = value

    def begin_empty(self) -> None:
        """Start the tree that every server begins with: the root and /zookeeper, with its two nodes."""
        self.begin([])
        for path in (b"", b"/zookeeper", b"/zookeeper/quota", b"/zookeeper/config"):
            node = struct.pack(">i", len(path)) + path + struct.pack(">i", 0) + bytes(8 + tk.STAT)
            self.text.views["data"].memory[: len(node)] = node
            self.scan.at, self.scan.filled = 0, len(node)
            self.load(self.tree, self.scan)

    def hash_of(self, data: bytes) -> int:
        """Return the hash of a list of permissions."""
        text = ByteBuffer(room=len(data))
        text.views["data"].memory[:] = data
        return self.hash(text, tk.LISTS, 0, len(data))

    def grow(self, wanted: int = 0) -> None:
        """Make room for more nodes and for at least some bytes of paths."""
        old = self.tree
        nodes = max(NODES, 2 * old.count, old.count + wanted // 16 + 4)
        room = max(2 * old.live, old.live + wanted, NODES * 32)
        made = self.make(nodes, room, old.lists)
        self.move(old, made)
        self.tree = made

    def apply(self, scan: Scan, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Apply entries of a scan, and yield those whose digest compares otherwise than the one before.

        Yields:
            The entry, the record's digest, and the tree's.
        """
        while True:
            done = self.run(self.tree, scan, start, end)
            t = self.tree
            events = [(t.event_entry[e], t.event_wanted[e], t.event_found[e]) for e in range(t.events)]
            yield from events
            if done >= end:
                return
            if t.events != t.most_events:
                self.grow(4 * (scan.ends[done] - scan.body[done]) + 1024)
            start = done

    def newest(self) -> int:
        """Return the largest zxid in the nodes' statistics."""
        return self.latest(self.tree)

    def nodes(self, ignore: str = "/zookeeper/") -> Iterator[Node]:
        """Yield every node in ZooKeeper's digest."""
        t = self.tree
        views: dict[str, Any] = t.views
        memory = t.text.views["data"].memory
        for n in range(t.top):
            if views["alive"][n]:
                at, length = t.path[n], t.length[n]
                path = bytes(memory[at : at + length]).decode("utf-8", "backslashreplace")
                if not path.startswith(ignore):
                    stats = (*(views[name][n] for name in STATS[:-1]), tk.marked(t.owner[n]))
                    yield Node(path, t.data_hash[n], t.data_length[n], t.acl[n], stats)
