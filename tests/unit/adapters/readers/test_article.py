"""Articles of pages: their headings, titles and spaces between blocks."""

from __future__ import annotations

import re

import pytest

from corrobora.adapters.readers.article import extract_article
from corrobora.adapters.readers.html import read_html

MANUAL = """<html><head><title>Build options - The manual</title></head><body>
<div id="help"><h2 class="help-title">Keyboard shortcuts</h2><p>Press an arrow key to turn the page.</p></div>
<h1 class="menu-title">The manual</h1><nav><a href="a.html">Start</a> <a href="b.html">Build options</a></nav>
<main><h1 id="build"><a class="header" href="#build">Build options</a></h1>
<p>Every option is passed to the builder on its command line, and a later one wins over an earlier one.</p>
<h2 id="units"><a class="header" href="#units">work-units</a><button>Copy path</button></h2>
<p>The number of units into which a program is split. The default is 16, and 256 for an incremental build.</p>
<h2 id="model">code-model<a class="permalink" href="#model">¶</a></h2>
<div><div>Restricts the range of addresses.</div><div>The small model is the default.</div></div></main>
</body></html>""".encode()


def test_headings_that_are_links_and_the_declared_title_are_kept():
    parsed = read_html(MANUAL)
    assert parsed.title == "Build options - The manual"
    assert [heading.title for heading in parsed.headings] == ["Build options", "work-units", "code-model"]
    assert "addresses.\n\nThe small model" in parsed.text


def section(level: int, title: str, text: str) -> str:
    head = f'<div class="titlepage"><div><div><h{level} class="title">{title}</h{level}></div></div></div>'
    return f'<div class="section">{head}<p>{text}</p></div>'


BOOK = "".join(
    section(
        3 if n % 3 else 2, f"{n}. Topic {n}", f"A sentence of section {n} says which of the keys are valid there. " * 3
    )
    for n in range(12)
)


def test_headings_that_the_extractor_drops_are_put_back_above_their_text():
    page = f"<html><head><title>Keys</title></head><body><h1>Book</h1><h2>Site map</h2>{BOOK}</body></html>"
    parsed = read_html(page.encode())
    assert [each.title for each in parsed.headings] == ["Book", "Site map", *(f"{n}. Topic {n}" for n in range(12))]
    for n in range(12):
        assert f"{n}. Topic {n}\n\nA sentence of section {n} says" in parsed.text


def test_a_heading_above_a_few_letters_stands_above_them():
    page = """<html><body><h1>The gate program</h1><p>The gate program opens a gate of the harbour and waits.</p>
    <h2>Interface</h2><ul><li>It expects a <a href="x.html">harbour</a>.</li><li>It exits 0.</li></ul>
    <h2> Exit codes </h2><ul><li> 0: success </li><li> 99: no success within an hour </li></ul></body></html>"""
    assert "- It exits 0.\n\nExit codes\n\n- 0: success\n- 99: no success" in read_html(page.encode()).text


def test_lists_and_definitions_of_a_page_are_kept_with_their_terms():
    options = [("-p", "just parse the file and exit."), ("Quit.", "Ends the program.")]
    more = "".join(f"<dt><code>{term}</code><dd><p>{text}</p>" for term, text in [*options, (":", "Nothing.")])
    page = f"""<html><body><div><div>Menu</div><p>The program supports the following formats:</p>
    <ul class="wide"><li><b>XML.</b> It is the default.</li><li><b>32 bytes.</b> It needs least.</li></ul>
    <p>Some options are <code>named</code> on the command line, one after the other.
    <dl><dt>-h,</dt><dt>--help</dt><dd>Show help.</dd>{more}</dl><p>Others are read from a file.</div></body></html>"""
    assert read_html(page.encode()).text.endswith(
        "The program supports the following formats:\n\n- XML. It is the default.\n- 32 bytes. It needs least.\n\n"
        "Some options are named on the command line, one after the other.\n\n- -h, --help: Show help.\n"
        "- -p: just parse the file and exit.\n- Quit. Ends the program.\n- Nothing.\n\nOthers are read from a file."
    )


def test_all_articles_of_a_page_are_read():
    parts = [f"<article><h2>Part {n}</h2><p>{f'Part {n} has words of its own. ' * 150}</p></article>" for n in range(9)]
    text = read_html(f"<html><body>{''.join(parts)}</body></html>".encode()).text
    assert all(f"Part {n} has" in text for n in range(9))


