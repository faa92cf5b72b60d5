"""Measures how bestbefore, or another proxy, does in the public tests for HTTP caches (npm's http-cache-tests).

    python tests/conformance/measure.py plain shorten       # bestbefore, in these of CONFIGURATIONS
    python tests/conformance/measure.py --forward 127.0.0.1:3128 --name "Squid 5.7"
    python tests/conformance/measure.py --reverse 127.0.0.1:8001 --origin-port 8000 --name "nginx 1.22.1"

The tests are in $CACHE_TESTS_DIR, and need node. A run takes half a minute, most of which the tests wait.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import report
import suite

GOLDEN = Path(__file__).parent.parent / "golden" / "conformance.json"
_WHILE_DOWN = '[proxy]\nstale_if_down = "1d"\n'
CONFIGURATIONS = {
    "plain": _WHILE_DOWN,
    "shorten": _WHILE_DOWN + '[default]\nobey = "shorten"\nmin_ttl = "10s"\n',
    "shorten, no min_ttl": _WHILE_DOWN + '[default]\nobey = "shorten"\n',
    "override": _WHILE_DOWN + '[default]\nobey = "override"\n',
    "clients ignored": _WHILE_DOWN + "[default]\nhonour_client_cc = false\n",
    "no file": "",
}
"""What bestbefore is measured with; docs/conformance.md says what for."""

type Tests = dict[str, suite.Ended]


def of_bestbefore(folder: Path, configuration: str) -> Tests:
    """The suite through a proxy of our own with a new store."""
    with tempfile.TemporaryDirectory(prefix="bb-") as state:
        config = Path(state) / "proxy.toml"
        config.write_text(configuration)
        proxy = subprocess.Popen(
            [Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--workers", "1",
             "--listen", "127.0.0.1:0", "--admin", "off", "--state", state, "--config", config],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert proxy.stdout is not None
            greeting = proxy.stdout.readline()
            if "listens on" not in greeting:
                raise RuntimeError("the proxy did not start")
            return suite.run(folder, greeting.split()[-1])
        finally:
            proxy.terminate()
            proxy.communicate()


def main() -> None:
    """See the module."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and so end what was started
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CONFIGURATION", help="; ".join(CONFIGURATIONS))
    parser.add_argument("--suite", type=Path, metavar="DIR", help="default: $CACHE_TESTS_DIR")
    parser.add_argument("--forward", metavar="HOST:PORT", help="a forward proxy that runs")
    parser.add_argument("--reverse", metavar="HOST:PORT", help="a reverse proxy that runs, in front of --origin-port")
    parser.add_argument("--origin-port", type=int, metavar="PORT")
    parser.add_argument("--name", default="another proxy", help="what --forward or --reverse is")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write how each test ended")
    parser.add_argument("--record", action="store_true", help="put the counts into docs/results/conformance.md")
    parser.add_argument("--golden", action="store_true", help="expect of `plain` what it did now")
    asked = parser.parse_args()
    folder = asked.suite or Path(os.environ.get("CACHE_TESTS_DIR", ""))
    if not (folder / "client" / "runner.mjs").is_file():
        parser.error("--suite or CACHE_TESTS_DIR has to be the folder of npm's http-cache-tests 0.4.5")
    if unknown := set(asked.names) - set(CONFIGURATIONS):
        parser.error(f"no such configuration: {unknown.pop()}")
    runs: dict[str, Tests] = {}
    if other := asked.forward or asked.reverse:
        mode = "forward" if asked.forward else "reverse"
        runs[asked.name] = suite.run(folder, f"http://{other}", mode=mode, origin_port=asked.origin_port)
    for name in asked.names:
        runs[name] = of_bestbefore(folder, CONFIGURATIONS[name])
    for name, tests in runs.items():
        print(f"{name}: {', '.join(f'{kind} {report.share(tests.values(), kind)}' for kind in suite.KINDS)}")
    if asked.json:
        told = {name: {test: asdict(ended) for test, ended in tests.items()} for name, tests in runs.items()}
        asked.json.write_text(json.dumps(told))
    if asked.golden:
        GOLDEN.write_text(json.dumps({test: ended.outcome for test, ended in runs["plain"].items()}, indent=1) + "\n")
    if asked.record:
        report.record(runs, suite.version(folder), ours=set(CONFIGURATIONS))


if __name__ == "__main__":
    main()
