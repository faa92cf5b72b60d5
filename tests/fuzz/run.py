"""Runs the differential fuzzer by hand.

    python tests/fuzz/run.py --requests 1000000 --seed 1
    python tests/fuzz/run.py --ways plain h2 --only 4711       # one case again, with its bytes

Exit status 1 if anything was found.
"""

import argparse
import asyncio
import resource
import sys
import tempfile
from pathlib import Path

from session import WAYS, Session
from stock import SERVERS, is_installed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--mutated-answers", type=float, default=0.15, metavar="SHARE")
    parser.add_argument("--only", type=int, metavar="CASE", help="a single case, and its bytes")
    parser.add_argument("--origin", choices=("ours", *SERVERS), default="ours", help="a stock server in place of ours")
    parser.add_argument("--first-case", type=int, default=1)
    given = parser.parse_args()
    if given.origin != "ours" and not is_installed(given.origin):
        parser.error(f"{given.origin} is not installed")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        session = Session(Path(folder), given.seed, given.clients, given.mutated_answers, given.origin)
        findings = asyncio.run(session.run(given.ways, given.requests, only=given.only, first_case=given.first_case))
    for name, who in (("fuzzer", resource.RUSAGE_SELF), ("proxy", resource.RUSAGE_CHILDREN)):
        used = resource.getrusage(who)
        print(f"{name}: {used.ru_utime + used.ru_stime:.1f} s of processor", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