def test_words_of_neighbouring_blocks_do_not_stick_together():
    cells = ("<code>int</code>", "count(<a>Key</a> key)", "Returns the <a>number</a> of keys that match.")
    rows = "".join(f"<div>{cell}</div>" for cell in cells) * 9
    page = f"<body><main><h1>Store</h1><ul><li><section><h2>Methods</h2>{rows}</section></li></ul></main></body>"
    text = read_html(f"<html>{page}</html>".encode()).text
    assert "Returns the number of keys that match." in text
    assert not re.search(r"intcount|keyReturns|\)Returns|theNumber|thenumber|match\.int", text)


def test_a_title_that_the_page_declares_for_sharing_stays():
    head = "<title>The Daily | Start</title><meta property='og:title' content='Mill closes'>"
    text = "<p>The mill at the river was closed on Monday after two hundred years, its owner said.</p>" * 5
    page = f"<html><head>{head}</head><body><article><h1>Mill closes</h1>{text}</article></body></html>"
    assert read_html(page.encode()).title == "Mill closes"


def test_a_table_of_a_page_whose_text_lies_in_links_keeps_its_heads():
    rows = "".join(f"<tr><td><code>group-{n}</code></td><td>Checks of kind {n}</td></tr>" for n in range(9))
    table = f"<table><thead><tr><th>Group</th><th>Description</th></tr></thead><tbody>{rows}</tbody></table>"
    text = "<p>A group of checks is a set of checks that are switched on and off together by one name.</p>" * 3
    help_window = "<div id='help'><h2>Keyboard shortcuts</h2><p>Press an arrow to turn the page.</p></div>"
    main = f"<main><h1><a href='#g'>Groups</a></h1>{text}<div>{table}</div>{text}</main>"
    found = read_html(f"<html><body>{help_window}<div>{main}</div></body></html>".encode()).text
    assert "Group: group-3; Description: Checks of kind 3" in found


def test_lines_of_a_block_of_code_stay_lines():
    text = "<p>The checks of a group are switched on and off together, by one name, on the command line.</p>" * 4
    code = "<pre><code class='language-bash'>$ build --warn naming\n$ build --warn case\n</code></pre>"
    found = read_html(f"<html><body><main><h1>Groups</h1>{text}{code}{text}</main></body></html>".encode()).text
    assert "\n\u2002$ build --warn naming\n\u2002$ build --warn case\n" in found


@pytest.mark.parametrize(
    ("declared", "site"),
    [
        ('<meta property="og:site_name" content="harbour news">', "Harbour News"),
        ('<meta name="twitter:site" content="@harbour">', "Harbour"),
        ('<link rel="canonical" href="https://www.harbour.example/lamps">', "harbour.example"),
        ('<script type="application/ld+json">{"publisher": [1, {"name": 2}]</script>', ""),
    ],
)
def test_a_page_tells_its_site_by_name_or_by_its_address(declared, site):
    said = "".join(
        f"<p>Lamp {each} of the harbour is inspected every {each} months by two people.</p>" for each in range(9)
    )
    page = f"<html><head><title>Lamps</title>{declared}</head><body><article>{said}</article></body></html>"
    assert read_html(page.encode()).publisher == site


LISTING = """<html><head><title>Introduction — Keeper - A Program for Copies 1.2.4 documentation</title></head>
<body><main>
<h1>Introduction<a class="headerlink" href="#i">¶</a></h1>
<p>The keeper stores copies of files, and only what changed is stored again, which saves room on the disk.</p>
<pre>$ keeper create ::Saturday
Time (start): Sat, 2016-02-27 14:48:13
Archive name: Saturday</pre>
<p>Every copy can be opened like a folder, so that single files are easily found again and taken out of it.</p>
{mark}</main></body></html>"""


@pytest.mark.parametrize(
    ("mark", "published"),
    [("", ""), ('<p class="published">2021-03-04</p>', "2021-03-04"), ("<time>2020-05-06</time>", "2020-05-06")],
)
def test_a_date_in_a_listing_is_not_that_of_the_page(mark: str, published: str):
    assert read_html(LISTING.replace("{mark}", mark).encode()).published == published


