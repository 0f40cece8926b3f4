"""XML: paragraphs below their titles, rows of named values, declared entities; nothing from outside, nothing lost."""

from __future__ import annotations

import string
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.readers.parser import HTML, TEXT, XML, ParserProcess, find_reader
from corrobora.adapters.readers.structured import read_xml

MANUAL = b"""<?xml version="1.0"?>
<!DOCTYPE book PUBLIC "-//X//DTD" "http://127.0.0.1:9/book.dtd" [<!ENTITY ver "1.2">]>
<book><title>The Pump</title><chapter><title>Start &amp; stop</title>
<para>Version &ver; needs <emphasis>four</emphasis>&nbsp;valves.</para>
<para>Steps: <list><item><para>Open it.</para></item><item><para>Press
<key>on</key>.</para></item></list> Then wait.</para>
<programlisting>a
  b</programlisting>
<table><title>Limits</title><row><entry>Part</entry><entry>Bar</entry></row><row><entry>V1</entry><entry>3</entry></row></table>
</chapter></book>"""


async def test_a_manual_in_xml_reads_as_its_sections_paragraphs_and_rows():
    async with ParserProcess() as child:
        found = await child.parse_document(MANUAL, name="pump.xml")
    assert found.title == "The Pump"
    assert [(each.level, each.title) for each in found.headings] == [
        (1, "The Pump"),
        (2, "Start & stop"),
        (3, "Limits"),
    ]
    blocks = found.text.split("\n\n")
    assert "Version 1.2 needs four valves." in blocks
    assert blocks[3:7] == ["Steps:", "Open it.", "Press on.", "Then wait."]
    assert "a\n  b" in blocks
    assert "Part | Bar\nV1 | 3" in blocks


def test_data_in_xml_reads_as_rows_of_named_values():
    data = b'<hosts><host name="a" port="5"/><host><name>b</name><port>6</port><port/></host></hosts>'
    assert read_xml(data).text == "name: a; port: 5.\nname: b; port: 6."


def test_what_is_described_stands_below_its_name():
    found = read_xml(
        b'<schema><attribute name="rankdir"><doc>Sets the <a>direction</a> of it.</doc></attribute></schema>'
    )
    assert found.text == "rankdir\n\nSets the direction of it."
    assert [each.title for each in found.headings] == ["rankdir"]


@pytest.mark.parametrize(
    ("name", "data", "reader"),
    [
        ("feed", b"<?xml version='1.0'?><rss/>", XML),
        ("page.xml", b"<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'><html xmlns='y'/>", HTML),
        ("notes.txt", b"An <?xml declaration", TEXT),
    ],
)
def test_xml_is_known_by_its_declaration(name: str, data: bytes, reader: object):
    assert find_reader(name, data) is reader


@pytest.mark.parametrize(
    "data", [b"<?xml version='1.0'?><a><b>open", b"<?xml version='1.0'?><a>" + b"<b>" * 100_000, b"<a/>"]
)
def test_what_is_not_well_formed_or_empty_is_read_as_text(data: bytes):
    assert read_xml(data).text.startswith(data[:8].decode())


def test_no_file_and_no_bomb_is_taken_in(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("hidden words", encoding="utf-8")
    outside = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>told &x; end</a>'
    assert "hidden words" not in read_xml(outside.encode()).text
    steps = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE a [<!ENTITY e0 "lol">{steps}]><a>&e11;</a>'
    assert len(read_xml(bomb.encode()).text) < 10_000


@given(
    st.lists(
        st.text(string.ascii_letters + string.punctuation + " éß漢", min_size=1).filter(str.strip),
        min_size=1,
        max_size=5,
    )
)
def test_every_word_of_a_paragraph_is_kept(said: list[str]):
    text = read_xml(f"<a><s>{''.join(f'<p>{escape(each)}<i/> .</p>' for each in said)}</s></a>".encode()).text
    assert text.split() == [*" . ".join(said).split(), "."]


FEED = """<?xml version="1.0" encoding="{}"?>
<rss version="2.0"><channel><title>News</title><item><title>The bridge</title>
<description>&lt;p&gt;Мост &amp;amp; мельница.&lt;/p&gt;
&lt;p&gt;A second &lt;b&gt;paragraph&lt;/b&gt;.&lt;/p&gt;</description></item></channel></rss>"""


@pytest.mark.parametrize("name", ["utf-8", "windows-1251", "euc-jp"])
def test_the_markup_that_a_feed_holds_as_text_is_no_text_of_it(name: str):
    data = FEED.format(name).encode(name)
    assert find_reader("https://x.example/feed", data, "text/html") is XML
    parsed = read_xml(data)
    assert parsed.text == "News\n\nThe bridge\n\nМост & мельница.\n\nA second paragraph."


def test_the_markup_that_another_document_quotes_is_its_text():
    assert read_xml(b"<article><para>Write &lt;p&gt;so&lt;/p&gt;.</para></article>").text == "Write <p>so</p>."
