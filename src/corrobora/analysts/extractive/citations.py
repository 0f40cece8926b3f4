"""Citations: how a fact is written, sentence by sentence, each with its marker.

Knows what a sentence needs to be understood, lists and code inside a quote, headings that say nothing by themselves,
and what stands on the page already. Does not choose facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from textwrap import dedent

from corrobora.analysts.extractive.extract import find_context, refers_back
from corrobora.analysts.extractive.fact_selection import is_heading_of
from corrobora.analysts.extractive.lines import find_shown_code, is_command, is_turn
from corrobora.domain.evidence import Fact
from corrobora.text.entries import find_entries, find_term, is_numbered_heading, measure_depth
from corrobora.text.markdown import FENCE
from corrobora.text.measures import find_quantities
from corrobora.text.segmentation import STOPS, Span, split_sentences
from corrobora.text.tokens import (
    CODE_GAP,
    LIST_ITEM,
    escape_text,
    fold_whitespace,
    is_code_block,
    skip_item_mark,
)

CODE = f"\n\n{FENCE}\n"  # before a block of code among the sentences of a fact
ITEM = "\n  - "  # before an item of a list among the sentences of a fact
_SHORT_WORDS = 40  # of a quote that is printed whole
_LAST_STOP = re.compile(r"(?<=\S)[.!?:]$")  # moves behind the marker; one after a space stays, as the source has it
_ENDED = re.compile(rf"[.!?:…：{STOPS}][\"'”’)\]»」』）]*$")
_SECTION = re.compile(r"^(?:\d+(?:\.\d+)*\.?|(?:§|[^\W\d_]{2,10}) \d{1,3}[.:)]?)\s")  # "4.1 ", "§ 4 ", "Chapter 2: "
_NUMBERED = re.compile(r"(?<![A-Za-z\d])\d")
_COUNTS = re.compile(r"\d+(?:\.\d+)?\s")  # "5 GB" and "1.5 GB" may count something, "6.15.7. Inspection" does not
_LEADS_ON = re.compile(r"(?i)(?:^|[;,])\s*(?:and/or|and|or|und|oder|sowie|et|ou|y|o)\s*[;,]?\s*$")


def cite_fact(
    fact: Fact, *same: Fact, bold: bool = False, printed: set[str] | None = None, core: str = "", room: int = 0
) -> str:
    """Write a fact's sentences, each with a marker before its full stop; `same` are facts with the same text.

    Items of a list stand on lines of their own, also the first one if what leads it in was left out. Sentences already
    `printed` are left out, with what refers back to them, and those written are added to `printed`. Of a long quote
    with a `core`, only that sentence and what it needs to be understood is written, and what follows as far as there
    is `room` for so many words.
    """
    marker = "".join(dict.fromkeys((fact.marker, *(other.marker for other in same))))
    pieces, items = _select_pieces(fact, core, max(room, _SHORT_WORDS), goes_on=room > 0 and not is_turn(fact.quote))
    first = pieces[:1]
    if printed is not None:
        pieces = _drop_printed(pieces, printed)
    listed = len(pieces) > 1 and pieces[:1] != first  # what leads in its list stands above already
    while pieces and pieces[-1][-1] == ":" and pieces[-1][0] != CODE_GAP:  # says nothing without what it leads in
        pieces.pop()
    text = ""
    for piece in pieces:
        if piece.startswith(CODE_GAP):
            text += f"{CODE}{_outdent_code(piece)}\n{FENCE}\n\n"
            continue
        said = _append_marker(piece, marker, bold=bold)
        gap = ITEM if piece in items and (text or listed) else "" if text.endswith("\n") else " "
        text += f"{gap}{said}"
    return text.rstrip() if text.startswith(ITEM) else text.strip()


def _outdent_code(piece: str) -> str:
    """Return code as it stands in its source, without what marks its lines as code and the indent of all of them."""
    return dedent("\n".join(line.removeprefix(CODE_GAP) for line in piece.split("\n")))


def measure_text(fact: Fact, core: str, room: int) -> tuple[int, bool]:
    """Return how many words are written of a fact where there is so much room, and whether they refer back.

    What the first sentence refers to stands before the quote, and cannot be quoted with it.
    """
    pieces, _ = _select_pieces(fact, core, room)
    return sum(len(piece.split()) for piece in pieces), bool(pieces) and refers_back(pieces[0])


def _select_pieces(fact: Fact, core: str, room: int, *, goes_on: bool = False) -> tuple[list[str], set[str]]:
    """Return the sentences of a fact to be written, and which of them are items of a list."""
    spans = split_sentences(fact.quote)
    raw = [fact.quote[span.start : span.end] for span in spans]
    whole = core not in raw or len(fact.quote.split()) <= _SHORT_WORDS
    kept = range(len(raw)) if whole else find_context(raw, raw.index(core), room)
    if not whole:
        kept = _add_list(fact.quote, spans, kept, room)
        opens = find_entries(fact.quote, spans)[kept[0]]
        kept = kept if opens < 0 or opens in kept else [opens, *kept]  # what stands below a term holds for it
        kept = _go_on(raw, kept, room) if goes_on else kept
        kept = _add_code(fact.quote, spans, kept)
    kept = _stay_in_list(fact.quote, spans, kept, raw.index(core) if core in raw else 0)
    pieces: list[str] = []
    items: set[str] = set()
    for at in kept:
        if is_code_block(fact.quote, *spans[at]):
            begin = fact.quote.rfind("\n", 0, spans[at].start) + 1  # with the indent of its first line
            pieces.append(f"{CODE_GAP}{fact.quote[begin : spans[at].end].removeprefix(CODE_GAP)}")
            continue
        start = skip_item_mark(fact.quote, spans[at].start)
        piece = _LEADS_ON.sub("", fold_whitespace(fact.quote[start : spans[at].end]))  # "; or" before the next item
        if any(map(str.isalnum, piece)):
            numbered = is_numbered_heading(fact.quote, *spans[at])
            marked = start > spans[at].start and not numbered
            if not marked and at + 1 in kept and _is_label(fact, Span(start, spans[at].end), core):
                continue
            items |= {piece} if LIST_ITEM.match(fact.quote, spans[at].start) and not numbered else set[str]()
            pieces.append(piece)
    return pieces, items


def _go_on(sentences: Sequence[str], kept: Sequence[int], room: int) -> list[int]:
    """Add to the sentences of a quote those that follow them, as long as there is room."""
    follows = kept[-1] + 1
    spent = sum(len(sentences[at].split()) for at in kept)
    more = sum(spent + words <= room for words in accumulate(len(each.split()) for each in sentences[follows:]))
    return [*kept, *range(follows, follows + more)]


def _add_code(quote: str, spans: Sequence[Span], kept: Sequence[int]) -> list[int]:
    """Add to the sentences of a quote the code that stands below them, and what stands above code."""
    shown = find_shown_code(quote, spans)
    first, last = kept[0], kept[-1] + 1
    while shown[first]:
        first -= 1
    while last < len(spans) and shown[last]:
        last += 1
    return [*range(first, kept[0]), *kept, *range(kept[-1] + 1, last)]


def _drop_printed(pieces: Sequence[str], printed: set[str]) -> list[str]:
    """Return the sentences that do not stand on the page, without those that refer back to one left out."""
    fresh: list[str] = []
    for before, piece in pairwise(("", *pieces)):
        leans = refers_back(piece) and before and before not in fresh
        fresh += [] if leans or normalize_sentence(piece) in printed else [piece]
    printed.update(normalize_sentence(piece) for piece in fresh)
    return fresh


def _add_list(quote: str, spans: Sequence[Span], kept: range, room: int) -> Sequence[int]:
    """Add to an item of a list the sentence that leads in the list, and the other items if there is room for all."""
    begin = kept.start
    while begin and not LIST_ITEM.match(quote, spans[begin].start) and "\n" not in _read_gap(quote, spans, begin):
        begin -= 1  # a further sentence of an item
    if LIST_ITEM.match(quote, spans[begin].start) is None:
        return kept
    kept = range(begin, kept.stop)
    depth = measure_depth(quote, spans[begin].start)
    items: list[bool] = []
    for before, each in pairwise((spans[0], *spans)):
        if LIST_ITEM.match(quote, each.start) is not None:
            items.append(measure_depth(quote, each.start) >= depth)
        else:  # a further sentence of an item, or the "or" between two
            joined = "\n\n" not in quote[before.end : each.start] or _LEADS_ON.match(quote[each.start : each.end])
            items.append(bool(items and items[-1] and joined))
    lead = next((n for n in reversed(range(kept.start)) if not items[n]), -1)
    outer = measure_depth(quote, spans[lead + 1].start) > depth  # the list that it leads in is inside an item before
    if lead < 0 or outer or not quote[: spans[lead].end].endswith(":"):
        return kept
    whole = range(lead, next((n for n in range(kept.stop, len(items)) if not items[n]), len(items)))
    fits = len(quote[spans[lead].start : spans[whole[-1]].end].split()) <= room
    return whole if fits else [lead, *kept]


def _read_gap(quote: str, spans: Sequence[Span], at: int) -> str:
    """Return what stands between a sentence and the one before it."""
    return quote[spans[at - 1].end : spans[at].start]


def _stay_in_list(quote: str, spans: Sequence[Span], kept: Sequence[int], core: int) -> Sequence[int]:
    """Part the items of a list from those of the list around it, which another sentence leads in; one list stays."""
    depths = [
        (n, measure_depth(quote, spans[at].start))
        for n, at in enumerate(kept)
        if LIST_ITEM.match(quote, spans[at].start) is not None
    ]
    border = next((n for n, depth in depths if depth < depths[0][1]), len(kept))
    return kept[:border] if border == len(kept) or core < kept[border] else kept[border:]


def _is_label(fact: Fact, span: Span, core: str) -> bool:
    """True for a heading above a sentence: it says nothing by itself.

    What gives a number, other than a section's, leads in a list or follows a colon is part of what is said.
    """
    if fact.quote[: span.start].rstrip().endswith((":", "：")):
        return False
    own, rest = fact.quote[span.start : span.end], fact.quote[span.end :]
    below = len(fact.quote) - len(rest.lstrip())
    if LIST_ITEM.match(fact.quote, below) is not None or find_term(fact.quote, span.start) > span.start:
        return False
    alone = own != core and rest.startswith("\n") and own.rstrip()[-1] not in f".!?:;…{STOPS}" and not is_command(own)
    named = _SECTION.sub("", own)
    return (alone and not _NUMBERED.search(own if _COUNTS.match(own) else named)) or (
        is_heading_of(fact, own) and not _NUMBERED.search(named)
    )


def normalize_sentence(sentence: str) -> str:
    """Return a sentence without its final punctuation and with single spaces, for comparison."""
    return " ".join(sentence.split()).rstrip(".!?;:, ")


def _append_marker(sentence: str, marker: str, *, bold: bool = False) -> str:
    """Write a sentence as Markdown with its marker before the full stop, key figures in bold (ANGLES-27)."""
    body = sentence.rstrip(";,；，、 ")
    stop = _LAST_STOP.search(body)
    if stop is not None:
        body = body[: stop.start()]
    text = escape_text(body)
    figures = dict.fromkeys(quantity.text for quantity in find_quantities(sentence)) if bold else ()
    for figure in map(escape_text, figures):
        text = text.replace(figure, f"**{figure}**", 1)
    ended = stop is None and _ENDED.search(body) is not None
    return f"{text} {marker}{'' if ended else stop.group() if stop is not None else '.'}"
