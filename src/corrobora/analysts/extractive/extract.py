"""Extract without a model: sentences of one source that answer the question, each with what it needs to be understood.

Knows the passages of one source, what is asked of it, words learned earlier, and which neighbours must be quoted with a
sentence: paragraphs, turns, lists and connectives. Does not know other sources; a quote is one literal piece of its
passage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from corrobora.analysts.extractive.contradictions import add_insights
from corrobora.analysts.extractive.lines import Line, read_lines
from corrobora.analysts.extractive.ranker import Ranked, is_question, rank_sentences, split_joined_names
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import Excerpt, Extraction, Quote
from corrobora.text.entries import find_item_mark, find_term
from corrobora.text.notices import find_order
from corrobora.text.questions import find_anchors, weigh_terms
from corrobora.text.tokens import fold_whitespace, stem_text
from corrobora.text.vocabulary import (
    Equivalence,
    collect_equivalences,
    list_equivalent_terms,
    map_names,
)

_OPENS_BACK = re.compile(
    r"(?i)^(?:[-*] )?(?:\((?=[^()]*\)[.!]?$)|it|they|he|she|its|their|his|her|both|neither|the (?:former|latter|same)|"
    r"(?:in )?(?:that|which|this) case|in such (?:a case|cases)|if (?:so|not|that|this)|"
    r"(?:after|before|until) (?:that|this)|at (?:that|this) point|doing so|to do (?:so|this|that)|even so|"
    r"otherwise|instead|therefore|thus|hence|so|then|also|however|but|yet|"
    r"nevertheless|nonetheless|in addition|additionally|moreover|furthermore|similarly|likewise|accordingly|"
    r"consequently|for (?:example|instance)|as a result|reasons?:|yes|no|"
    r"(?:this|that|these|those|such)(?= (?:is|are|was|were|has|have|had|can|cannot|could|may|might|must|should|shall|"
    r"will|would|do|does|did|also|not|only|in|for|to|of|by|as|approach|case|example|way|[a-z]+ed)\b)|"
    r"(?:this|that)(?= [a-z]+(?<!s)s\b))\b"
    r"|^(?!is |are |was |were |does |do |did |has |have |can |will |would |should |may )[a-z]+ (?:it|they|them)\b"
    r"|^[^,:;]{0,80} instead[.!]?$"
    r"|^\(?\w[^,:;]{0,40}? (?:this|these|such an?) (?!(?:section|chapter|document|manual|page|guide|release|version|"
    r"file|book|paper|article|list|table|appendix|specification|standard|policy|tutorial|package|program|library|is|are|was|"
    r"can|may)\b)[a-z]+\b"
)
_LIMITS_IT = re.compile(
    r"(?:However|But|Except|Unless|Nevertheless|Nonetheless|Yet|Otherwise|Instead|Only|Exceptions?|Note that|"
    r"Reasons?:|Notwithstanding)"
    r"|(?i:(?:this|that|it|these|those|they|such)\b.{0,80}\b(?:not|only|except|unless|never|no longer|until)\b)"
    r"|(?:This|These|Those|They|It|Examples?) (?:includes?|included|comprises?|consists? of|are|were):? .*,.* "
    r"(?:and|or) "
)
_BACK = 3  # sentences that a quote takes from before
_TURN_CHARS = 240  # of a turn that is quoted whole; of a longer one only the sentence
_LIST_CHARS = 900
_ANSWER_CHARS = 500  # of a question with the paragraph that answers it
_ENTRY_CHARS = 600  # of an entry that is quoted to its end
_SHOWN_CHARS = 900  # of code that is quoted with what stands before it
_PLAIN_ITEMS = 4  # sentences after a colon where no list is marked


def grow_quote(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Return the first and last line that must be quoted so that the line `at` is understood and not misleading."""
    if lines[at].turn >= 0:
        return _quote_turn(lines, at)
    if is_question(lines[at].text) or (lines[at].asked >= 0 and fits_quote(lines, lines[at].asked, at)):
        return _quote_to_answer(lines, at)
    first, at = _add_comment(lines, _extend_backward(lines, at), at)
    last = _end_of_list(lines, at, first)
    if last == at and at + 1 < len(lines) and _LIMITS_IT.match(lines[at + 1].text):
        last = at + 1 if _same_paragraph(lines, at, at + 1) and fits_quote(lines, first, at + 1) else at
    last = max(last, _end_of_entry(lines, at, first))
    last = _end_of_code(lines, last, first)
    while lines[last].end - lines[first].start < LIMITS.quote_min_chars and last + 1 < len(lines):
        if lines[last + 1].opened >= 0 or lines[last + 1].code or not fits_quote(lines, first, last + 1):
            break  # a heading begins something else, as does code that is not led in
        last += 1
    while first and lines[last].end - lines[first].start < LIMITS.quote_min_chars:
        if lines[first].opened >= 0 or lines[first].code or not fits_quote(lines, first - 1, last):
            break
        first -= 1  # the last line of a passage or section is quoted from before it
    return _find_term_line(lines, first, last), last


