"""Chromium, driven over pipes by its DevTools protocol: no driver, no package, no port, no download."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

#: Headless, alone, and with nothing to say to anyone.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "Enter": 13}


def find() -> str | None:
    """The program: what CHROMIUM says, or the first of the usual names."""
    given = os.environ.get("CHROMIUM")
    if given:
        return shutil.which(given)
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Chromium:
    """One browser with one page. Collects requests, console messages and script errors."""

    def __init__(self, program: str, folder: Path):
        to_browser, ours_out = os.pipe()
        ours_in, from_browser = os.pipe()

        self.log = (folder / "chromium.log").open("wb")
        # The browser reads commands from descriptor 3 and answers on 4: a shell puts our pipes there.
        shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self.process = subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                shell,
                "chromium",
                program,
                *FLAGS,
                f"--user-data-dir={folder / 'profile'}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._out, self._in, self._buffer, self._number = ours_out, ours_in, b"", 0
        self.events: list[dict] = []
        targets = self.call("Target.getTargets", session=None)["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call(
            "Target.attachToTarget", {"targetId": page["targetId"], "flatten": True}, session=None
        )["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    # Protocol
    # -------------------------------------------------------------------------------------------------

    session: str | None = None

    def call(
        self, method: str, parameters: dict | None = None, *, session: Any = ..., limit: float = 60.0
    ) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if (session := self.session if session is ... else session) is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + limit
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _receive(self, end: float) -> dict:
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            ready = select.select([self._in], [], [], max(left, 0))[0] if left > 0 else []
            assert ready, "Chromium does not answer"
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "Chromium has ended: see chromium.log"
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(raw)
        if "method" in message:
            self.events.append(message)
        return message

    # A page
    # ---------------------------------------------------------------------------------------------------

    def open(self, path: Path) -> float:
        """Load a file; returns the seconds until its script had drawn everything."""
        self.events.clear()
        start = time.monotonic()
        self.call("Page.navigate", {"url": path.resolve().as_uri()})
        self.wait("document.documentElement?.dataset.ready === 'true'")
        return time.monotonic() - start

    def wait(self, condition: str, limit: float = 30.0) -> None:
        end = time.monotonic() + limit
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"waited in vain for {condition}"
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True}
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def screen(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone},
        )
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        self.run("new Promise((done) => setTimeout(done, 250))")

    def center(self, selector: str, dx: float = 0.5, dy: float = 0.5) -> tuple[float, float]:
        """A place inside an element, scrolled into view."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center', behavior: 'instant'}); "
            "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        return box[0] + dx * box[2], box[1] + dy * box[3]

    def point(self, selector: str, dx: float = 0.5, dy: float = 0.5) -> None:
        x, y = self.center(selector, dx, dy)
        self.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def click(self, selector: str, dx: float = 0.5, dy: float = 0.5) -> None:
        self.point(selector, dx, dy)
        x, y = self.center(selector, dx, dy)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            )

    def press(self, key: str, *, shift: bool = False) -> None:
        parameters = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key], "modifiers": 8 * shift}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, **parameters})

    def type(self, text: str) -> None:
        self.call("Input.insertText", {"text": text})

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        options = {"captureBeyondViewport": whole, "format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {**size, "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", options)["data"]))

    def pdf(self, path: Path) -> None:
        data = self.call("Page.printToPDF", {"printBackground": False})["data"]
        path.write_bytes(base64.b64decode(data))

    # What must not happen
    # ---------------------------------------------------------------------------------------

    def requests(self) -> list[str]:
        """Addresses asked for since the page was opened."""
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [parameters["request"]["url"] for parameters in sent]

    def complaints(self) -> list[str]:
        """Console messages, log entries and uncaught errors since the page was opened."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"])[:3000] for event in self.events if event["method"] in kinds]

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.call("Browser.close", session=None, limit=5)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for descriptor in (self._in, self._out):
            os.close(descriptor)
        self.log.close()