def test_a_title_that_names_the_site_gives_its_whole_name():
    parsed = read_html(LISTING.replace("{mark}", "").encode())
    assert (parsed.title, parsed.publisher) == ("Introduction", "Keeper - A Program for Copies 1.2.4 documentation")


def test_a_page_keeps_what_its_title_says_of_its_site_though_no_site_is_declared() -> None:
    text = "The command sets the number of seconds that stale routes are kept. " * 8
    page = f"<title>Timers &#8212; Harbour Router latest documentation</title><h1>Timers</h1><p>{text}</p>"
    parsed = read_html(page.encode())
    assert (parsed.title, parsed.publisher) == ("Timers", "Harbour Router latest documentation")
    numbered = read_html(page.replace("Timers", "11. Timers").encode())
    assert (numbered.title, numbered.publisher) == ("11. Timers", "Harbour Router latest documentation")
    plain = read_html(f"<title>Timers</title><h1>Timers</h1><p>{text}</p>".encode())
    assert (plain.title, plain.publisher) == ("Timers", "")


LOG = """<html><head><title>Change Log — Keeper 1.2.4 documentation</title></head><body><main><h1>Change Log</h1>
<h2>Version 1.2.4 (2023-03-24)</h2><p>Update of the docs for 1.1.18 users, who should read what has changed there.</p>
<h2>Version 1.1.18 (2022-06-05)</h2><p>Copies of files that were moved are found again and are not stored anew.</p>
</main><div class="footer">&copy; Copyright 2010-2023 Ann Keeper, 2015-2023 The Keepers. Created with Tool.</div>
</body></html>"""


def test_neither_a_copyright_nor_a_release_number_dates_a_page():
    assert read_html(LOG.encode()).published == ""


@pytest.mark.parametrize(
    ("heading", "title"),
    [("VALVE(8)", "Pump manual - valve(8)"), ("Pump manual", "Pump manual")],
)
def test_a_half_of_a_title_that_the_page_does_not_say_is_not_its_name(heading: str, title: str):
    """Every page of a manual is called "Pump manual - ...": the first half is the name of the site."""
    text = "<p>" + "The valve opens when the water stands high enough in the tank. " * 20 + "</p>"
    page = f"<html><head><title>Pump manual - valve(8)</title></head><body><p>{heading}</p>{text}</body></html>"
    parsed = extract_article(page)
    assert parsed is not None
    assert parsed.title == title


def test_a_heading_above_text_without_spaces_or_with_raised_digits_is_kept():
    long = "<p>" + "The committee met and decided on the length of all the passwords in federal systems. " * 4 + "</p>"
    page = (
        f"<html><body><h1>Areas</h1>{long}<h2>日本語</h2><p>この谷は町の北にあります。山は町の南にあります。</p>"
        f"<h3>Formulae</h3><p>The area is πr<sup>2</sup> and the volume is a third of it.</p><h2>End</h2>{long}"
        "</body></html>"
    )
    assert {"日本語", "Formulae", "End"} <= {each.title for each in read_html(page.encode()).headings}


def test_a_list_inside_an_item_stands_on_lines_of_its_own():
    told = "<p>The club met in the hall above the boats, and all of its members were there in time for once.</p>"
    items = "<li>The roof of it<ul><li>It was mended</li><li>It was painted</li></ul></li><li>The bins were moved</li>"
    page = f"<html><head><title>Club</title></head><body><h1>Club</h1>{told}<ul>{items}</ul>{told * 2}</body></html>"
    assert (
        "- The roof of it\n  - It was mended\n  - It was painted\n- The bins were moved"
        in read_html(page.encode()).text
    )


def test_a_list_of_links_in_a_text_is_read_and_a_menu_is_not():
    told = "<p>The club met in the hall above the boats, and all of its members were there in time for once.</p>"
    menu = "<ul><li><a href='/a'>Home of the club</a></li><li><a href='/b'>About the club</a></li></ul>"
    rooms = "".join(f"<li><a href='/room{n}'>Room {n} above the pier</a></li>" for n in range(5))
    for around in (
        f"<nav>{menu}</nav>",
        f"<div class='menu'><h3>Menu</h3>{menu}</div>",
        f"<div><h3>Go</h3>{menu}</div>",
    ):
        page = (
            f"<html><head><title>Club</title></head><body>{around}<main><h1>Club</h1>{told * 3}<h2>Rooms to hire</h2>"
            f"<p>These rooms can be hired:</p><ul>{rooms}</ul>{told * 3}</main></body></html>"
        )
        text = read_html(page.encode()).text
        assert "These rooms can be hired:\n\n- Room 0 above the pier\n- Room 1 above the pier\n" in text
        assert "About the club" not in text


