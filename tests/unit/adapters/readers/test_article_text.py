"""Items and definitions of a page stand in its order, with what stands inside them, under its own headings."""

from __future__ import annotations

from corrobora.adapters.readers.html import read_html
from corrobora.ports import ParsedDocument
from corrobora.text.entries import read_terms
from corrobora.text.segmentation import split_sentences

PROSE = "<p>The pump station was rebuilt in the spring, and its valves were tested in the weeks that followed.</p>"


def read_page(body: str) -> ParsedDocument:
    main = f"<main><h1>Pumps</h1>{PROSE}{body}{PROSE}</main>"
    return read_html(f"<html><head><title>Pumps</title></head><body>{main}</body></html>".encode())


def define(term: str, body: str) -> str:
    return f"<dl class='option'><dt>{term}</dt><dd>{body}</dd></dl>"


MODES = "<dl><dt><code>slow</code></dt><dd><p>Half a turn a second.</p></dd><dt>fast</dt><dd>Two turns.</dd></dl>"
NOTE = "<div class='admonition'><p>Note</p><p>Old pumps only turn slowly.</p></div>"
MODE = f"<p>How it turns, one of these:</p>{MODES}{NOTE}"
QUERY = "<p>What finds a pump.</p><p>Default value:</p><pre>SELECT id\n  FROM pumps\n</pre><p>%1 is its name.</p>"


def test_a_definition_inside_another_stands_below_its_term() -> None:
    text = read_page(define("mode", MODE) + define("query", QUERY) + define("delay", "<p>Seconds to wait.</p>")).text
    assert (
        "- mode: How it turns, one of these:\n  - slow: Half a turn a second.\n  - fast: Two turns.\n"
        "  Note\n  Old pumps only turn slowly.\n- query: What finds a pump. Default value:\n\n"
        "\u2002  SELECT id\n\u2002    FROM pumps\n\n  %1 is its name.\n- delay: Seconds to wait."
    ) in text
    spans = split_sentences(text)
    terms = dict(zip((text[span.start : span.end] for span in spans), read_terms(text, spans), strict=True))
    assert terms["Old pumps only turn slowly."] == "- mode"
    assert terms["%1 is its name."] == "- query"


def test_what_follows_a_list_in_an_item_follows_it() -> None:
    inner = "<ul><li>the station</li><li>the valves</li></ul>"
    text = read_page(
        f"<ul><li><p>Two things were tested:</p>{inner}<p>Both passed.</p></li><li><p>No more.</p></li></ul>"
    ).text
    assert "- Two things were tested:\n  - the station\n  - the valves\n  Both passed.\n- No more." in text


def test_a_heading_is_not_given_out_for_words_that_it_shares_with_an_item() -> None:
    saves = (
        "<p>Saves all that the pump knows, as far as the format of the file that was named can hold it:</p>"
        "<ul><li>names</li><li>operator names</li></ul><p>Use -y to answer every question by yes.</p>"
    )
    calls = define("save", saves) + define("drop", "<p>Removes a log.</p>")
    page = f"<h2>Saving</h2>{calls}<h2>Examples</h2><h3>Setting operator names</h3>"
    parsed = read_page(page)
    below = parsed.text.index("Setting operator names")
    assert [each.title for each in parsed.headings] == ["Pumps", "Saving", "Examples", "Setting operator names"]
    assert parsed.text.index("- drop: Removes a log.") < parsed.text.index("Examples") < below
