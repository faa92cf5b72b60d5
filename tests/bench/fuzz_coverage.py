"""Lets atheris look for inputs that reach new code in one of the targets of `fuzz_targets`.

    python -m venv /tmp/atheris && /tmp/atheris/bin/pip install atheris .
    /tmp/atheris/bin/python tests/bench/fuzz_coverage.py date -runs=100000 -seed=1

The options after the target are libFuzzer's. A fault ends the run with its traceback; its input is written to a file.
"""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["bestbefore"]):
    from fuzz_targets import TARGETS


def main() -> None:
    """See the module."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"expected a target, of: {', '.join(TARGETS)}")
    target = TARGETS[sys.argv.pop(1)]

    def one_input(data: bytes) -> None:
        with suppress(*target.refuses_by):
            target.read(data)

    with tempfile.TemporaryDirectory() as corpus:
        for number, example in enumerate(target.examples):
            (Path(corpus) / str(number)).write_bytes(example)
        atheris.Setup([*sys.argv, corpus], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
