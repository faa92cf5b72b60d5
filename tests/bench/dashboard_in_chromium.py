"""Look at each page of a dashboard in Chromium: axe, the width of the page, what the Tab key reaches, and a screenshot.

    npm pack axe-core && tar xzf axe-core-*.tgz package/axe.min.js
    python tests/bench/dashboard_in_chromium.py http://127.0.0.1:8081 package/axe.min.js SCREENSHOTS

1400 and 375 pixels wide, light and dark, with the page of the object most requested. The exit status is 1 if axe finds
a violation, a page is wider than the screen, or a control has no visible focus.
"""

import asyncio
import base64
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

PAGES = (
    "/", "/requests", "/domains", "/objects", "/objects?url=http", "/feeds", "/plan", "/policies", "/tunnels",
    "/configuration",
)  # fmt: skip
VIEWS = tuple(itertools.product((1400, 375), ("light", "dark")))
AXE = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations.map(" \
      "one => [one.id, one.impact, one.nodes.length, one.nodes[0].html.slice(0, 120)])))"
WIDTH = "document.documentElement.scrollWidth"
FOCUSED = """(() => { const e = document.activeElement, s = getComputedStyle(e);
  return JSON.stringify([e.tagName, (e.textContent || e.name || "").trim().slice(0, 24),
                         s.outlineStyle != "none" && s.outlineWidth != "0px"]); })()"""
OBJECT = "document.querySelector('tbody a')?.getAttribute('href')"
LOADED = "document.readyState == 'complete' && location.href != 'about:blank'"


class Tab:
    """A page of Chromium, driven by its debugging protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    async def call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            message = await self._socket.receive_json()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    async def value(self, script: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"]["value"]

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        for _ in range(200):
            if await self.value(LOADED):
                return
            await asyncio.sleep(0.1)


async def look(tab: Tab, base: str, axe: str, folder: Path) -> int:
    wrong = 0
    await tab.open(base + "/objects")
    first = await tab.value(OBJECT)
    for path in (*PAGES, *([first] if first else [])):
        for width, scheme in VIEWS:
            screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            await tab.call("Emulation.setDeviceMetricsOverride", **screen)
            await tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            await tab.open(base + path)
            await tab.value(axe + ";0")
            found = json.loads(await tab.value(AXE))
            wide = await tab.value(WIDTH)
            shot = await tab.call("Page.captureScreenshot", captureBeyondViewport=True)
            name = "object" if path == first else (path.strip("/") or "overview").replace("?", "_").replace("=", "_")
            (folder / f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(shot["data"]))
            wrong += bool(found) + (wide > width)
            print(f"{path:20} {width:5} {scheme:6} wide {wide:5} axe {found or 'nothing'}", flush=True)
        reached, unseen = await keys(tab)
        wrong += len(unseen)
        print(f"{path:20} Tab reaches {reached} controls{'; without visible focus: ' + str(unseen) if unseen else ''}")
    return wrong


async def keys(tab: Tab) -> tuple[int, list[str]]:
    """Press Tab until the page begins again; return how many controls were reached, and which show no focus."""
    seen, unseen = 0, []
    await tab.value("document.activeElement.blur();0")
    for _ in range(400):
        for kind in ("rawKeyDown", "keyUp"):
            await tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        name, text, is_visible = json.loads(await tab.value(FOCUSED))
        if name == "BODY":
            break
        seen += 1
        if not is_visible:
            unseen.append(f"{name} {text}")
    return seen, unseen


async def main(base: str, axe: str, folder: Path) -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = await asyncio.create_subprocess_exec(
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port = await asyncio.to_thread(port_in, Path(profile, "DevToolsActivePort"))
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                    found = next(one for one in await answer.json() if one["type"] == "page")
                async with session.ws_connect(found["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    return await look(Tab(socket), base, axe, folder)
        finally:
            browser.terminate()
            await browser.wait()


def port_in(file: Path) -> str:
    """Wait for the port on which Chromium listens for its debugger."""
    while not (file.exists() and file.read_text().strip()):
        time.sleep(0.1)
    return file.read_text().split()[0]


if __name__ == "__main__":
    folder = Path(sys.argv[3])
    folder.mkdir(exist_ok=True)
    sys.exit(min(asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_text(), folder)), 1))
