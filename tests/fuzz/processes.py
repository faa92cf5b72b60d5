"""Starts the proxy under test, as a user does, and stock servers beside our origin."""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

COMMAND = Path(sys.executable).parent / "bestbefore"
PATIENCE_S = 90.0


class ProxyProcess:
    """A running `bestbefore proxy`."""

    def __init__(self, folder: Path, *options: str, config: str = "", env: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.state = folder / "state"
        file = folder / "proxy.toml"
        file.write_text(config)
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [
                COMMAND,
                "proxy",
                "--workers",
                "1",
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "off",
                "--quiet",
                "--state",
                self.state,
                "--config",
                file,
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "BESTBEFORE_DEBUG": "1", **(env or {})},
        )
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._pump, args=(lines,), daemon=True)
        self._reader.start()
        greeting, end = "", time.monotonic() + PATIENCE_S
        while "bestbefore show" not in greeting:
            try:
                greeting += lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                self.stop()
                raise RuntimeError(f"the proxy did not start: {greeting}") from None
        found = re.search(r"listens on http://\S+:(\d+)", greeting)
        if found is None:
            raise RuntimeError(greeting)
        self.port = int(found[1])

    def _pump(self, lines: "queue.SimpleQueue[str]") -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.put(line)
            if len(self.said) < 20_000:
                self.said.append(line)

    @property
    def faults(self) -> list[str]:
        """Lines that tell of an exception."""
        telling = ("Traceback", "bug in bestbefore", "Error")
        return [line for line in self.said if line.startswith('  File "') or any(words in line for words in telling)]

    @property
    def is_up(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(PATIENCE_S)
        if self.process.stdout is not None and not self._reader.is_alive():
            self.process.stdout.close()
