"""A headless Chromium, driven over its DevTools protocol through two pipes."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CODES = {"Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    """One page; `run` evaluates JavaScript in it. `errors` are those of the page's scripts."""

    def __init__(self, folder: Path) -> None:
        program = next((found for name in NAMES if (found := shutil.which(name))), None)
        if program is None:
            pytest.skip("no Chromium is installed, so the HTML page is not tried in a browser")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                 f"--user-data-dir={folder / 'profile'}", "--window-size=1100,800"]  # fmt: skip
        theirs, ours = os.pipe(), os.pipe()  # Chromium reads from 3 and writes to 4
        shell = f'exec "$@" 3<&{theirs[0]} 4>&{ours[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, *flags, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(theirs[0], ours[1]),
        )  # fmt: skip
        os.close(theirs[0])
        os.close(ours[1])
        self._to, self._from, self._read = os.fdopen(theirs[1], "wb", 0), ours[0], b""
        self._count, self._page, self.errors = 0, dict[str, str](), list[Any]()
        self.until(self._pages)
        attached = self.send("Target.attachToTarget", targetId=self._pages()[0], flatten=True)
        self._page = {"sessionId": attached["sessionId"]}
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        behavior = {"behavior": "allow", "downloadPath": str(self.downloads)}
        self.send("Page.setDownloadBehavior", **behavior)
        # Keys and text reach a page that has the focus; without a window nobody gives it.
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.send("Runtime.enable")
        self.send("Log.enable")

    def _pages(self) -> list[str]:
        targets = self.send("Target.getTargets")["targetInfos"]
        return [one["targetId"] for one in targets if one["type"] == "page"]

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params, **self._page}
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            *messages, self._read = self._read.split(b"\0", 1)
            if not messages:
                assert select.select([self._from], [], [], 30)[0], "the browser does not answer"
                part = os.read(self._from, 1 << 20)
                assert part, "the browser has ended"
                self._read += part
                continue
            reply = json.loads(messages[0])
            if reply.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(reply["params"])
            if reply.get("id") == self._count:
                assert "error" not in reply, reply
                return reply["result"]

    def open(self, file: Path) -> None:
        self.run("window.left = true")
        address = file.resolve().as_uri()
        self.send("Page.navigate", url=address)
        # The blank page of the start may be replaced by another one first.
        there = f"location.href === {json.dumps(address)}"
        done = f"{there} && !window.left && document.readyState === 'complete'"
        self.until(lambda: self.run(done))

    def run(self, script: str) -> Any:
        result = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """One key, as a person presses it."""
        typed = "\r" if key == "Enter" else key
        text = {"text": typed} if len(typed) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            code = CODES.get(key, 0)
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **text)  # fmt: skip

    def ready(self) -> None:
        """Wait for the image; until then the page records nothing."""
        self.until(lambda: self.run("!unseen()"))

    def write(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def text(self, name: str) -> str:
        """The text of the element with this id."""
        return self.run(f"document.getElementById('{name}').textContent")

    def size(self, width: int, height: int) -> None:
        """The size of the window in pixels."""
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **shape)

    def sees(self, selector: str) -> bool:
        """Whether an element is in the window, and nothing lies above its middle."""
        return self.run(
            f"(() => {{ const one = document.querySelector('{selector}');"
            " const { x, y, width, height } = one.getBoundingClientRect();"
            " return x >= 0 && y >= 0 && x + width <= innerWidth && y + height <= innerHeight"
            " && one.contains(document.elementFromPoint(x + width / 2, y + height / 2)); })()"
        )

    def accessible(self) -> dict[str, dict[str, Any]]:
        """Role and states of every element by its name, as screen readers get them."""
        nodes, texts = (
            self.send("Accessibility.getFullAXTree")["nodes"],
            ("StaticText", "InlineTextBox"),
        )
        return {
            node["name"]["value"]: {
                "role": node["role"]["value"],
                **{one["name"]: one["value"].get("value") for one in node.get("properties", ())},
            }
            for node in nodes
            if not node["ignored"] and "name" in node and node["role"]["value"] not in texts
        }

    def downloaded(self) -> str:
        """The text of the file that a click downloads."""
        self.run("document.getElementById('save').click()")
        self.until(lambda: [*self.downloads.glob("*.jsonl")])
        (file,) = self.downloads.glob("*.jsonl")
        text = file.read_text("utf-8")
        file.unlink()
        return text

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        self._to.close()
        os.close(self._from)

    @staticmethod
    def until(done: Any, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "the browser does not answer"
            time.sleep(0.05)