def test_a_section_is_kept_though_its_name_is_what_tags_or_buttons_are_called():
    """Generators name a section after its heading; extractors drop what is called "tags" or "sharing"."""
    filler = "<p>The watcher of the mill looks at each wheel once in an hour and writes down what it finds.</p>" * 6
    said = "A wheel with this tag is not repaired by anybody before the tag is gone."
    sections = "".join(
        f'<section id="{name}"><h2>{title}</h2><p>{said} {title}.</p></section>'
        for name, title in (
            ("new-attributes-or-tags", "New attributes (or tags)"),
            ("sharing-wheels", "Sharing wheels"),
        )
    )
    page = (
        f'<html><body><main><h1>Wheels</h1>{filler}{sections}{filler}<div id="tags"><a href="/x">mill</a></div></main>'
    )
    text = read_html(page.encode()).text
    assert f"{said} New attributes (or tags)." in text
    assert f"{said} Sharing wheels." in text


def test_words_that_stand_bare_behind_a_heading_or_a_list_are_read():
    """Older manuals open a paragraph only behind the first one; most sections of this one have theirs."""
    plain = "Every keeper of the works reads these rules before the first day of work and signs them. "
    sections = "".join(f"<h3>Part {number}</h3><p>{plain * 3} {number}</p>" for number in range(10))
    bare = "The lock of the upper gate opens at <tt>dawn</tt> and closes at dusk, whoever holds the key."
    listed = "The list above is complete for all gates of the works."
    page = (
        f"<html><head><title>Locks</title></head><body><h1>Locks</h1>{sections}<h3>Upper gate</h3>\n{bare}\n<p>{plain}"
        f"<ul><li>{plain}</ul>{listed}{sections}</body></html>"
    )
    text = " ".join(read_html(page.encode()).text.split())
    assert f"Upper gate {bare.replace('<tt>', '').replace('</tt>', '')}" in text
    assert listed in text


def test_marked_words_under_a_heading_stand_under_it():
    """What the reader lost stood above the next heading: the default of one directive then seemed that of another."""
    parts = {"GateLimit": "3", "GateDelay": "1024", "GateOwner": "none"}
    plain = "Every keeper of the works reads these rules before the first day of work and signs them."
    page = (
        "<body><h1>Gates</h1><p>"
        + plain
        + "".join(
            f"<p><hr><h3><a name={name}>{name}</a></h3>\n<strong>Syntax:</strong> {name} <em>count</em><br>\n"
            f"<strong>Default:</strong> {value}<br>\n<strong>Context:</strong> <code>&lt;Gate&gt;</code>, works<br>\n"
            f"<p>\nThe <code>{name}</code> directive rules how the gate of the upper works is kept. {plain}"
            for name, value in parts.items()
        )
    )
    text = read_html(page.encode()).text
    for name, value in parts.items():
        assert f"{name}\n\nSyntax: {name} count Default: {value} Context: <Gate>, works\n\nThe {name}" in text


def test_a_page_is_read_in_its_order_although_a_place_in_it_is_never_closed():
    plain = "Every keeper of the works reads these rules before the first day of work and signs them."
    asked = [f"<font color=red>Question</font>: Does <code>gate{n}</code> open by itself?<br>" for n in range(3)]
    answer = "<pre>\n  gate on\n</pre>\n<font>Answer</font>: The <code>gate</code> opens <i>only</i> at dawn."
    page = f"<body><h1>Gates</h1><p>{plain}" + "".join(f"<p><a name=g>{each}\n{answer}<p>{plain}" for each in asked)
    text = " ".join(read_html(page.encode()).text.split())
    for n in range(3):
        assert f"Question: Does gate{n} open by itself? gate on Answer: The gate opens only at dawn. Every" in text


