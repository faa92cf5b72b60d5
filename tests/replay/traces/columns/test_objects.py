from pathlib import Path

import pytest

from bestbefore.replay.traces.columns.objects import read_labels
from bestbefore.replay.traces.errors import TraceError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "o.csv"


def test_each_object_has_its_label(path: Path) -> None:
    path.write_text("object,updates,class\na,3,bursty\n\"b,c\",5,mixed\na,4,bursty\n\n")
    assert read_labels(path, "class") == {"a": "bursty", "b,c": "mixed"}
    assert read_labels(path, "object") == {"a": "a", "b,c": "b,c"}


def test_folders_are_read_from_a_list_of_feeds(path: Path) -> None:
    path.write_text('''<opml><body><outline xmlUrl="http://a.org/"/><outline text="b"><outline xmlUrl="http://b.org/"/>
        <outline text="c"><outline xmlUrl="http://c.org/"/></outline></outline></body></opml>''')
    assert read_labels(path, "class") == {"http://a.org/": "", "http://b.org/": "b", "http://c.org/": "b/c"}
    with pytest.raises(TraceError, match=r"no column 'kind' in a list of feeds: expected class, their folders$"):
        read_labels(path, "kind")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: no header: expected object,class"),
        ("object,kind\n", "line 1: no column 'class' in 'object,kind': expected object,class"),
        ("class,objects\n", "line 1: no column 'object' in 'class,objects': expected object,class"),
        ("object,class\na,x\nb\n", "line 3: 1 fields, 'b': expected 2 as in the header"),
        ("object,class\na,x\na,y\n", "line 3: object 'a' with class 'y': expected 'x' as before"),
        ("object,class\na,\udcff\n", r"line 2: class b'\xff': expected UTF-8 text"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(path: Path, content: str, message: str) -> None:
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(TraceError) as error:
        read_labels(path, "class")
    assert str(error.value) == f"{path}: {message}"


def test_a_file_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(TraceError, match=r"o\.csv: No such file or directory"):
        read_labels(path, "class")
