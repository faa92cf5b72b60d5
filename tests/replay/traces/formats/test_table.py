"""What holds for every format: it is recognised, carries what its line says, and what it cannot read it refuses."""

import gzip
import importlib.util
import json
import random
import re
import struct
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.table import FORMATS, Carries
from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses
from bestbefore.replay.traces.inference.inference import infer_updates
from bestbefore.replay.traces.reading import read_trace

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # mitmproxy's own use of pyparsing


def sample_of(name: str) -> bytes:
    """`SAMPLE` of the test file of a format, `test_NAME.py` beside this one."""
    spec = importlib.util.spec_from_file_location(f"sample_of_{name}", Path(__file__).with_name(f"test_{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sample: bytes = module.SAMPLE
    return sample


@pytest.fixture(scope="session")
def samples() -> dict[str, bytes]:
    """A small trace of each format (of updates or of requests) that bears all that the format can.

    Those that are not here are in the test files of their formats.
    """
    from mitmproxy.addons.savehar import SaveHar
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow

    flow = tflow.tflow(resp=True)
    flow.request.headers["user-agent"] = "curl"
    flow.response.headers["etag"] = '"e"'
    flows, archive = BytesIO(), BytesIO()
    FlowWriter(flows).add(flow)
    np.savez(archive, time=[1.0], client=["x"], object=["a"], size=[5], status=[200], validator=["v"], agent=["f"])
    line = b'192.0.2.1 - - [10/Oct/2000:20:55:36 +0000] "GET /a HTTP/1.1" 200 5'
    here = {
        "csv": b"time,client,object,size,status,validator,agent\n1,x,a,5,200,v,f\n",
        "npz": archive.getvalue(),
        "combined": line + b' "-" "Firefox"\n',
        "common": line + b"\n",
        "wc98": struct.pack(">IIIIBBBB", 893971817, 34600, 4505, 24736, 0, 66, 1, 97),
        "har": json.dumps(SaveHar().make_har([flow])).encode(),
        "mitmproxy": flows.getvalue(),
        "mbox": b"From a@x Tue Apr  1 10:24:04 1997\nDate: Tue, 1 Apr 1997 10:24:04 +0000\n\nhello\n",
        "feeds": b"<rss><channel><title>a</title><item><pubDate>1 Apr 1997</pubDate></item></channel></rss>",
        "opml": b'<opml><body><outline text="a" xmlUrl="http://example.com/"/></body></opml>',
    }
    return here | {name: sample_of(name) for name in FORMATS if name not in here and name != "parquet"}


@pytest.fixture(autouse=True)
def _stored_feed(tmp_path: Path, samples: dict[str, bytes]) -> None:
    """What the list of feeds speaks of."""
    (tmp_path / "a.xml").write_bytes(samples["feeds"])


def test_each_format_is_recognised_plain_and_packed(tmp_path: Path, samples: dict[str, bytes]) -> None:
    assert {*samples, "parquet"} == set(FORMATS)
    for name, content in samples.items():
        for pack in (bytes, gzip.compress):
            (tmp_path / "t").write_bytes(pack(content))
            assert read_trace(tmp_path / "t", None).format == name


def carried(trace: Updates | Accesses) -> Carries:
    if isinstance(trace, Updates):
        return Carries.UPDATES
    told = Carries.REQUESTS
    for column, what in (
        (trace.sizes_bytes, Carries.SIZES), (trace.validator_ids, Carries.VALIDATORS), (trace.agent_ids, Carries.AGENTS)
    ):
        if np.any(column != UNKNOWN):
            told |= what
    return told


def test_each_format_carries_what_its_line_says(tmp_path: Path, samples: dict[str, bytes]) -> None:
    for name, content in samples.items():
        (tmp_path / "t").write_bytes(content)
        told = FORMATS[name].carries
        if Carries.REQUESTS in told:
            told &= ~(Carries.UPDATES | Carries.CLIENTS)  # a client is always there, if only one for all
        assert carried(read_trace(tmp_path / "t", name).trace) == told, name


def test_each_format_has_its_row_in_the_documentation() -> None:
    page = (Path(__file__).parents[4] / "docs" / "formats.md").read_text()
    table = page.partition("\n| `--format` |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(FORMATS)


def test_what_a_format_carries_is_named_in_order() -> None:
    assert FORMATS["combined"].carries.names() == "requests, clients, sizes, agents"


SETTINGS: dict[str, Any] = {
    "deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.function_scoped_fixture],
}


def mutated(content: bytes, seed: int, others: list[bytes]) -> bytes:
    """The same with a few changes of the kinds that discs, editors and people make."""
    chance = random.Random(seed)
    inserts = [
        b"9" * 30, b"-1", b"nan", b"1e400", b"\xff\xfe", b"\0", b"\xed\xa0\x80", b"\\ud800", b'"', b"\r\n", b"[" * 3000,
    ]
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                changed[at:at] = chance.choice(inserts)
            case 2:
                del changed[at : at + chance.randrange(20)]
            case 3:
                del changed[at:]
            case 4:
                changed += chance.choice(others)
    packed = gzip.compress(bytes(changed)) if chance.random() < 0.2 else bytes(changed)
    return packed[: chance.randrange(len(packed) + 1)] if chance.random() < 0.1 else packed


def attempt(path: Path, name: str | None) -> None:
    """Read it, if it can be, and try what may follow."""
    try:
        reading = read_trace(path, name)
    except TraceError as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert told.startswith(f"{path}: ")
        assert told.isprintable()
        return
    assert all(line.isprintable() for line in (*reading.warnings(), *reading.skipped.remarks()))
    if isinstance(reading.trace, Accesses):
        assert np.all(np.diff(reading.trace.requests.times_s) >= 0.0)
        infer_updates(reading.trace)


@settings(max_examples=300, **SETTINGS)
@given(st.sampled_from([name for name in FORMATS if name != "parquet"]), st.integers(0, 2**32))
def test_a_damaged_trace_is_read_or_refused_in_one_line(
    tmp_path: Path, samples: dict[str, bytes], name: str, seed: int
) -> None:
    (tmp_path / "t").write_bytes(mutated(samples[name], seed, list(samples.values())))
    attempt(tmp_path / "t", name)
    attempt(tmp_path / "t", None)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "parquet"])
def test_without_the_expected_number_in_any_one_place_it_is_read_or_refused_in_one_line(
    tmp_path: Path, samples: dict[str, bytes], name: str
) -> None:
    content = samples[name]
    for word in list(re.finditer(rb"[\w.:+-]+", content))[:100]:
        for instead in (b"9" * 30, b"-1", b"nan", b"1e400", b""):
            (tmp_path / "t").write_bytes(content[: word.start()] + instead + content[word.end() :])
            attempt(tmp_path / "t", name)


@settings(max_examples=200, **SETTINGS)
@given(st.sampled_from([name for name in FORMATS if name != "parquet"]), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    attempt(tmp_path / "t", name)