def _end_of_code(lines: Sequence[Line], at: int, first: int) -> int:
    """Return the last line of the code that stands below a line if it can be quoted with it, else `at`."""
    last = at
    while last + 1 < len(lines) and lines[last + 1].shown:
        if not fits_quote(lines, first, last + 1, _SHOWN_CHARS):
            break
        last += 1
    return last


def _add_comment(lines: Sequence[Line], first: int, at: int) -> tuple[int, int]:
    """Return the first of some lines and the last, with a comment and the line that it is about if both fit."""
    opening, last = first, at
    while lines[last].comment and last + 1 < len(lines) and _same_paragraph(lines, at, last + 1):
        last += 1
    while opening and lines[opening - 1].comment and _same_paragraph(lines, opening - 1, at):
        opening -= 1
    return (opening, last) if fits_quote(lines, opening, last, _ENTRY_CHARS) else (first, at)


def _find_term_line(lines: Sequence[Line], first: int, last: int) -> int:
    """Return the line that opens the entry of a list below whose term a quote stands, if both fit; else its first."""
    opening = first
    while opening and lines[opening].start > lines[first].entry and lines[opening - 1].passage == lines[first].passage:
        opening -= 1
    below = lines[first].entry >= 0 and lines[opening].start == lines[first].entry
    return opening if below and fits_quote(lines, opening, last) else first


def _end_of_entry(lines: Sequence[Line], at: int, first: int) -> int:
    """Return the last line of the entry of a list that a line belongs to if it can be quoted with it, else `at`.

    What an entry says of its term ("Default: 5 s.") does not repeat it.
    """
    opener, last = lines[at].entry if lines[at].entry >= 0 else lines[at].start, at
    while last + 1 < len(lines) and lines[last + 1].entry == opener and lines[last + 1].passage == lines[at].passage:
        last += 1
    return last if fits_quote(lines, first, last, _ENTRY_CHARS) else at


def find_context(sentences: Sequence[str], at: int, room: int) -> range:
    """Return which sentences of a quote to print if one is the answer: with what it refers to or is limited by.

    A sentence that leads in a list is printed with the list, a question with its answer; of an answer, so many of its
    first words as there is `room` for, and at least that sentence.
    """
    first = last = at
    asked = next((n for n in reversed(range(at)) if is_question(sentences[n])), -1)
    if asked >= 0 and not is_question(sentences[at]):
        first = 0 if refers_back(sentences[asked + 1]) else asked + 1
        words = [len(each.split()) + 1 for each in sentences[first:]]  # each with its marker
        return range(first, max(at + 1, first + sum(all_ <= room for all_ in accumulate(words))))
    while first and at - first < _BACK and refers_back(sentences[first]):
        first -= 1
    if sentences[at].endswith(":") or is_question(sentences[at]):
        last = len(sentences) - 1
    elif at + 1 < len(sentences) and _LIMITS_IT.match(sentences[at + 1]):
        last = at + 1
    return range(first, last + 1)


def refers_back(sentence: str) -> bool:
    """True if a sentence says little without the one before it: "They must not." or "(See section 4.)"."""
    return _OPENS_BACK.match(sentence) is not None


def fits_quote(lines: Sequence[Line], first: int, last: int, most: int = LIMITS.quote_max_chars) -> bool:
    """True if lines stand in one passage and are together no longer than a quote may be."""
    one, other = lines[first], lines[last]
    return one.passage == other.passage and other.end - one.start <= most


def _same_paragraph(lines: Sequence[Line], a: int, b: int) -> bool:
    return lines[a].passage == lines[b].passage and lines[a].paragraph == lines[b].paragraph


def _extend_backward(lines: Sequence[Line], at: int) -> int:
    """Add previous sentences while the first one refers back."""
    first = at
    while first and at - first < _BACK and _needs_before(lines, first) and fits_quote(lines, first - 1, at):
        first -= 1
    return first


