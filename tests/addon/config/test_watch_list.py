from pathlib import Path

import pytest

from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.watch_list import MOST_WATCHED


def prefetch(folder: Path, lines: str) -> PrefetchSettings:
    (folder / "c.toml").write_text(f"[prefetch]\n{lines}")
    return load_config(folder / "c.toml").prefetch


def test_watched_are_the_urls_of_the_list_and_the_feeds_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "f.opml").write_text(
        '<opml><outline xmlUrl="http://B.example/feed"/><outline xmlUrl="https://a.example:443"/>'
        '<outline xmlUrl="ftp://c.example/"/><outline xmlUrl="http://d.example/a b"/></opml>'
    )
    settings = prefetch(tmp_path, 'watch = ["http://b.example/feed", "http://b.example:80/x"]\nopml = "f.opml"')
    assert settings.watched == {"http://b.example/feed", "http://b.example/x", "https://a.example/"}
    assert str(settings.opml) == (
        f"{tmp_path}/f.opml: 2 feeds; 2 left out as not http or https: 'ftp://c.example/', 'http://d.example/a b'"
    )
    assert prefetch(tmp_path, "").watched == frozenset()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('watch = "http://a.example/"', 'such as ["http://a.example/"]'),
        ('watch = ["a.example/*"]', 'item 1: expected an http or https URL, such as "https://example.org/feed.xml"'),
        ('watch = ["http://a.example/", "gopher://a/"]', "item 2: expected an http or https URL"),
        (f"watch = [{', '.join(f'"http://a/{n}"' for n in range(MOST_WATCHED + 1))}]", "at most 10000 URLs"),
        ('opml = "none.opml"', "expected a file that can be read"),
        ('opml = "c.toml"', "expected an OPML file"),
        ('opml = "."', "expected a file that can be read"),
        ('opml = "many.opml"', "expected at most 10000 feeds; this file has 10001"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    if "many" in line:
        outlines = "".join(f'<outline xmlUrl="http://a/{n}"/>' for n in range(MOST_WATCHED + 1))
        (tmp_path / "many.opml").write_text(f"<opml>{outlines}</opml>")
    with pytest.raises(ConfigError) as error:
        prefetch(tmp_path, line)
    (problem,) = error.value.problems
    assert ":2: [prefetch] " in problem
    assert expected in problem
