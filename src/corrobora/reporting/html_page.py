"""The report as one HTML page that loads nothing and runs no script.

Every `[n]` opens its own quote, marked inside its stored passage; on paper these are numbered notes. The page has
contents and tables that fit a phone. Its text is that of the report's Markdown, citations and evidence; only labels are
added. Does not know the content.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from corrobora.domain.report import Citation, Report
from corrobora.reporting.bibliography import format_source_details, list_source_notes
from corrobora.reporting.cards import Card, Window, build_cards, link_passage, open_templates
from corrobora.reporting.evidence import find_marks, make_parser, split_sources
from corrobora.reporting.html_reader import EVIDENCE, PLOTS
from corrobora.reporting.plots import draw_plots
from corrobora.reporting.seal import strip_seal
from corrobora.text.phrases import Frame, find_frame
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from markdown_it.token import Token

LINK_REL = "noopener noreferrer nofollow ugc"
_TAGS = set(
    "h1 h2 h3 h4 h5 h6 p a ul ol li em strong code pre blockquote table thead tbody tr th td hr br button".split()
)
_ATTRIBUTES = {
    "a": {"href", "title", "class", "id"},
    "td": {"data-label"},
    "h2": {"id"},
    "p": {"class"},
    "button": {"type", "class", "id", "popovertarget", "popovertargetaction", "interestfor", "aria-label"},
}
_SCHEMES = {"http", "https", "mailto"}


@dataclass(frozen=True, slots=True)
class RenderedBody:
    """The body of a report as HTML, its contents as (anchor, title), and the cards of its markers in order."""

    html: str
    contents: list[tuple[str, str]]
    cards: list[Card]
    has_sources: bool


def render_body(report: Report) -> RenderedBody:
    """Render the text of a report without its list of sources; HTML of sources and writers is escaped (SAFE-4)."""
    import nh3  # noqa: PLC0415 - only a delivery or a page needs it, and the import is slow

    frame = find_frame(report.language, report.translation)
    text, has_sources = split_sources(strip_seal(report.markdown).rstrip(), report.citations, frame)
    parser = make_parser()
    tokens = parser.parse(text)
    linker = _Linker({each.number: each for each in report.citations}, build_cards(report))
    contents = _annotate_tokens(tokens, linker, frame)
    html = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel=LINK_REL,
    )
    return RenderedBody(html, contents, linker.used, has_sources)


def render_html(report: Report) -> str:
    """Render one self-contained page: no script, no remote load, HTML of sources escaped (SAFE-4)."""
    body, frame = render_body(report), find_frame(report.language, report.translation)
    html, contents = body.html, [*body.contents]
    if plots := _render_plots(report, frame):
        contents.append(("plots", frame.translate(PLOTS)))
        html += plots
    if body.has_sources:
        listed = frame.translate("Sources")
        contents.append(("sources", listed))
        html += f'<h2 id="sources">{escape(listed)}</h2>\n'
        html += "".join(_render_source(each, frame) for each in report.citations)
    numbers = {(each.source, each.passage): each.number for each in report.citations}

    def link_source(window: Window) -> str:
        held = window.passage
        near = next((n for (source, _), n in numbers.items() if source == held.source), "")
        return f"#s{numbers.get((held.source, held.passage), near)}"

    if body.cards:
        template = open_templates().get_template("notes.html")
        html += template.render(
            heading=frame.translate(EVIDENCE), cards=body.cards, stored=link_source, show=sanitize_text
        )
    styles = (resources.files("corrobora.reporting") / name for name in ("page.css", "evidence.css"))
    style = "\n".join(each.read_text(encoding="utf-8").strip() for each in styles)
    digest = "sha256-" + b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src '{digest}'; img-src 'none'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="{escape(frame.tag)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(sanitize_text(report.title), quote=False)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<main class="report">\n{_insert_contents(html, contents, frame)}</main>\n</body>\n</html>\n'
    )


class _Linker:
    """Makes each `[n]` that has a source a button that opens its evidence, or a link to the source if it has none."""

    def __init__(self, cited: Mapping[int, Citation], cards: Mapping[int, Card]) -> None:
        self.cited = cited
        self.cards = cards
        self.used: list[Card] = []
        self._place = 0

    def link_citations(self, children: Sequence[Token]) -> Iterator[Token]:
        """Replace the numbers of one block; text inside links and code stays as it is."""
        marks: dict[int, list[tuple[int, int, int]]] = {}
        for at, mark in find_marks(children, self.cited):
            marks.setdefault(at, []).append((*mark.span(), int(mark.group(1))))
        for at, child in enumerate(children):
            done = 0
            for start, end, number in marks.get(at, ()):
                before = child.content[done:start]
                # a no-break space keeps a number on the line of its text
                yield _make_text_token(f"{before[:-1]}\u00a0" if before.endswith(" ") else before)
                yield from self._make_marker(child.content[start:end], self.cited[number])
                done = end
            yield _make_text_token(child.content[done:]) if done else child

    def _make_marker(self, shown: str, source: Citation) -> Iterator[Token]:
        from markdown_it.token import Token  # noqa: PLC0415 - only a delivery needs it, and the import is slow

        self._place += 1
        card = self.cards.get(self._place)
        if card is None or card.number != source.number or not card.windows:
            yield Token("link_open", "a", 1, attrs={"href": f"#s{source.number}", "class": "n"})
            yield _make_text_token(shown)
            yield Token("link_close", "a", -1)
            return
        self.used.append(card)
        name = f"e{card.marker}"
        attributes: dict[str, str | int | float] = {
            "type": "button",
            "class": f"n {card.tone}",
            "id": f"m{card.marker}",
            "popovertarget": name,
            "popovertargetaction": "show",
            "interestfor": name,
            "aria-label": card.label,
        }
        yield Token("button_open", "button", 1, attrs=attributes)
        yield _make_text_token(shown)
        yield Token("button_close", "button", -1)


def _annotate_tokens(tokens: Sequence[Token], linker: _Linker, frame: Frame) -> list[tuple[str, str]]:
    """Give headings an anchor, cells the name of their column and numbers their link; return the contents."""
    contents: list[tuple[str, str]] = []
    labels: list[str] = []
    column, status = 0, f"*{frame.translate('Status: x.').partition('x')[0].rstrip()}"
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        said = inner.content if inner is not None and inner.type == "inline" else ""
        match token.type:
            case "heading_open" if token.tag == "h2":
                contents.append((f"part-{len(contents) + 1}", said))
                token.attrSet("id", contents[-1][0])
            case "paragraph_open" if said.startswith(status):
                token.attrSet("class", "status")
            case "table_open":
                labels = []
            case "tr_open":
                column = 0
            case "th_open":
                labels.append(said)
            case "td_open":
                token.attrSet("data-label", labels[column] if column < len(labels) else "")
                column += 1
            case "inline":
                token.children = list(linker.link_citations(token.children or []))
            case _:
                pass
    return contents


def _make_text_token(content: str) -> Token:
    from markdown_it.token import Token  # noqa: PLC0415 - only a delivery needs it, and the import is slow

    return Token("text", "", 0, content=content)


def _insert_contents(body: str, contents: Sequence[tuple[str, str]], frame: Frame) -> str:
    """Insert the contents before the first part, unless there are only one or two parts."""
    if len(contents) < 3:  # noqa: PLR2004 - fewer need no contents
        return body
    items = "".join(f'<li><a href="#{where}">{escape(title, quote=False)}</a></li>\n' for where, title in contents)
    name = escape(frame.translate("Contents"))
    nav = f'<nav aria-label="{name}">\n<details>\n<summary>{name}</summary>\n<ol>\n{items}</ol>\n</details>\n</nav>\n'
    before, mark, after = body.partition('<h2 id="part-1">')
    return f"{before}{nav}{mark}{after}"


def _render_plots(report: Report, frame: Frame) -> str:
    """Render what a report tells of its run as pictures, below a heading that opens them."""
    shown = "".join(
        f'<div class="plot" tabindex="0" role="group" aria-labelledby="plot-{kind}-title">\n{picture}</div>\n'
        for kind, picture in draw_plots(report=report, frame=frame).items()
    )
    name = escape(frame.translate(PLOTS))
    return f'<details id="plots">\n<summary><h2>{name}</h2></summary>\n{shown}</details>\n' if shown else ""


def _render_source(cited: Citation, frame: Frame) -> str:
    """Render one source: title, address, quotes, and the hash of the stored text."""
    details = format_source_details(cited).lstrip(" ,")
    meta = f'<p class="meta">{escape(details, quote=False)}</p>\n' if details else ""
    quotes = "".join(f"<p>{escape(' '.join(sanitize_text(each).split()), quote=False)}</p>\n" for each in cited.quotes)
    notices = "".join(
        f"<p><strong>{escape(label)}:</strong> {escape(text, quote=False)}</p>\n"
        for label, text in list_source_notes(cited, frame)
    )
    mark = f"{escape(cited.source)}:{escape(cited.passage)} sha256:{escape(cited.snapshot)}"
    return (
        f'<section id="s{cited.number}">\n<h3>[{cited.number}] {escape(cited.title, quote=False)}</h3>\n{meta}'
        f"<p>{_render_address(cited)}</p>\n{notices}<blockquote>\n{quotes}</blockquote>\n"
        f'<p class="meta"><code>{mark}</code></p>\n'
        "</section>\n"
    )


def _render_address(cited: Citation) -> str:
    """Render a web address as a link to the passage, and any other address as text."""
    shown = escape(cited.url, quote=False)
    link = link_passage(cited.url, cited.quotes[0] if cited.quotes else "")
    return f'<a href="{escape(link)}" rel="{LINK_REL}">{shown}</a>' if link else shown