def _needs_before(lines: Sequence[Line], at: int) -> bool:
    line = lines[at]
    if line.shown:
        return True
    short = line.end - line.start < LIMITS.quote_min_chars
    points = refers_back(line.text)
    answers = points and is_question(lines[at - 1].text) and lines[at - 1].passage == line.passage
    return answers or ((short or points) and _same_paragraph(lines, at - 1, at))


def _end_of_list(lines: Sequence[Line], at: int, first: int) -> int:
    """Return the last line of the list that a line introduces, or `at` if it introduces none."""
    if not _leads_in(lines, at) or (at + 1 < len(lines) and lines[at + 1].code):
        return at
    marked = at + 1 < len(lines) and lines[at + 1].item
    last = at
    while last + 1 < len(lines) and fits_quote(lines, first, last + 1, _LIST_CHARS):
        near = lines[last + 1].item or _same_paragraph(lines, last, last + 1)
        opens = last == at or _same_paragraph(lines, last, last + 1)
        if (marked and not near) or (not marked and (last - at >= _PLAIN_ITEMS or not opens)):
            break
        last += 1
    return last


def _leads_in(lines: Sequence[Line], at: int) -> bool:
    """True for a line that ends in a colon, or in no stop at all where items follow: "It is better because"."""
    follows = at + 1 < len(lines) and lines[at + 1].item and lines[at + 1].passage == lines[at].passage
    return lines[at].text.endswith(":") or (follows and not lines[at].item and lines[at].text[-1].isalnum())


