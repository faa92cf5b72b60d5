"""Items and hints of RSS, RDF and Atom."""

from bestbefore.addon.feeds.document import Document, Hints
from bestbefore.addon.feeds.xml_feed import read


def document(text: str) -> Document:
    found = read(text.encode())
    assert found is not None
    return found


def rss(items: str, channel: str = "") -> Document:
    return document(
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" xmlns:atom="http://www.w3.org/2005/Atom">'
        f"<channel><title>t</title>{channel}{items}</channel></rss>"
    )


def atom(entries: str) -> Document:
    return document(f'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>{entries}</feed>')


def test_an_item_is_named_by_its_identifier_then_its_link_then_its_words() -> None:
    found = rss(
        "<item><guid> a </guid><link>http://l/1</link></item>"
        "<item><atom:link href='http://l/self' rel='self'/><link>http://l/2</link><title>t</title></item>"
        "<item><title>only</title><description>words</description></item>"
        "<item/>"
    )
    assert [item.name for item in found.items[:2]] == ["a", "http://l/2"]
    assert found.items[2].name.startswith("only\nwords")
    assert found.items[3].name.startswith("item ")


def test_an_entry_of_atom_has_the_alternate_link() -> None:
    found = atom(
        "<entry><link rel='edit' href='http://l/edit'/><link href='http://l/1'/><link rel='self' href='http://l/s'/>"
        "</entry>"
    )
    assert [item.name for item in found.items] == ["http://l/1"]


def test_the_time_of_publication_goes_before_that_of_the_last_change() -> None:
    times = "<updated>2026-11-20T08:00:00Z</updated><published>2026-11-19T08:00:00Z</published>"
    found = atom(f"<entry><id>1</id>{times}</entry>")
    assert [item.time_s for item in found.items] == [1_795_075_200.0]
    found = rss("<item><guid>1</guid><pubDate>soon</pubDate><dc:date>2026-11-20T08:00:00Z</dc:date></item>")
    assert [item.time_s for item in found.items] == [1_795_161_600.0]


def test_an_edited_item_has_another_content_and_the_same_name() -> None:
    before, after = (rss(f"<item><guid>1</guid><title>{title}</title></item>") for title in "ab")
    assert before.items[0].name == after.items[0].name
    assert before.items[0].content != after.items[0].content


def test_the_version_is_that_of_what_the_feed_says() -> None:
    item = "<item><guid>1</guid></item>"
    plain = rss(item).version
    assert rss(item, "<lastBuildDate>now</lastBuildDate><!-- 0.3 s -->").version == plain
    assert rss(item, "<link>http://elsewhere</link>").version != plain
    assert rss(item + "<item><guid>2</guid></item>").version != plain


def test_what_is_between_elements_is_not_content() -> None:
    item, link = "<item><guid>1</guid></item>", "<link>http://a</link>"
    dense, spaced = rss(item + item.replace("1", "2"), link), rss(f"{item}\n{item.replace('1', '2')}\n", f"{link}\n")
    assert spaced.version == dense.version
    assert spaced.items == dense.items


def test_hints_are_read_from_the_channel() -> None:
    found = rss(
        "<item><ttl>9999</ttl></item>",
        "<ttl>30</ttl><sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>12</sy:updateFrequency>"
        "<skipHours><hour>1</hour><hour>2</hour></skipHours><skipDays><day>Sunday</day></skipDays>",
    )
    assert found.hints == Hints(least_s=7200.0, skip_hours=(1, 2), skip_days=(6,))


def test_a_namespace_of_any_characters_does_no_harm() -> None:
    assert read(b"<feed xmlns='a}b'><entry><id>1</id></entry></feed>") is not None
    assert read(b"<feed xmlns='a}b'/>") is None


def test_the_items_of_another_vocabulary_are_not_the_feeds() -> None:
    found = rss("<item><guid>1</guid><group xmlns='x'><item><guid>no</guid></item></group></item>")
    assert [item.name for item in found.items] == ["1"]


def test_old_feeds_have_their_items_beside_the_channel() -> None:
    found = document(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://my.netscape.com/rdf/simple/0.9/">'
        "<channel><title>t</title></channel><item><title>a</title><link>http://l/1</link></item></rdf:RDF>"
    )
    assert [item.name for item in found.items] == ["http://l/1"]
