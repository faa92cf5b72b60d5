"""Throws mutated examples at all that reads what others have written, and reports faults and the slowest input.

    python tests/bench/fuzz_parsers.py --out docs/results/fuzzing.md    # a million inputs for each target: hours
    python tests/bench/fuzz_parsers.py --inputs 10000 date url

The mutations follow from --seed. A fault is an error that the target's callers do not expect, or a failed check of what
was read; the input that showed it is printed, and the exit status is 1.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_targets import TARGETS, FuzzTarget
from results_page import write_page

PIECES = (
    *(b"", b" ", b"\t", b"\r\n", b"\n", b"\0", b"\x7f", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xe2\x80\xa8"),
    *(b'"', b'\\"', b"'", b"\\", b",", b", ,", b";", b";q=", b"=", b"==", b":", b"://", b"@", b"#", b"%", b"%00", b"?"),
    *(b"*", b"/", b"//", b"/../", b".", b"..", b"-", b"--", b"+", b"_", b"(", b")", b"[", b"]", b"{", b"}", b"<", b">"),
    *(b"0", b"-1", b"1e400", b"nan", b"inf", b"2147483648", b"18446744073709551616", b"9" * 5000, b"1_0", b"0x1F"),
    *(b"W/", b"GMT", b"60", b"24:00:00", b"no-cache", b"max-age", b"private", b"true", b"null", b"\xb2\xb3", b"a" * 70),
)
"""What parsers stumble over."""
LONG_SHARE = 0.0005
"""Of the inputs, how many are made long, to find out what takes more than linear time."""
LONG_BYTES = 60_000
SHOWN_BYTES = 200
PAGE = """The parsers of foreign input, and their results on mutated examples: see
[conformance](../conformance.md#broken-input). Refused is what the target may answer bad input with; a fault
is any other error, or a failed check of what was read. Times are of a shared machine; the slowest input is
shown to find parsers that take more than linear time."""


@dataclass
class Tally:
    """What happened to one target."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    slowest: bytes = b""
    faults: dict[str, bytes] = field(default_factory=dict)
    """The first input of each kind."""


def mutated(examples: list[bytes], draw: random.Random) -> bytes:
    """An example with some changes, or two put together."""
    data = bytearray(draw.choice(examples))
    for _ in range(draw.choice((1, 1, 2, 3, 5, 12))):
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + draw.choice((0, 0, 1, 2, 8)))
        match draw.randrange(6):
            case 0 | 1:
                data[at:end] = draw.choice(PIECES)
            case 2:
                data[at:end] = bytes((draw.randrange(256),))
            case 3:
                del data[at:end]
            case 4:
                data[at:at] = data[at : at + draw.randrange(20)]
            case 5:
                other = draw.choice(examples)
                data[at:] = other[draw.randrange(len(other) + 1) :]
    if draw.random() < LONG_SHARE:
        at = draw.randrange(len(data) + 1)
        piece = bytes(data[at : at + draw.randrange(1, 9)]) or draw.choice(PIECES) or b" "
        data[at:at] = piece * (LONG_BYTES // len(piece))
    return bytes(data)


def fuzz(target: FuzzTarget, inputs: int, draw: random.Random) -> Tally:
    """Throw this many inputs at a target."""
    tally = Tally()
    examples = list(target.examples)
    clock = time.process_time  # other processes are no fault of the target
    for _ in range(inputs):
        data = mutated(examples, draw)
        began_s = clock()
        try:
            target.read(data)
        except target.refuses_by:
            tally.refused += 1
        except Exception as fault:
            tally.faults.setdefault(_kind(fault), data)
        took_s = clock() - began_s
        if took_s > tally.slowest_s:
            tally.slowest_s, tally.slowest = took_s, data
    tally.inputs = inputs
    return tally


def _kind(fault: Exception) -> str:
    """The error and where it was raised: one fault may have many inputs."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(fault).__name__}: {str(fault)[:100]}{where}"


def told(name: str, tally: Tally, took_s: float) -> Iterator[str]:
    """The line of a target, and two for each fault."""
    slowest = f"{tally.slowest_s * 1e3:.1f} ({len(tally.slowest)})"
    refused = tally.refused / tally.inputs
    yield f"{name:20s} {tally.inputs:9d} {refused:8.1%} {len(tally.faults):6d} {took_s:8.1f} {slowest:>20s}"
    for kind, data in tally.faults.items():
        yield f"    {kind}\n      {data[:SHOWN_BYTES]!r}{'...' if len(data) > SHOWN_BYTES else ''}"


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default all: {', '.join(TARGETS)}")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write a page with what is printed")
    asked = parser.parse_args()
    names = asked.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no such target: {unknown.pop()}")
    lines = [f"{'target':20s} {'inputs':>9s} {'refused':>8s} {'faults':>6s} {'seconds':>8s}  slowest ms (bytes)"]
    print(lines[0])
    faults = 0
    for name in names:
        began_s = time.perf_counter()
        tally = fuzz(TARGETS[name], asked.inputs, random.Random(f"{asked.seed} {name}"))
        faults += len(tally.faults)
        for line in told(name, tally, time.perf_counter() - began_s):
            print(line, flush=True)
            lines.append(line)
    if asked.out is not None:
        write_page(asked.out, "Fuzzing", PAGE, "\n".join(lines))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
