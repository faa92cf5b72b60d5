import pytest

from bestbefore.replay.traces.formats.feed_identity import Identity, identity_of

ATOM = 'xmlns:a="http://www.w3.org/2005/Atom"'


@pytest.mark.parametrize(
    ("document", "identity"),
    [
        (f'<rss {ATOM}><channel><title>T &amp;\n U</title><link>http://e.org/</link><a:link rel="self" href="http://e.org/f"/>'
         f'<item><title>not this</title><a:link rel="self" href="http://not.this/"/></item></channel></rss>',
         Identity(("http://e.org/f",), "http://e.org/", "T & U")),
        ('<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><link rel="self" href="http://e.org/2"/>'
         '<link rel="first" href="https://e.org/f"/><link href="http://e.org/"/><entry/></feed>',
         Identity(("https://e.org/f", "http://e.org/2"), "http://e.org/", "T")),
        ('<rdf:RDF xmlns:rdf="r" xmlns="s"><channel rdf:about="http://e.org/"><title>T</title><link>http://e.org/</link>'
         '<items><rdf:Seq/></items></channel><item/></rdf:RDF>', Identity((), "http://e.org/", "T")),
        ('{"feed_url": "http://e.org/f", "home_page_url": "http://e.org/", "title": "T", "items": []}',
         Identity(("http://e.org/f",), "http://e.org/", "T")),
        ('<rss><channel><link rel="self" href="/f"/><title><![CDATA[T <item ]]></title></channel></rss>', Identity()),
        ('{"feed_url": 1, "title": "\\ud800"}', Identity()),
        (f"<rss><channel><title>{'T' * 5000}</title></channel></rss>", Identity()),
        ("<item>", Identity()),
        ("", Identity()),
    ],
)
def test_what_a_document_says_before_its_first_item(document: str, identity: Identity) -> None:
    assert identity_of(document.encode()) == identity
