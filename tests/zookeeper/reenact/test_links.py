"""Proxies between servers: what a server says before it hangs up arrives."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

from traces.zookeeper.reenact.ensemble import ElectionProxy
from traces.zookeeper.reenact.wire.links import Connection, Recording


def test_a_greeting_passes_though_its_sender_has_hung_up(tmp_path: Path) -> None:
    address = b"127.0.0.1:3888"
    greeting = struct.pack(">qqi", -65536, 1, len(address)) + address
    with socket.create_server(("127.0.0.1", 0)) as behind:
        proxy = ElectionProxy(1, 2, behind.getsockname()[1], Recording(tmp_path), lambda a, b: False)
        server, near = socket.socketpair()
        server.sendall(greeting)
        server.close()
        c = Connection(proxy, near)
        c.up.source = near
        c.up.pump()  # to its end, before there is the other half
        threading.Thread(target=c.run, daemon=True).start()
        behind.settimeout(20)
        end, _ = behind.accept()
        with end, end.makefile("rb") as come:
            assert come.read() == greeting
        proxy.end()
