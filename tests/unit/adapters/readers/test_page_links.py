"""Links that are part of a text are read, and lists that only lead elsewhere are not."""

from __future__ import annotations

import pytest

from corrobora.adapters.readers.html import read_html
from corrobora.domain.errors import ReadError

PROSE = "<p>The pump station was rebuilt in the spring, and its valves were tested in the weeks that followed.</p>"


def read_page(body: str, around: str = "div role='main'") -> str:
    inner = f"<div class='page-nav-wrap'><{around}>{body}</{around.split(maxsplit=1)[0]}></div>"
    page = f"<html><head><title>Pumps</title></head><body class='has-sidebar'>{inner}</body></html>"
    return read_html(page.encode()).text


def link(name: str, href: str = "api.html") -> str:
    return f"<a href='{href}#{name}'><code>{name}()</code></a>"


def test_rows_of_a_table_of_links_are_read_with_their_heads() -> None:
    pairs = [("open_valve", "valve_open"), ("close_valve", "valve_close"), ("drain_pump", "pump_drain")] * 3
    rows = "".join(f"<tr><td><p>{link(old)}</p></td><td><p>{link(new)}</p></td></tr>" for old, new in pairs)
    head = "<thead><tr><th><p>Gone</p></th><th><p>Use instead</p></th></tr></thead>"
    text = read_page(f"<h1>Pumps 3</h1>{PROSE}<p>These are gone:</p><table>{head}<tbody>{rows}</tbody></table>{PROSE}")
    assert text.count("Gone: open_valve(); Use instead: valve_open().") == 3
    assert "Gone: drain_pump(); Use instead: pump_drain()." in text


def test_a_list_of_links_that_words_lead_in_is_read() -> None:
    items = "".join(f"<li><p>{link(name)}</p></li>" for name in ("open_valve", "close_valve", "drain_pump"))
    text = read_page(f"<h1>Pumps 3</h1><h2>Gone</h2><p>Three calls are gone:</p><ul>{items}</ul><p>Use others.</p>")
    assert "Three calls are gone:\n\n- open_valve()\n- close_valve()\n- drain_pump()" in text


@pytest.mark.parametrize(
    "contents",
    [
        "<div class='toctree-wrapper compound'><p class='caption'>Contents:</p><ul>%s</ul></div>",
        "<div class='contents local topic'><p class='topic-title'>On this page</p><ul>%s</ul></div>",
        "<ul>%s</ul>",
        "<dl>%s</dl>",
    ],
)
def test_a_table_of_contents_is_no_text(contents: str) -> None:
    parts = ("Before you start", "Open the valve", "Drain the pump", "When it leaks")
    item = "<dt>{}. <a href='#{}'>{}</a></dt>" if "dl" in contents else "<li><a href='#{1}'>{2}</a></li>"
    listed = contents % "".join(item.format(at + 1, at, part) for at, part in enumerate(parts))
    chapters = "".join(f"<h2>{part}</h2>{PROSE}" for part in parts)
    text = read_page(f"<h1>Pumps</h1><p>How to run a pump.</p>{listed}{chapters}")
    assert [text.count(part) for part in parts] == [1, 1, 1, 1]
    assert "Contents" not in text
    assert "On this page" not in text
    with pytest.raises(ReadError, match="no text but headings and links"):
        read_page(f"<h1>Pumps</h1>{listed}" if "class" in contents else "<h1>Pumps</h1>")


def test_a_page_that_lists_calls_alone_is_read() -> None:
    names = ("open_valve", "close_valve", "drain_pump", "start_pump", "stop_pump", "measure_flow", "measure_pressure")
    text = read_page(
        f"<h1>All calls of the pump library</h1><ul>{''.join(f'<li>{link(n)}</li>' for n in names * 2)}</ul>"
    )
    assert "measure_pressure()" in text


def test_lists_that_a_table_sets_side_by_side_stay_lists() -> None:
    cells = (("Guide – how to start", "Pump – all its calls"), ("Valve – how to open one", "Leaks – what to do"))
    table = "".join(f"<td><ul>{''.join(f'<li>{each}</li>' for each in cell)}</ul></td>" for cell in cells)
    text = read_page(f"<h1>Pumps</h1>{PROSE}<h2>Go on</h2><table><tr>{table}</tr></table>")
    assert "- Guide – how to start\n- Pump – all its calls" in text
    assert "- Valve – how to open one" in text