def test_links_to_other_pages_are_no_text_and_a_sample_keeps_its_lines() -> None:
    links = '[<a rel="previous" href="a">Fretted</a>] | [<a rel="up" href="b">Strings</a>] | [<a href="c">Index</a>]'
    spans = "<span>x</span><span> = 1\n</span><span>if x:\n</span><span>    y = 2</span>"
    page = f"""<html><head><meta name="copyright" content="Copyright 2012 The Project. All rights reserved"><body>
    <table><tr><td>{links}</td></tr></table><h2>Lute</h2><p>The lute has strings, which are tuned by hand each day.</p>
    <pre class="verbatim">{spans}</pre><p>What comes <a rel="next" href="d">next</a> in this text is a part of it.</p>
    <table><tr><td>{links}</td></tr></table></body></html>"""
    parsed = read_html(page.encode())
    assert "Fretted" not in parsed.text
    assert "\u2002x = 1\n\u2002if x:\n\u2002    y = 2" in parsed.text
    assert "What comes next in this text" in parsed.text
    assert "Copyright" not in parsed.publisher


FILLED = "".join(f"<p>The bus accepts connections and routes what they send, as rule {n} says.</p>" for n in range(9))
MARKS = tuple("b cite code del em i kbd label mark s samp strong sub time tt var".split())


@pytest.mark.parametrize("outer", MARKS)
def test_words_that_are_marked_stay_where_they_stand(outer: str):
    marked = [f"<{outer}>one<{inner}>two{n}</{inner}>three</{outer}>" for n, inner in enumerate(MARKS)]
    said = "".join(f"<p>Keep the file in {each}, and then read it.</p>" for each in marked)
    text = read_html(f"<html><body><h1>Bus</h1>{FILLED}{said}</body></html>".encode()).text
    assert all(f"Keep the file in onetwo{n}three, and then read it." in text for n in range(len(MARKS)))


def test_a_label_that_belongs_to_a_form_is_no_text():
    form = "<div><label>Your address</label><input name='address'></div>"
    text = read_html(f"<html><body><h1>Bus</h1>{FILLED}{form}{FILLED}</body></html>".encode()).text
    assert "Your address" not in text


def test_a_quotation_within_a_sentence_is_shown_in_quotation_marks():
    page = f"<html><body><h1>Bus</h1>{FILLED}<p>They call it <q>the <b>main</b> road</q>, and use it.</p></body></html>"
    assert "They call it “the main road”, and use it." in read_html(page.encode()).text


def test_blocks_that_say_the_same_are_each_kept():
    parts = "".join(
        f"<h2>Method{n}</h2><p>As a method:</p><pre>Call{n} ()</pre><p>Reply arguments:</p>"
        "<table><tr><th>Argument</th><th>Type</th></tr><tr><td>0</td><td>STRING</td></tr></table>"
        for n in range(4)
    )
    text = read_html(f"<html><body><h1>Bus</h1>{FILLED}{parts}</body></html>".encode()).text
    assert text.count("As a method:") == text.count("Reply arguments:") == text.count("Type: STRING") == 4
    assert not any("\ue000" <= letter <= "\uf8ff" for letter in text)


def test_questions_of_a_table_are_headings_above_their_answers():
    rows = "".join(
        f'<tr class="question"><td><p><b>{n}.</b></p></td><td><p>May I sell program {n}?</p></td></tr>'
        f'<tr class="answer"><td></td><td><p>The short answer is yes, you may sell copies of program {n}.</p></td></tr>'
        for n in range(1, 9)
    )
    page = f'<html><body><h1>Questions</h1><h3 class="author">A. Writer</h3><table>{rows}</table></body></html>'
    parsed = read_html(page.encode())
    assert [each.title for each in parsed.headings] == ["Questions", *(f"May I sell program {n}?" for n in range(1, 9))]
    assert "May I sell program 3?\n\nThe short answer is yes, you may sell copies of program 3." in parsed.text


def test_items_and_paragraphs_of_a_cell_are_parted():
    items = "<li>Add a flag</li><li>Describe all calls:<ol><li>open</li><li>shut</li></ol></li>"
    cell = f"<ul>{items}</ul><p>Done.</p><p>x</p>"
    table = f"<table><tr><th>Version</th><th>Changes</th></tr><tr><td>2</td><td>{cell}</td></tr></table>"
    text = read_html(f"<html><body><h1>Bus</h1>{FILLED}{table}</body></html>".encode()).text
    assert "Version: 2; Changes: Add a flag; Describe all calls: open; shut; Done. x" in text
