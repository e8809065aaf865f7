"""A headless Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Browser:
    """One page; `run` evaluates JavaScript in it."""

    def __init__(self, folder: Path) -> None:
        program = next((found for name in NAMES if (found := shutil.which(name))), None)
        if program is None:
            pytest.skip("no Chromium is installed, so the HTML page is not tried in a browser")
        websocket = pytest.importorskip("websocket")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                 "--remote-allow-origins=*", "--allow-file-access-from-files",
                 "--window-size=1100,800"]  # fmt: skip
        profile = folder / "profile"
        self._process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        port_file = profile / "DevToolsActivePort"
        self.until(lambda: port_file.exists() and port_file.read_text().strip())
        port = port_file.read_text().split()[0]
        with urlopen(f"http://127.0.0.1:{port}/json") as reply:
            pages = [one for one in json.load(reply) if one["type"] == "page"]
        self._socket = websocket.create_connection(
            pages[0]["webSocketDebuggerUrl"], timeout=30, suppress_origin=True
        )
        self._count = 0
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        behavior = {"behavior": "allow", "downloadPath": str(self.downloads)}
        self.send("Page.setDownloadBehavior", **behavior)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:
            reply = json.loads(self._socket.recv())
            if reply.get("id") == self._count:
                assert "error" not in reply, reply
                return reply["result"]

    def open(self, file: Path) -> None:
        self.run("window.left = true")
        self.send("Page.navigate", url=file.resolve().as_uri())
        self.until(lambda: self.run("!window.left && document.readyState === 'complete'"))

    def run(self, script: str) -> Any:
        result = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """One key, as a person presses it."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def ready(self) -> None:
        """Wait for the image; until then the page records nothing."""
        self.until(lambda: self.run("!unseen()"))

    def write(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def downloaded(self) -> str:
        """The text of the file that a click downloads."""
        self.run("document.getElementById('save').click()")
        self.until(lambda: [*self.downloads.glob("*.jsonl")])
        (file,) = self.downloads.glob("*.jsonl")
        text = file.read_text("utf-8")
        file.unlink()
        return text

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(10)

    @staticmethod
    def until(done: Any, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "the browser does not answer"
            time.sleep(0.05)
