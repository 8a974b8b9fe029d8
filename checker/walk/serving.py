"""The lifetime of the server: on a free port of 127.0.0.1, until it is interrupted."""

from __future__ import annotations

import gc
import secrets
import socket
import threading

from checker.errors import NoVerdict, RequestError
from checker.walk.service import Service
from zabspec.extras import missing

HOST = "127.0.0.1"
PATIENCE = 5.0  # seconds that the end waits for the server


def check_installed() -> None:
    """Check that the packages of the server are installed.

    Raises:
        RequestError: they are not.
    """
    if lacking := missing("starlette", "uvicorn"):
        raise RequestError(f"zabcheck walk needs {lacking}")


def keep_what_is_loaded() -> None:
    """Exempt what is loaded by now from garbage collection.

    It stays until the end, and traversing it takes as long as several clicks.
    """
    gc.collect()
    gc.freeze()


class WalkServer:
    """A running server.

    Args:
        service: answers the requests.

    Attributes:
        port: where it listens.
        url: for the browser, with the token in its fragment, which no browser sends to a server.

    Raises:
        RequestError: the packages of the server are not installed.
        NoVerdict: no port is free.
    """

    def __init__(self, service: Service) -> None:
        check_installed()
        import uvicorn

        from checker.walk.app import application

        self.service = service
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self.socket.bind((HOST, 0))
            self.socket.listen()  # a client that opens the address at once waits, and is not refused
        except OSError as problem:
            raise NoVerdict(f"no port of {HOST} is free: {problem.strerror or problem}") from None
        self.port: int = self.socket.getsockname()[1]
        host, token = f"{HOST}:{self.port}", secrets.token_hex(16)
        self.url = f"http://{host}/#token={token}"
        config = uvicorn.Config(
            application(service, host, token), log_config=None, access_log=False, lifespan="off", ws="none",
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), name="walk-server", daemon=True)

    def start(self) -> None:
        """Begin to answer requests."""
        self.thread.start()

    def wait(self) -> None:
        """Wait until the server is interrupted; it does not end by itself.

        Raises:
            KeyboardInterrupt: it was interrupted.
        """
        while self.thread.is_alive():
            self.thread.join(3600)

    def stop(self) -> None:
        """End the server and its jobs."""
        self.server.should_exit = True
        self.service.close()
        if self.thread.is_alive():
            self.thread.join(PATIENCE)
        self.socket.close()