def _quote_to_answer(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a question with the paragraph that answers it, and what answers one from its question on."""
    first = lines[at].asked if lines[at].asked >= 0 else at
    last = at
    while last + 1 < len(lines) and last - at < _BACK and fits_quote(lines, first, last + 1, _ANSWER_CHARS):
        follows = _same_paragraph(lines, last, last + 1) or last == first
        if is_question(lines[last + 1].text) or not follows:
            break
        last += 1
    return first, _end_of_list(lines, last, first)


def _quote_turn(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a short turn whole, of a long one the sentence; a turn that asks takes the one that replies."""
    first = last = at
    while first and _same_paragraph(lines, first - 1, at):
        first -= 1
    while last + 1 < len(lines) and _same_paragraph(lines, at, last + 1):
        last += 1
    first, last = (first, last) if fits_quote(lines, first, last, _TURN_CHARS) else (at, at)
    reply = last + 1
    asks = any(is_question(lines[each].text) for each in range(first, reply))
    if not asks or reply >= len(lines):
        return first, last
    while reply + 1 < len(lines) and _same_paragraph(lines, reply, reply + 1):
        reply += 1
    return (first, reply) if fits_quote(lines, first, reply, _ANSWER_CHARS) else (first, last)


QUOTES_PER_QUESTION = 5
QUOTES_PER_SOURCE = 16
_TERMS = 8
_ANYWAY = 2  # lines of a source that are taken without it
_ENOUGH = 0.5  # share of a topic in a sentence from which its source speaks of it


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines quoted together, with the share of each sub-question's topic they hold; "" stands for none of them."""

    first: int
    last: int
    covers: Mapping[str, float]


def extract_quotes(given: Excerpt) -> Extraction:
    """Return what one source says about the question as literal quotes, none if nothing does."""
    lines = read_lines(given)
    asked = tuple(replace(part, text=split_joined_names(part.text)) for part in given.sub_questions) or (
        SubQuestion("", split_joined_names(given.question)),
    )
    pairs = collect_equivalences(given.terms, (line.text for line in lines))
    chosen = choose_lines(asked, lines, pairs)
    topic = weigh_terms(" ".join((given.question, *(part.text for part in asked)))).topic
    terms = tuple(dict.fromkeys(list_equivalent_terms(topic, pairs)))[:_TERMS]  # what this source calls what was asked
    if not chosen:
        return Extraction((), terms=terms)
    quotes = [quote for span in _make_spans(lines, chosen) if (quote := _to_quote(given, lines, span)) is not None]
    return add_insights(given, lines, tuple(quotes), terms)


def choose_lines(
    asked: Sequence[SubQuestion], lines: Sequence[Line], pairs: Sequence[Equivalence]
) -> dict[int, dict[str, float]]:
    """Return the best lines for each sub-question with the share of its topic that they cover.

    The best few are taken whatever their words, as when a text is written those of all sources are compared; further
    ones, and those that count for a sub-question, speak of it.
    """
    sentences = [line.sentence for line in lines]
    chosen: dict[int, dict[str, float]] = {}
    for part in asked:
        ranked = rank_sentences(part.text, sentences, map_names(part.text, pairs))
        near = [at for at, one in enumerate(ranked) if one.near and _states_something(lines[at])]
        named = [name for each in find_anchors(part.text) if (name := frozenset(stem_text(each)))]
        best = sorted(near, key=lambda at: (-ranked[at].worth, at))
        plain = (at for at in best if not find_order(lines[at].text))  # an order to the tool that reads it is no answer
        for place, at in enumerate(islice(plain, QUOTES_PER_QUESTION)):
            about = _is_about(ranked[at], named)
            if about or place < _ANYWAY:
                chosen.setdefault(at, {})[part.id if about else ""] = ranked[at].topic
    if len(chosen) > QUOTES_PER_SOURCE:
        kept = sorted(chosen, key=lambda at: (-max(chosen[at].values()), at))[:QUOTES_PER_SOURCE]
        chosen = {at: chosen[at] for at in kept}
    return chosen


def _is_about(one: Ranked, named: Sequence[frozenset[str]]) -> bool:
    """True if a sentence, read under its headings, holds half of the topic, two of its words, or the subject's name."""
    return one.topic >= _ENOUGH or one.words > 1 or any(name <= one.said for name in named)


def _states_something(line: Line) -> bool:
    """False for references and titles."""
    return not line.sentence.bare


def _make_spans(lines: Sequence[Line], chosen: Mapping[int, Mapping[str, float]]) -> list[LineSpan]:
    """Extend the chosen lines, in order; overlapping quotes become one as far as its length allows."""
    spans: list[LineSpan] = []
    for at in sorted(chosen):
        first, last = grow_quote(lines, at)
        before = spans[-1] if spans else None
        if before is not None and lines[first].passage == lines[before.first].passage and first <= before.last:
            start, end = min(first, before.first), max(last, before.last)
            if fits_quote(lines, start, end):
                spans[-1] = LineSpan(start, end, _merge_shares(before.covers, chosen[at]))
                continue
            first = before.last + 1
        if first <= at:
            spans.append(LineSpan(first, max(first, last), chosen[at]))
    return spans


def _merge_shares(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    return {part: max(one.get(part, 0.0), other.get(part, 0.0)) for part in (*one, *other)}


def _to_quote(given: Excerpt, lines: Sequence[Line], span: LineSpan) -> Quote | None:
    """Quote a span literally.

    It begins with the heading above it if it is too short, or the heading says more of the topic than names.
    """
    line = lines[span.first]
    text = given.passages[line.passage].text
    start, end = line.start, lines[span.last].end
    if line.opened >= 0:
        asked = [weigh_terms(part.text) for part in given.sub_questions]
        topic = {term for each in asked for term in each.topic - each.names}
        own = set(stem_text(text[start:end]))
        if end - start < LIMITS.quote_min_chars or topic & set(stem_text(text[line.opened : start])) - own:
            start = line.opened
    mark = find_item_mark(text, start)
    tells = line.comment or find_term(text, mark) > mark  # that what follows is a comment, or an entry
    start = mark if tells else start
    literal = _truncate_quote(text[start:end])
    if len(literal) < LIMITS.quote_min_chars:
        return None
    said = line.sentence.above.union(*(each.sentence.stems for each in lines[span.first : span.last + 1]))
    return Quote(
        passage=given.passages[line.passage].id,
        quote=literal,
        claim=fold_whitespace(literal),
        confidence=round(min(0.9, 0.3 + 0.6 * max(span.covers.values())), 3),
        answers=tuple(part.id for part in given.sub_questions if part.id in span.covers),
        subjects=tuple(s.name for s in given.subjects if set(stem_text(s.name)) & said),
        inner_heading=line.inner_heading,
    )


def _truncate_quote(literal: str) -> str:
    """Cut an overlong sentence at the last clause that fits."""
    if len(literal) <= LIMITS.quote_max_chars:
        return literal
    head = literal[: LIMITS.quote_max_chars]
    for mark in ("; ", ". ", ", ", " "):
        at = head.rfind(mark)
        if at > LIMITS.quote_max_chars // 2:
            return head[: at + len(mark.rstrip())].rstrip()
    return head
