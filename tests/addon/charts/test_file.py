from xml.etree import ElementTree as ET

from bestbefore.addon.charts.file import HEIGHT, LEGEND_ROW, Entry, framed

SVG = "{http://www.w3.org/2000/svg}"


def test_a_file_stands_alone_with_its_style_and_legend() -> None:
    entries = [
        Entry("first & only", "c0", "M0,0z"),
        Entry("points", "c1", "M1,1z", joined=False),
        Entry("third", "c2", ""),
    ]
    root = ET.fromstring(framed("<g/>", entries))
    assert root.tag == f"{SVG}svg"
    assert len(list(root.iter(f"{SVG}style"))) == 1
    assert [text.text for text in root.iter(f"{SVG}text")] == ["first & only", "points", "third"]
    assert [len(group) for group in root.iter(f"{SVG}g") if group.get("class")] == [2, 1, 1]
    height = float(root.attrib["viewBox"].split()[3])
    assert height == HEIGHT + 2.5 * LEGEND_ROW, "two rows, of two entries and of one"
