"""Tags: the second parser loses nothing, however deep."""

from __future__ import annotations

from corrobora.adapters.readers.html import read_tags


def test_blocks_lists_tables_and_headings():
    html = (
        "<title>T &amp; t</title><script>no()</script><h2>Head</h2><p>One <b>two</b><br>three</p>"
        "<ul><li>a<li>b</ul><table><tr><th>k<th>v</tr><tr><td>1</td><td>2</td></tr></table><pre>x\n  y</pre>tail"
    )
    writer, title = read_tags(html)
    parsed = writer.build_parsed()
    assert title == "T & t"
    assert parsed.text == "Head\n\nOne two three\n\n- a\n- b\n\nk: 1; v: 2.\n\n\u2002x\n\u2002  y\n\ntail"
    assert parsed.headings[0].title == "Head"


def test_h12_deep_nesting_keeps_its_text():
    writer, _ = read_tags("<div>" * 3_000 + "The text." + "</div>" * 3_000)
    assert writer.build_parsed().text == "The text."


def test_what_is_never_closed_ends():
    assert read_tags("<table><tr><td>a" * 3_000)[0].build_parsed().text.count("a") == 3_000
    assert read_tags("<script>" + "x" * 100)[0].build_parsed().text == ""
