"""Cards of evidence: what a reader sees of a marker, the same in the exported page, the reader and the terminal.

Knows the words for verdicts and ways of following, how quotes are marked inside a text, and safe links to originals.
Does not know HTML; `templates/evidence.html` lays a card out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from corrobora.domain.report import CitedPassage, CitedQuote, MarkerEvidence, Report, Support
from corrobora.reporting.render import HOW
from corrobora.roles.forms import name_section
from corrobora.text import phrases
from corrobora.text.notices import find_order
from corrobora.text.phrases import ENGLISH, Frame, find_frame
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from jinja2 import Environment

_NEAR = 160  # characters around a quote that are printed on paper
_LABEL_CHARS = 120  # of the quote in the name of a marker for screen readers
_FRAGMENT_WORDS = 8  # words of the quote in the text fragment of a link
VERDICTS = {  # support: a sign, its words, how it is coloured, and its letter in a table
    Support.SUPPORTED: ("✓", "supported by its quote", "ok", "V"),
    Support.PARTLY: ("◐", "partly supported", "warn", "P"),
    Support.UNCLEAR: ("?", "unclear: code could not confirm it", "warn", "?"),
    Support.UNSUPPORTED: ("✗", "not supported", "bad", "N"),
    Support.CONTRADICTED: ("✗", "contradicted by its source", "bad", "X"),
    Support.NOT_CHECKABLE: ("–", "not checked", "warn", "–"),
    Support.UNCITED: ("–", "claims nothing", "plain", "·"),
}


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A piece of a text: a quote with its number from 1, or text near or far from one."""

    text: str
    quote: int = 0
    far: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A stored passage with its quotes marked, and what tells where it is from."""

    passage: CitedPassage
    segments: tuple[MarkedSpan, ...]
    quotes: tuple[CitedQuote, ...]
    original: str  # a link to the passage on the web, "" for any other address

    @property
    def details(self) -> tuple[str, ...]:
        """Version, date, publisher, and page or heading, as far as they are known."""
        held = self.passage
        place = held.place if held.page is not None else name_section(held.title, held.heading)
        return tuple(
            each for each in (held.version, held.published, held.publisher, place) if each not in ("", held.title)
        )


@dataclass(frozen=True, slots=True)
class Card:
    """The evidence of one marker."""

    marker: int
    number: int
    sentence: str
    sign: str
    verdict: str
    tone: str
    method: str
    windows: tuple[Window, ...]
    frame: Frame = ENGLISH  # the language of the report

    def say(self, text: str) -> str:
        """Return a label of the card in the language of the report."""
        return self.frame.translate(text)

    @property
    def label(self) -> str:
        """The name of the marker for screen readers: its number and the begin of its quote."""
        said = self.windows[0].quotes[0].text if self.windows else ""
        flat = " ".join(sanitize_text(said).split())
        return f"[{self.number}] “{flat if len(flat) <= _LABEL_CHARS else f'{flat[:_LABEL_CHARS]}…'}”"


def build_cards(report: Report) -> dict[int, Card]:
    """Return the cards of a report by the place of their marker in the text."""
    cards: dict[int, Card] = {}
    frame = find_frame(report.language, report.translation)
    for each in report.evidence:
        if each.quotes:
            sign, verdict, tone, _ = VERDICTS[each.support]
            method = frame.translate(HOW.get(each.follows, each.follows))
            verdict = frame.translate(verdict)
            ordered = any(find_order(quote.text) for quote in each.quotes)
            method += f"; {frame.translate(phrases.ORDER)}" if ordered else ""
            windows = _open_windows(each, report.passages)
            cards[each.marker] = Card(
                each.marker, each.number, each.sentence, sign, verdict, tone, method, windows, frame
            )
    return cards


def _open_windows(evidence: MarkerEvidence, passages: Sequence[CitedPassage]) -> tuple[Window, ...]:
    held: dict[int, list[CitedQuote]] = {}
    for each in evidence.quotes:
        at = find_passage(each, passages)
        if at is not None:
            held.setdefault(at, []).append(each)
    return tuple(open_window(passages[at], quotes) for at, quotes in held.items())


def find_passage(quote: CitedQuote, passages: Sequence[CitedPassage]) -> int | None:
    """Return the index of the passage that holds a quote."""
    for at, each in enumerate(passages):
        same = (each.source, each.passage) == (quote.source, quote.passage)
        if same and each.start <= quote.start and quote.end <= each.end:
            return at
    return None


def open_window(passage: CitedPassage, quotes: Sequence[CitedQuote]) -> Window:
    """Return a passage with these quotes marked in it."""
    spans = [(each.start - passage.start, each.end - passage.start) for each in quotes]
    original = link_passage(passage.url, quotes[0].text if quotes else "")
    return Window(passage, mark_spans(passage.text, spans), tuple(quotes), original)


def mark_spans(text: str, spans: Iterable[tuple[int, int]]) -> tuple[MarkedSpan, ...]:
    """Cut a text at spans; joined they are the text again. Spans that meet or overlap are one quote."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    found: list[MarkedSpan] = []
    at = 0
    for number, (start, end) in enumerate(joined, 1):
        found += _shade(text[at:start], after=at > 0, before=True)
        found.append(MarkedSpan(text[start:end], number))
        at = end
    return (*found, *_shade(text[at:], after=at > 0, before=False))


def _shade(text: str, *, after: bool, before: bool) -> list[MarkedSpan]:
    """Return the text between quotes; what is far from the quote before or after it is marked as far."""
    near = _NEAR * (after + before)
    if len(text) <= near:
        return [MarkedSpan(text)] if text else []
    low = text.rfind(" ", 0, _NEAR) + 1 or _NEAR if after else 0
    high = (text.find(" ", len(text) - _NEAR) + 1 or len(text) - _NEAR) if before else len(text)
    parts = (MarkedSpan(text[:low]), MarkedSpan(text[low:high], far=True), MarkedSpan(text[high:]))
    return [each for each in parts if each.text]


def link_passage(url: str, said: str) -> str:
    """Return a web address that leads to words of a page, "" for any address that is not of the web."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as a broken IPv6 address
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return ""
    words = " ".join(said.split()[:_FRAGMENT_WORDS])
    place = f"{'' if parts.fragment else '#'}:~:text={quote(words, safe='').replace('-', '%2D')}" if words else ""
    return url + place


@cache
def open_templates() -> Environment:
    """Return the environment of the templates of reports: all text is escaped, and unknown names are errors."""
    import jinja2  # noqa: PLC0415 - only a delivery or a page needs it

    loader = jinja2.PackageLoader("corrobora.reporting")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
