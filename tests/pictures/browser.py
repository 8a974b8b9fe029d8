"""Chromium without a window, driven through its debugging pipe: no port, no driver, no library."""

from __future__ import annotations

import base64
import fcntl
import io
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from tests.patience import HANG

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars",
    "--remote-debugging-pipe", "--disable-dev-shm-usage", "--no-zygote", "--single-process",
)  # fmt: skip
MOST_LOOKS, LOOKS = 60_000, 50  # at a page until something is there, and between two looks for errors
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "Backspace": 8}


class Browser:
    """One page of a browser. Commands are those of the Chrome DevTools Protocol.

    Args:
        ask, hear: the ends of its debugging pipe.
        pid: its process.
    """

    def __init__(self, ask: int, hear: int, pid: int) -> None:
        self.ask, self.hear, self.pid = ask, hear, pid
        self.buffer = b""
        self.count = 0
        self.events: list[dict[str, Any]] = []
        self.session = ""
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command, and what it answers."""
        self.count += 1
        asked: dict[str, Any] = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.ask, json.dumps(asked).encode() + b"\0")
        while True:
            heard = self.next()
            if heard.get("id") == self.count:
                assert "error" not in heard, heard
                result: dict[str, Any] = heard["result"]
                return result
            self.events.append(heard)

    def next(self) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self.buffer:
            assert select.select([self.hear], [], [], HANG)[0], "the browser says nothing: a script may have no end"
            got = os.read(self.hear, 1 << 16)
            assert got, "the browser has ended"
            self.buffer += got
        said, _, self.buffer = self.buffer.partition(b"\0")
        heard: dict[str, Any] = json.loads(said)
        return heard

    def open(self, path: Path, anchor: str = "", size: tuple[int, int] = (1500, 900), dark: bool = False) -> None:
        """Load a file, and wait until it has."""
        self.visit(path.as_uri() + anchor, size, dark)

    def visit(self, address: str, size: tuple[int, int] = (1500, 900), dark: bool = False) -> None:
        """Load what is at an address, and wait until it has."""
        self("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", media="", features=[scheme])
        for url in ("about:blank", address):
            self.events.clear()
            self("Page.navigate", url=url)
            # also of the blank page: on a busy machine that would be taken for the page's
            while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
                self.events.append(self.next())
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, text: str) -> Any:
        """What an expression of JavaScript comes to."""
        done = self("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, text: str) -> None:
        """Wait until an expression of JavaScript is true; fail if a script of the page breaks, or it never is."""
        judge = f"({text}) ? done(true) : left ? setTimeout(look, 5, left - 1) : done(false)"
        look = f"left => {{ try {{ {judge} }} catch (wrong) {{ fail(wrong) }} }}"
        for _ in range(MOST_LOOKS // LOOKS):
            if self.run(f"new Promise((done, fail) => {{ const look = {look}; look({LOOKS}); }})"):
                return
            broken = [e for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
            assert not broken, broken
        raise AssertionError(f"after {MOST_LOOKS:,} looks it is not true that {text}")

    def key(self, name: str) -> None:
        """A key, pressed and let go."""
        said = {"text": name} if len(name) == 1 else {}
        code = KEYS.get(name) or ord(name.upper())
        self("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **said)
        self("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def click(self, selector: str) -> None:
        """A click on the middle of what a selector finds, wherever it is."""
        found = f"document.querySelector({json.dumps(selector)})"
        x, y = self.run(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def troubles(self) -> list[Any]:
        """Errors of the page, and what it asked the network for."""
        wrong = ("Runtime.exceptionThrown", "Log.entryAdded")
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        outside = [url for url in asked if not url.startswith(("file:", "about:", "data:"))]
        return [e for e in self.events if e.get("method") in wrong] + outside

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        shot = self("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=self.whole())
        path.write_bytes(base64.b64decode(shot["data"]))

    def screen(self) -> Image.Image:
        """What the screen shows, in grey."""
        shot = self("Page.captureScreenshot", format="png")
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("L")

    def whole(self) -> dict[str, float]:
        """Where the whole page is."""
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}


@contextmanager
def browser(flags: Sequence[str] = FLAGS) -> Iterator[Browser]:
    """A browser, ended when it is left."""
    assert CHROMIUM is not None
    to_it, ask = os.pipe()
    hear, from_it = os.pipe()
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_it, from_it)]  # out of the way of 3 and 4
    os.close(to_it)
    os.close(from_it)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        script = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        command = ["bash", "-c", script, CHROMIUM, *flags, f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            command, pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        for end in theirs:
            os.close(end)
        try:
            yield Browser(ask, hear, process.pid)
        finally:
            os.close(ask)
            os.close(hear)
            process.kill()
            process.wait()
