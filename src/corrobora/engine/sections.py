"""Sections, sites and quotes: what of a document or site a thread reads, and which quotes of it become facts.

Knows what was read, which sources have the same text, and how sections and stored documents that a reader names are
found. A whole site is crawled once in a run and searched with the queries of its rounds; something stands in for a
crawler that fails. Does not know which queries a round has, nor who quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from corrobora.domain.errors import ProviderError, ReadError
from corrobora.domain.evidence import Document, Fact, Hit, Passage, PassageId, Query, Source, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import EventType
from corrobora.domain.thread import Intent, ThreadState
from corrobora.engine.inputs import name_reading_task
from corrobora.engine.session import Session
from corrobora.engine.session.egress import STAYS
from corrobora.engine.session.journal import FAILED, CallMeta, SearchResults, decode, encode, hash_parts
from corrobora.policies.selection import (
    ASKED_PROVIDER,
    GIVEN_PROVIDER,
    NAMED_SHARE,
    SITE_SUFFIX,
    drop_subjects,
    find_best_passages,
    find_section,
    interleave,
    list_given_sites,
    list_other_sections,
    read_section,
    select_sections,
)
from corrobora.ports import Crawler, Entry
from corrobora.roles.extract import Extraction, Quote
from corrobora.roles.forms import shorten_title
from corrobora.text.comparison import find_differences
from corrobora.text.quantities import is_in_section
from corrobora.text.ranking import measure_name
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import CODE_GAP, GOES_ON, fold_whitespace, is_code_block, stem_text, token_overlap

LIMIT_TOLD = "The search limit of this run is reached."
SITE_PAGES = 50  # of one site; a crawl is billed by the page
MAX_SECTIONS_LISTED = 10  # of one document, that its reader may ask for: the nearest to what is asked
_SEARCH_DEPTH = 200  # passages of the library looked through for those of the sites


async def search_sites(intent: Intent, thread: ThreadState, run: Session) -> SearchResults:
    """Search the sites that a thread was given with the queries of one round (TREE-38).

    A site is crawled once in a run, by the first thread that has it. Where no passage of it matches, its pages are
    results in the order of the crawl. A site that cannot be crawled is a failure, and its first page is read alone.
    """
    pages: list[Hit] = []
    failures: list[str] = []
    for url in list_given_sites(thread):
        found = await _crawl_site(url, thread, run)
        pages += [replace(hit, query=thread.objective) for hit in found.hits]
        failures += found.failures
    if not pages and not failures:
        return SearchResults(())
    stored = tuple(hit for hit in pages if hit.source is not None)
    asked = intent.queries if stored else ()
    hits = [hit for query in asked for hit in await _search_pages(stored, query, thread, run)]
    unstored = [hit for hit in pages if hit.source is None]
    most = thread.course.hits_per_query
    return SearchResults((*unstored, *(hits or stored[:most])), tuple(failures), ("site",))


async def _crawl_site(url: str, thread: ThreadState, run: Session) -> SearchResults:
    """The pages of a site, each a stored source; or its first page as a result to be read, and why."""
    first = Hit(url, url, provider=GIVEN_PROVIDER)
    crawler = next((reader for reader in run.outside.readers if isinstance(reader, Crawler)), None)
    key = f"crawl#{hash_parts(url, str(SITE_PAGES))}"
    if crawler is None or not run.egress.may_request(url):
        why = STAYS if crawler else "no reader can crawl"
        return SearchResults((first,), _emit_crawl_failure(key, url, why, thread, run))
    failed = None if run.retry_failures else run.journal.get(f"{key}{FAILED}")
    if failed is not None and run.journal.get(key) is None:
        return SearchResults((first,), _emit_crawl_failure(key, url, failed.out, thread, run))
    try:
        out = await run.call_once(key, lambda: _call_crawler(crawler, url, run), paid=True)
    except (ProviderError, ReadError) as error:
        await run.journal.put(Entry(f"{key}{FAILED}", error.message))
        return SearchResults((first,), _emit_crawl_failure(key, url, error.message, thread, run))
    hits = decode(tuple[Hit, ...], out, key=key)
    run.egress.open_hits(hits)
    data = {"query": f"{url}*", "provider": "site", "hits": len(hits)}
    run.emit(EventType.SEARCH, thread.round_path, data, number=thread.number + 1, part=key)
    return SearchResults(hits)


async def _call_crawler(crawler: Crawler, url: str, run: Session) -> tuple[str, CallMeta]:
    if run.budget.read_meter().exhausted_limit == "searches":
        raise ProviderError("search_limit", LIMIT_TOLD, provider="site")
    run.budget.count_search()
    hits = await run.call_with_retries(lambda: crawler.crawl(url, limit=SITE_PAGES))
    return encode(tuple[Hit, ...], tuple(hits)[:SITE_PAGES]), CallMeta(provider="site", searches=1)


async def _search_pages(pages: Sequence[Hit], query: Query, thread: ThreadState, run: Session) -> tuple[Hit, ...]:
    """The passages of some stored pages that a query finds."""
    own = {hit.source for hit in pages}
    most = thread.course.hits_per_query
    key = f"search/site#{hash_parts(query.text, str(most), *sorted(str(each) for each in own))}"

    async def search_library() -> tuple[str, CallMeta]:
        hits = await run.library.hybrid_search(query.text, limit=_SEARCH_DEPTH)
        kept = [replace(hit, provider="site", query=query.text) for hit in hits if hit.source in own]
        return encode(tuple[Hit, ...], tuple(kept)[:most]), CallMeta(provider="site")

    return decode(tuple[Hit, ...], await run.call_once(key, search_library, paid=False), key=key)


def _emit_crawl_failure(key: str, url: str, why: str, thread: ThreadState, run: Session) -> tuple[str, ...]:
    """Tell once that a site was not crawled; it is a failure of the round that asked for it first."""
    reason = f"site: {url}{SITE_SUFFIX[1:]} was not crawled, its first page is read alone: {why}"
    data = {"query": f"{url}*", "provider": "site", "failed": reason}
    run.emit(EventType.WARNING, thread.round_path, data, number=thread.number + 1, part=f"{key}{FAILED}")
    return (reason,) if thread.number == 0 else ()


NAMED_DEPTH = 50  # passages that are looked at for a document that a source names
_PAGE_SECTION = re.compile(r"(?<=[\w.])\s?\(\d\w?\)(?=\W*$)")  # of a manual page, as in "crontab(5)"
_SECTION_NUMBER = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){1,4}(?![\d.]*\d)")  # of 5.2.5, not of a year


async def resolve_requests(
    names: Sequence[str], document: Document, hit: Hit, run: Session
) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    """Turn what a reader asked for into hits: sections by id or number, stored documents by their names."""
    source, asks, missing = document.source, dict[str, Hit](), list[str]()
    names = [_PAGE_SECTION.sub("", name) for name in names]
    here = await run.library.source_passages(source.id) if names else ()
    for name in dict.fromkeys(names):
        own = next((p.id for p in here if p.id == name.partition(" ")[0] or _has_number(name, p)), None)
        own = own or find_section(here, name) or find_entry(here, name)
        found = (
            await _find_named_document(name, source.id, run)
            if own is None
            else Hit(source.url, source.title, _name_section(here, own), source=source.id, passage=own)
        )
        if found is None:
            missing.append(name)
        else:
            provider = found.provider if found.source is None else ASKED_PROVIDER  # a search has found the page
            asked = replace(found, provider=provider, query=hit.query, linked_from=source.title)
            asks.setdefault(asked.key, asked)
    return tuple(asks.values()), tuple(missing)


NAME_CHARS = 60  # of a passage that stands below no heading


def _name_section(passages: Sequence[Passage], wanted: PassageId) -> str:
    asked = next(each for each in passages if each.id == wanted)
    return asked.heading.rpartition(" > ")[2] or shorten_title(asked.text.lstrip("# "), NAME_CHARS)


def find_entry(passages: Sequence[Passage], name: str) -> PassageId | None:
    """Return the passage that has a name as a line of its own, as entries of a long list begin; None if none has.

    So do short sections that share a passage: its heading is the one above all of them.
    """
    line = re.compile(rf"^\W*(?:\d[\d.]*\s+)?{re.escape(name.strip())}\W*$", re.IGNORECASE | re.MULTILINE)
    return next((passage.id for passage in passages if line.search(passage.text)), None)


def _has_number(name: str, passage: Passage) -> bool:
    """True if a passage is in, or begins, the section whose number a name such as "Sec. 5.2.5" gives."""
    numbers = _SECTION_NUMBER.findall(name)
    if not numbers:
        return False
    begins = re.search(rf"^\W{{0,8}}{re.escape(numbers[-1])}\.?\s", passage.text, re.MULTILINE)
    named = numbers[-1] in _SECTION_NUMBER.findall(passage.heading.rpartition(" > ")[2])
    return begins is not None or named or is_in_section(passage.heading, numbers[-1])


async def _find_named_document(name: str, asking: SourceId, run: Session) -> Hit | None:
    """Find a document that a source names: a stored one, or a section of one, else a page that a search found.

    It is journaled, because libraries grow and siblings search.
    """
    key = f"named#{hash_parts(name, asking)}"

    async def search_name() -> tuple[Hit, ...]:
        hits = await run.library.hybrid_search(name[: LIMITS.query_max_chars], limit=NAMED_DEPTH)
        others = {hit.passage: hit for hit in hits if hit.passage is not None and hit.source != asking}
        read = [(others[each.id], each) for each in await run.library.passages(tuple(others))]
        numbered = [hit for hit, passage in read if _has_number(name, passage)]
        if numbered or _SECTION_NUMBER.search(name):
            return tuple(numbered[:1])
        single = len(stem_text(name)) == 1  # a heading of one word says little, a title that alone has it much
        lines = {each.id: () if single or find_entry((each,), name) is None else (name,) for _, each in read}
        headings = {each.id: () if single else (*each.heading.split(" > "), *lines[each.id]) for _, each in read}
        stored = [(hit, (hit.title, *headings[each.id])) for hit, each in read]
        pages = [(hit, (hit.title,)) for hit in run.found.values() if hit.source is None]
        rated: dict[str, tuple[float, Hit]] = {}
        for hit, called in (*stored, *pages):
            alike = measure_name(name, *called) * (token_overlap(name, " ".join(called)) >= NAMED_SHARE)
            if alike > rated.get(hit.source or hit.url, (0.0, hit))[0]:
                rated[hit.source or hit.url] = (alike, hit)
        best = sorted(rated.values(), key=lambda each: -each[0])[:2]
        if best and best[0][1].source and measure_name(name, best[0][1].title) >= best[0][0]:
            best[0] = (best[0][0], replace(best[0][1], passage=None))  # its title: what is wanted may stand anywhere
        unique = bool(best) and not (single and len(best) > 1 and best[0][0] == best[1][0])
        return (best[0][1],) if unique else ()

    found = await run.record_value(key, tuple[Hit, ...], search_name)
    return found[0] if found else None


async def find_copy(source: Source, run: Session) -> SourceId | None:
    """Return the source of this run that has the same text, word for word, and was opened first; None if it is new.

    A manual is often served under several addresses. Who came first is journaled, so that a resumed run reads the same.
    """
    text = source.origin or source.snapshot
    first = await run.record_first(f"text#{text}", source.id) if text else source.id
    return None if first == source.id else SourceId(first)


async def widen_reading(
    hit: Hit, document: Document, found: Sequence[Hit], thread: ThreadState, run: Session
) -> tuple[Document, tuple[Passage, ...]]:
    """Return the document with all that is to be read of it in one call, and what could be read next.

    `found` are all results of the round: what of them lies in this document comes first. What this thread has read of
    it in an earlier round is left out, and what its earlier passes have read around their own results.
    """
    everything = await run.library.source_passages(document.source.id)
    searched = tuple(dict.fromkeys((hit.query, *(each.query for each in found))))
    shared = run.shares_readers(thread.specs)
    subjects, served = (*run.brief.subjects, *thread.subjects), run.questions if shared else thread.sub_questions
    needs = drop_subjects((question.text for question in served), subjects, document.source.title)
    section = hit.passage if hit.provider == ASKED_PROVIDER else None  # whoever asked for it was shown the others
    if section is not None:
        chosen = read_section(everything, section)
    else:
        here = [each for each in (hit, *found) if each.source == hit.source and each.url == hit.url]
        lanes = ([each.passage for each in here if each.query == query] for query in searched)
        near = tuple(each for each in interleave(lanes) if each is not None)
        asked = drop_subjects(searched, subjects, document.source.title)
        if shared:  # one reading serves all siblings: they choose alike, and their own query opens sections
            near, asked = near or find_best_passages(everything, asked), ()
        asked, alone = tuple(dict.fromkeys((*asked, *needs))), shared and document.source.kind == "web"
        chosen = select_sections(everything, near, asked, alone=alone)
        if near and near[0] in run.claims.barren:  # the best of what a search finds of it is known to say nothing
            chosen = tuple(each for each in chosen if each.id in near)
    before = {each for done in thread.earlier for reading in done.readings for each in reading.passages}
    before -= {each.passage for each in (hit, *found)}  # of an earlier pass only what is found is read anew
    fresh = tuple(each for each in chosen if each.id not in thread.read_passages | before)
    free = {each.id for each in run.claims.list_free(name_reading_task(thread, run), everything)}
    taken = (each.id for each in everything if each.id not in free)  # what was read for siblings is offered to nobody
    known = {*thread.read_passages, *before, *taken, *(each.id for each in fresh)}
    others = () if section else list_other_sections(everything, known, MAX_SECTIONS_LISTED, needs or searched)
    return replace(document, passages=fresh), others


QUOTE_MAX_PLACES = 5  # a quote that stands more often in its source points nowhere (bad-input M18)
_LOW_CONFIDENCE = 0.5  # below this, evidence for a key claim counts as weak
_LIMITATIONS = ("limitation", "future work", "future research", "open question", "further research")


class CheckedQuotes(NamedTuple):
    """The facts that the quotes of one source gave."""

    own: tuple[Fact, ...]  # that answer what this thread asks, or no question
    others: tuple[Fact, ...]  # that answer what other threads ask
    dropped: int  # quotes of this thread that are not literal, or too weak


def quotes_to_facts(quotes: Sequence[Quote], document: Document, thread: ThreadState, score: float) -> CheckedQuotes:
    """Turn quotes into facts: literal, long enough, and at one place of the source; what is not grows, if it can."""
    passages = {p.id: p for p in document.passages}
    mine = {q.id for q in thread.sub_questions}
    own: dict[str, Fact] = {}
    others: dict[str, Fact] = {}
    dropped = 0
    for quote in quotes:
        passage = passages[PassageId(quote.passage)]
        theirs = tuple(name for name in quote.answers if mine and name not in mine)
        answers = tuple(name for name in quote.answers if name not in theirs)
        fact = Fact.from_quote(
            document,
            passage,
            _widen_quote(quote.quote, passage, document.text),
            claim=quote.claim,
            confidence=quote.confidence,
            answers=answers,
            subjects=quote.subjects,
            score=score,
        )
        fact = fact and _mark_cut_code(replace(fact, inner_heading=quote.inner_heading), document.text)
        strong = fact is not None and _is_strong_quote(fact.quote, document.text)
        if fact is not None and strong and theirs:
            others.setdefault(fact.id, replace(fact, answers=theirs))
        if fact is not None and strong and (answers or not theirs):
            own.setdefault(fact.id, fact)
        elif answers or not theirs:  # else it is counted where it is asked for
            dropped += 1
    return CheckedQuotes(tuple(own.values()), tuple(others.values()), dropped)


def _mark_cut_code(fact: Fact, text: str) -> Fact:
    """Let the copied claim of code that goes on behind its quote say so; the quote itself is literal."""
    cut = text.startswith(f"\n{CODE_GAP}", fact.end) and is_code_block(text, fact.end - 1, fact.end)
    copied = fact.claim == fold_whitespace(fact.quote)
    return replace(fact, claim=f"{fact.claim} {GOES_ON}") if cut and copied else fact


def _widen_quote(quote: str, passage: Passage, text: str) -> str:
    """Return a quote with its sentence, and with so many beside it that it points to one place of its source.

    A reader copies "Default value: 128", which is too short, or "Effect if unset: Default value is used.", which stands
    below twenty names. It is left as it is unless it has a word that tells something and stands once in the passage.
    """
    if _is_strong_quote(quote, text) or not stem_text(quote):
        return quote
    places = list(re.finditer(rf"(?<!\w){re.escape(quote)}(?!\w)", passage.text))
    if len(places) != 1:
        return quote
    spans = split_sentences(passage.text)
    first = max((at for at, span in enumerate(spans) if span.start <= places[0].start()), default=0)
    last = next((at for at, span in enumerate(spans) if span.end >= places[0].end()), len(spans) - 1)
    while True:
        grown = passage.text[spans[first].start : spans[last].end]
        if _is_strong_quote(grown, text):
            return grown
        if len(grown) > LIMITS.quote_max_chars or (first, last) == (0, len(spans) - 1):
            return quote
        first, last = (first - 1, last) if first else (first, last + 1)  # a label stands before what it labels


def _is_strong_quote(quote: str, text: str) -> bool:
    """Say whether a quote is long enough and points to one place (bad-input M18)."""
    return LIMITS.quote_min_chars <= len(quote) <= LIMITS.quote_max_chars and text.count(quote) <= QUOTE_MAX_PLACES


def has_insight_trigger(
    extraction: Extraction, passages: Sequence[Passage], *, discovery_intense: bool, disputed: bool = False
) -> bool:
    """Say whether one of the four conditions of TREE-30 holds, so that follow-ups, gaps and linked sources count.

    Low confidence on key claims; explicit limitations or future work; a contradiction within the source or with what
    was given as known (`disputed`: code found one); a discovery-intense leaf.
    """
    if discovery_intense or disputed or extraction.contradicts_known or _contradicts_itself(extraction):
        return True
    if any(quote.confidence < _LOW_CONFIDENCE for quote in extraction.quotes):
        return True
    return any(word in f"{p.heading}\n{p.text}".lower() for p in passages for word in _LIMITATIONS)


def _contradicts_itself(extraction: Extraction) -> bool:
    """True if two quotes of one source differ about the same thing (TREE-30)."""
    return any(find_differences(one.quote, other.quote) for one, other in combinations(extraction.quotes, 2))
