"""The forms of a delivered report: the format rules for every writer's text (TIMED-33), and one HTML page.

Knows lines of Markdown, headings and lists, and never changes a word of a sentence. The page loads nothing and runs no
script: contents, numbers that link to their sources, and tables that fit a phone; its text is that of the report's
Markdown and citations, only labels are added. Takes keys and unstated addresses out of what a writer wrote. Does not
know the content.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from corrobora.domain.report import Citation, Findings, Report
from corrobora.reporting.render import format_source_details
from corrobora.reporting.seal import strip_seal
from corrobora.text import phrases
from corrobora.text.tokens import read_inline, sanitize_text

if TYPE_CHECKING:
    from markdown_it.token import Token

REPORT_FILES = {"md": "report.md", "html": "report.html", "json": "report.json"}  # formats, and where a run has them
_HEADING = re.compile(r"^(#{1,6})\s+(.*\S)\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)$")
_SOURCE_LIST = re.compile(
    r"(?i)^(?:references?|sources?|bibliography|works cited|citations|further reading|methodology|methods?)\W*$"
)
_FENCE = "```"


def format_report_body(body: str) -> str:
    """Return the body in the prescribed format.

    It begins with text, not with a heading. Sections are `##` and their parts `###`. Lists are flat, and a list of one
    item becomes a sentence. The writer's own lists of sources and sections on methods are dropped: code adds them.
    """
    lines = _flatten_lists(_normalize_headings(_drop_source_lists(body.strip().split("\n"))))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_open_with_text(lines))).strip()


def _drop_source_lists(lines: list[str]) -> list[str]:
    kept: list[str] = []
    inside = 0  # level of the heading whose section is dropped
    for line in lines:
        match = _HEADING.match(line)
        if match is not None:
            if inside and len(match[1]) > inside:
                continue
            inside = len(match[1]) if _SOURCE_LIST.match(match[2]) else 0
        if not inside:
            kept.append(line)
    return kept


def _normalize_headings(lines: list[str]) -> list[str]:
    return [
        f"{'##' if len(match[1]) <= 2 else '###'} {match[2]}" if (match := _HEADING.match(line)) else line  # noqa: PLR2004 - levels
        for line in lines
    ]


def _flatten_lists(lines: list[str]) -> list[str]:
    """Remove the indent of list items and the bullet of a single item; fenced code stays as it is."""
    kept: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.lstrip().startswith(_FENCE)
        kept.append(line.lstrip() if not fenced and _ITEM.match(line) else line)
    alone = [
        n
        for n in range(len(kept))
        if _is_list_item(kept, n) and not _is_list_item(kept, n - 1) and not _is_list_item(kept, n + 1)
    ]
    return [_ITEM.sub(r"\2", line) if n in alone else line for n, line in enumerate(kept)]


def _is_list_item(lines: list[str], at: int) -> bool:
    return 0 <= at < len(lines) and _ITEM.match(lines[at]) is not None


def _open_with_text(lines: list[str]) -> list[str]:
    """Let the body begin with its first statements as a paragraph, without a heading above them."""
    at = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    if at == len(lines) or _HEADING.match(lines[at]) is None:
        return lines
    end = next((n for n in range(at + 1, len(lines)) if _HEADING.match(lines[n])), len(lines))
    opening = [line for line in lines[at + 1 : end] if line.strip()]
    if not opening:  # the heading has parts of its own: it becomes a line of text
        name = _HEADING.match(lines[at])
        return [f"**{name[2] if name else ''}**", "", *lines[at + 1 :]]
    if not all(_ITEM.match(line) for line in opening):
        return [*lines[at + 1 :]]
    said = [match[2] for line in opening if (match := _ITEM.match(line))]
    return [" ".join(said), "", *lines[end:]]


_NUMBER = re.compile(r"\[(\d{1,5})\]")
_SOURCES = "\n## Sources\n"
_TOOLTIP_CHARS = 240  # characters of the quote in the tooltip of a number
_FRAGMENT_WORDS = 8  # words of the quote in the text fragment of a link
_TAGS = set("h1 h2 h3 h4 h5 h6 p a ul ol li em strong code pre blockquote table thead tbody tr th td hr br".split())
_ATTRIBUTES = {"a": {"href", "title", "class"}, "td": {"data-label"}, "h2": {"id"}, "p": {"class"}}
_SCHEMES = {"http", "https", "mailto"}


def render_html(report: Report) -> str:
    """Render one self-contained page: no script, no remote load, HTML of sources escaped (SAFE-4)."""
    import nh3  # noqa: PLC0415 - only a delivery needs it, and the import is slow
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    text, has_sources = _strip_sources(strip_seal(report.markdown).rstrip(), report.citations)
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(text)
    contents = _annotate_tokens(tokens, {each.number: each for each in report.citations})
    body = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    if has_sources:
        contents.append(("sources", "Sources"))
        body += '<h2 id="sources">Sources</h2>\n' + "".join(map(_render_source, report.citations))
    style = (resources.files("corrobora.reporting") / "page.css").read_text(encoding="utf-8").strip()
    digest = "sha256-" + b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src '{digest}'; img-src 'none'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(sanitize_text(report.title), quote=False)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<main>\n{_insert_contents(body, contents)}</main>\n</body>\n</html>\n"
    )


def _strip_sources(markdown: str, cited: Sequence[Citation]) -> tuple[str, bool]:
    """Cut off the list of sources, which the page renders from the citations themselves."""
    body, found, rest = markdown.rpartition(_SOURCES)
    listed = all(not line or line.startswith((">", "[", f"**{phrases.NOTICE}")) for line in rest.split("\n"))
    return (body, True) if found and cited and listed else (markdown, False)


def _annotate_tokens(tokens: Sequence[Token], cited: Mapping[int, Citation]) -> list[tuple[str, str]]:
    """Give headings an anchor, cells the name of their column and numbers their link; return the contents."""
    contents: list[tuple[str, str]] = []
    labels: list[str] = []
    column = 0
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        said = inner.content if inner is not None and inner.type == "inline" else ""
        match token.type:
            case "heading_open" if token.tag == "h2":
                contents.append((f"part-{len(contents) + 1}", said))
                token.attrSet("id", contents[-1][0])
            case "paragraph_open" if said.startswith("*Status:"):
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
                token.children = list(_link_citations(token.children or [], cited))
            case _:
                pass
    return contents


def _link_citations(children: Sequence[Token], cited: Mapping[int, Citation]) -> Iterator[Token]:
    """Make each `[n]` that has a source a link to it; text inside links and code stays as it is."""
    inside = 0
    for child in children:
        inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type != "text" or inside:
            yield child
            continue
        at = 0
        for match in _NUMBER.finditer(child.content):
            if (source := cited.get(int(match.group(1)))) is not None:
                before = child.content[at : match.start()]
                before = (
                    f"{before[:-1]}\u00a0" if before.endswith(" ") else before
                )  # keeps a number on the line of its text
                yield from (_make_text_token(before), *_make_link_tokens(match.group(), source))
                at = match.end()
        yield _make_text_token(child.content[at:])


def _make_text_token(content: str) -> Token:
    from markdown_it.token import Token  # noqa: PLC0415 - only a delivery needs it, and the import is slow

    return Token("text", "", 0, content=content)


def _make_link_tokens(shown: str, source: Citation) -> Iterator[Token]:
    from markdown_it.token import Token  # noqa: PLC0415 - only a delivery needs it, and the import is slow

    said = " ".join(sanitize_text(source.quotes[0]).split()) if source.quotes else ""
    hint = f"{source.title}: “{said if len(said) <= _TOOLTIP_CHARS else said[: _TOOLTIP_CHARS - 1].rstrip() + '…'}”"
    yield Token("link_open", "a", 1, attrs={"href": f"#s{source.number}", "class": "n", "title": hint})
    yield _make_text_token(shown)
    yield Token("link_close", "a", -1)


def _insert_contents(body: str, contents: Sequence[tuple[str, str]]) -> str:
    """Insert the contents before the first part, unless there are only one or two parts."""
    if len(contents) < 3:  # noqa: PLR2004 - fewer need no contents
        return body
    items = "".join(f'<li><a href="#{where}">{escape(title, quote=False)}</a></li>\n' for where, title in contents)
    nav = (
        f'<nav aria-label="Contents">\n<details>\n<summary>Contents</summary>\n<ol>\n{items}</ol>\n</details>\n</nav>\n'
    )
    before, mark, after = body.partition('<h2 id="part-1">')
    return f"{before}{nav}{mark}{after}"


def _render_source(cited: Citation) -> str:
    """Render one source: title, address, quotes, and the hash of the stored text."""
    details = format_source_details(cited).lstrip(" ,")
    meta = f'<p class="meta">{escape(details, quote=False)}</p>\n' if details else ""
    quotes = "".join(f"<p>{escape(' '.join(sanitize_text(each).split()), quote=False)}</p>\n" for each in cited.quotes)
    notice = f"<p><strong>{phrases.NOTICE}:</strong> {escape(cited.notice, quote=False)}</p>\n" if cited.notice else ""
    mark = f"{escape(cited.source)}:{escape(cited.passage)} sha256:{escape(cited.snapshot)}"
    return (
        f'<section id="s{cited.number}">\n<h3>[{cited.number}] {escape(cited.title, quote=False)}</h3>\n{meta}'
        f"<p>{_render_address(cited)}</p>\n{notice}<blockquote>\n{quotes}</blockquote>\n"
        f'<p class="meta"><code>{mark}</code></p>\n'
        "</section>\n"
    )


def _render_address(cited: Citation) -> str:
    """Render a web address as a link to the passage, and any other address as text."""
    shown = escape(cited.url, quote=False)
    try:
        parts = urlsplit(cited.url)
    except ValueError:  # such as a broken IPv6 address
        return shown
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return shown
    words = " ".join(cited.quotes[0].split()[:_FRAGMENT_WORDS]) if cited.quotes else ""
    place = f"{'' if parts.fragment else '#'}:~:text={quote(words, safe='').replace('-', '%2D')}" if words else ""
    return f'<a href="{escape(cited.url + place)}" rel="noopener noreferrer nofollow">{shown}</a>'


_URL = re.compile(r"\b(?:https?|ftp)://[^\s)>\]]{1,2083}|\bwww\.[^\s)>\]]{1,300}")
SECRET = re.compile(  # what keys of common services and private keys look like
    r"\b(?:sk-[A-Za-z0-9_-]{20,400}|tvly-[A-Za-z0-9_-]{16,400}|gh[pousr]_[A-Za-z0-9]{30,400}|xox[baprs]-[A-Za-z0-9-]{10,400}"
    r"|AKIA[0-9A-Z]{16})|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
)
_LINK = re.compile(r"(?<!\\)!?\[([^\]\n]{0,300})\]\((?:[^()\s]{0,2083})\)")


def strip_addresses(text: str, stated: Sequence[str]) -> tuple[str, int]:
    """Drop links, and addresses that stand in none of the texts `stated`; return how many went."""
    plain, gone = _LINK.subn(r"\1", text)
    for url in sorted(set(_URL.findall(plain)), key=len, reverse=True):
        said = read_inline(url).rstrip(".,;:!?")
        if not any(said in each for each in stated):
            gone += plain.count(url)
            plain = plain.replace(url, "")
    return plain, gone


def strip_findings(found: Findings, question: str) -> Findings:
    """Return findings whose gaps and contradictions hold no key, and no address that no quote and no person stated."""
    stated = (question, *(fact.quote for fact in found.facts))

    def strip(text: str) -> str:
        return strip_line(text, stated)

    gaps = tuple(replace(gap, text=strip(gap.text)) for gap in found.gaps)
    pairs = tuple(replace(c, claim=strip(c.claim), difference=strip(c.difference)) for c in found.contradictions)
    return replace(found, gaps=gaps, contradictions=pairs)


def strip_line(text: str, stated: Sequence[str]) -> str:
    """Return a line of a writer, such as a title, as the body is printed: without keys and unstated addresses."""
    plain, gone = strip_addresses(SECRET.sub("[removed]", text), stated)
    return " ".join(plain.split()) if gone else plain
