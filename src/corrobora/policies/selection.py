"""Selection: which hits of a round to read, which are copies, and which parts of a long document are worth reading.

Knows hits, what was read, and the passages of one document. Does not read, and does not know what a hit says.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from typing import TypeVar

from corrobora.domain.evidence import OPENED, Hit, Passage, PassageId, Reading, ReadOutcome, SourceId
from corrobora.domain.plan import Subject, sum_budgets
from corrobora.domain.thread import ThreadState
from corrobora.text.ranking import RRF_K, jaccard_similarity, measure_name
from corrobora.text.tokens import count_stems, stem_text

PART_QUERY_WEIGHT = 0.7
_NOTHING = 1e-4  # of the score of a query's best hit: what shares only words that all documents have
COPY_SHARE = 0.8  # share of common terms from which two texts count as copies
GIVEN_PROVIDER = "given"  # of a result that was not searched for but named by a plan, person or scout
ASKED_PROVIDER = "asked"  # of a section or document that a reader asked for
SITE_SUFFIX = "/*"  # the end of a reference that names a whole site, not one page
READS_A_GAP = 3  # results that a later round opens for each thing that is open
_ADDRESS = re.compile(r"https?://\S+\Z")
_SOURCE_ID = re.compile(r"S\d{1,9}")
_Item = TypeVar("_Item", bound=object)


def select_hits(hits: Sequence[Hit], thread: ThreadState, *, whole: bool = False, again: int = 0) -> tuple[Hit, ...]:
    """Choose what to read: hits not tried before, as many as the round and the budgets of the specs allow (TRIPLET-21).

    The address that was proposed after the last round comes first (TIMED-12), then given sources, then, for half of
    what is left, what readers asked for who found most, then the best of all queries. A passage of a library also
    counts as read if it was read as a neighbour. With `whole`, as a model reads, passages of a document are one
    reading, less those `again`. Of counted sources a further section takes no place of a new one (ROUNDS-30).
    """
    given = (*list_given_hits(thread), *(each for each in hits if each.provider == GIVEN_PROVIDER))
    read = {reading.source for done in thread.rounds for reading in done.readings if reading.source}
    last = sorted(thread.last.readings if thread.last else (), key=lambda reading: -len(reading.facts))
    asked = [hit for one in last for hit in one.asks if hit.passage or hit.source not in read]
    fused, most = fuse_hits(_list_fresh(hits, thread) if whole else hits, equal=whole), _count_reads(thread)
    first = _choose_fresh((*_list_proposed_hits(hits, thread), *given), thread, most, whole=whole)
    room = (most + len(first) + 1) // 2 if _list_fresh(fused, thread) else most
    named = _choose_fresh((*first, *asked), thread, room, whole=whole)
    counted = whole and thread.course.whole_documents and count_reads_left(thread) is None
    left = min(most, len(named) + max(1, _count_reads(thread, narrow=whole) - again))
    most = most + sum(hit.source in read for hit in named) if counted else left
    return _choose_fresh((*named, *fused, *asked), thread, most, whole=whole)


def select_more_hits(
    readings: Sequence[Reading], thread: ThreadState, hits: Sequence[Hit], *, whole: bool = False
) -> tuple[Hit, ...]:
    """Choose what else to read in a round: what its readers asked for, as many as its reads leave.

    Where attempts are repeated, other results follow in the place of those that could not be read (TIMED-17). Where a
    round opened few results because little was open, and none gave a fact, the others follow.
    """
    read = {each for one in readings for each in (one.hit.key, one.source if whole else None, *one.passages)}
    ordered = sorted(readings, key=lambda reading: reading.hit.key)  # whichever was done first
    asked = [hit for one in ordered for hit in one.asks if not {hit.key, hit.passage or hit.source or hit.key} & read]
    failed = sum(each.outcome not in OPENED for each in readings) if thread.course.attempts > 1 else 0
    fruitless = whole and not any(reading.facts for reading in readings)
    others = [hit for hit in fuse_hits(hits, equal=whole) if not {hit.key, hit.source or hit.key} & read]
    named = _choose_fresh(asked, thread, _count_reads(thread) + (left := failed - len(readings)), whole=False)
    most = _count_reads(thread, narrow=whole and not fruitless) + left
    wanted = (*named, *(others if failed or fruitless else ()))
    return _choose_fresh(wanted, thread, max(len(named), most), whole=False)


def _list_fresh(hits: Sequence[Hit], thread: ThreadState) -> list[Hit]:
    read = thread.read_passages
    tried = {reading.hit.key for done in thread.rounds for reading in done.readings}
    return [hit for hit in hits if hit.key not in tried and (hit.passage is None or hit.passage not in read)]


def _choose_fresh(hits: Sequence[Hit], thread: ThreadState, most: int, *, whole: bool) -> tuple[Hit, ...]:
    chosen: dict[str, Hit] = {}
    for hit in _list_fresh(hits, thread):
        chosen.setdefault(hit.source or hit.key if whole and hit.provider != ASKED_PROVIDER else hit.key, hit)
    return tuple(chosen.values())[: max(0, most)]


def _count_reads(thread: ThreadState, *, narrow: bool = False) -> int:
    """Count what the next round may read; a later one that is `narrow` what is open calls for, if none are counted."""
    left, most = count_reads_left(thread), thread.course.reads_per_round
    if narrow and thread.rounds and not thread.course.whole_documents:
        most = min(most, READS_A_GAP * max(1, len({gap.target or gap.text for gap in thread.gaps})))
    return most if left is None else min(most, left)


def list_unread_sources(thread: ThreadState, limit: int) -> tuple[tuple[str, str], ...]:
    """List addresses and titles that were found, or named by a source, and not opened yet, the latest first."""
    readings = [reading for done in (*thread.earlier, *thread.rounds) for reading in done.readings]
    opened = {name for reading in readings for name in (reading.hit.url, reading.source or "")}
    shown = (*thread.facts, *thread.recalled)  # others have opened what a fact is of
    opened |= {name for fact in shown for name in (fact.url, str(fact.source))}
    hits = [hit for done in reversed(thread.rounds) for hit in fuse_hits(done.hits)]
    found = {hit.url: hit.title for hit in hits if hit.source not in opened}
    named = [link.reference for done in thread.rounds for reading in done.readings for link in reading.linked]
    found |= {url: url for url in named if _ADDRESS.match(url) and url not in found}
    return tuple((url, title) for url, title in found.items() if url not in opened)[:limit]


def _list_proposed_hits(hits: Sequence[Hit], thread: ThreadState) -> tuple[Hit, ...]:
    url = thread.last_proposal.url if thread.last_proposal is not None else ""
    known = (hit for hit in (*hits, *(hit for done in thread.rounds for hit in done.hits)) if hit.url == url)
    return (next(known, None) or _make_given_hit(url, thread.objective),) if url else ()


def count_reads_left(thread: ThreadState) -> int | None:
    """Count the sources that the budgets of its specs still pay for; None if one of them has no such budget."""
    allowed = sum_budgets([spec.sources for spec in thread.specs])
    read = sum(r.outcome is ReadOutcome.READ and not r.again for done in thread.rounds for r in done.readings)
    return None if allowed is None else max(0, int(allowed) - read)


def list_given_hits(thread: ThreadState) -> tuple[Hit, ...]:
    """Return the sources that a plan, person or scout gave to a thread, but whole sites: these are crawled."""
    return tuple(_make_given_hit(each, thread.objective) for each in thread.sources if not each.endswith(SITE_SUFFIX))


def list_given_sites(thread: ThreadState) -> tuple[str, ...]:
    """Return the start addresses of whole sites among a thread's sources: "https://a.example/guide/*"."""
    return tuple(dict.fromkeys(each.removesuffix("*") for each in thread.sources if each.endswith(SITE_SUFFIX)))


def fuse_hits(hits: Sequence[Hit], *, equal: bool = False) -> tuple[Hit, ...]:
    """Merge the ranked lists of a round's queries by reciprocal rank (Cormack et al. 2009).

    The first query of a round states its whole intent and counts in full, the others are parts of it; if they are
    `equal`, as a model words them, each gives its best documents in its turn, first from another provider each time.
    """
    if equal:
        lanes, found = dict[str, dict[str, dict[str, None]]](), dict[str, Hit]()  # by query and provider
        for hit in hits:
            name = hit.source or hit.key
            lanes.setdefault(hit.query, {}).setdefault(hit.provider, {})[name] = None
            found.setdefault(name, hit)
        turns = [[*map(list, each.values())] for each in lanes.values()]
        firsts = (each[at % len(each) :] + each[: at % len(each)] for at, each in enumerate(turns))
        return tuple(found[name] for name in interleave(map(interleave, firsts)))
    ranks = Counter[tuple[str, str]]()
    scores, first = dict[tuple[str, str | None], float](), dict[tuple[str, str | None], Hit]()
    for hit, rated in zip(hits, score_by_query(hits), strict=True):
        ranks[hit.query, hit.provider] += 1
        name = (hit.url, hit.passage)
        weight = 0.0 if rated.score < _NOTHING else 1.0 if hit.query == hits[0].query else PART_QUERY_WEIGHT
        scores[name] = scores.get(name, 0.0) + weight / (RRF_K + ranks[hit.query, hit.provider])
        first.setdefault(name, hit)
    order = {name: place for place, name in enumerate(first)}
    return tuple(first[name] for name in sorted(first, key=lambda name: (-round(scores[name], 9), order[name])))


def score_by_query(hits: Sequence[Hit]) -> list[Hit]:
    """Express the scores of hits relative to the best of their query; without scores the order counts: 1, 1/2 ..."""
    best: dict[tuple[str, str], float] = {}
    for hit in hits:
        best[hit.query, hit.provider] = max(hit.score, best.get((hit.query, hit.provider), 0.0))
    tops = [best[hit.query, hit.provider] for hit in hits]
    rated = (hit.score / top if top > 0 else 1 / at for at, (hit, top) in enumerate(zip(hits, tops, strict=True), 1))
    return [replace(hit, score=score) for hit, score in zip(hits, rated, strict=True)]


def _make_given_hit(reference: str, objective: str) -> Hit:
    """Make a hit for a stored source or page named by the plan or a scout, read for the thread's objective."""
    source = SourceId(reference) if _SOURCE_ID.fullmatch(reference) else None
    return Hit(reference, reference, provider=GIVEN_PROVIDER, query=objective, source=source)


def cluster_copies(texts: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """Number the groups of near-copies among short texts, each with its host: equal numbers mark copies of each other.

    Words in most results of one host are its menu, and make no two of its pages alike.
    """
    found = [(frozenset(stem_text(text)), host) for text, host in texts]
    hosts = {host for _, host in found}
    menus = {host: _find_menu([terms for terms, own in found if own == host]) for host in hosts}
    groups, numbers = list[tuple[frozenset[str], str]](), list[int]()

    def is_copy(terms: frozenset[str], host: str, known: tuple[frozenset[str], str]) -> bool:
        menu = menus[host] if host == known[1] else frozenset[str]()
        alike = (jaccard_similarity(one, other) for one, other in ((terms, known[0]), (terms - menu, known[0] - menu)))
        return terms == known[0] or all(share >= COPY_SHARE for share in alike)

    for terms, host in found:
        number = next((n for n, known in enumerate(groups) if is_copy(terms, host, known)), len(groups))
        if number == len(groups):
            groups.append((terms, host))
        numbers.append(number)
    return tuple(numbers)


def _find_menu(pages: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the words in more than half of the pages of one host; of a single page nothing tells its menu."""
    counts = Counter(term for terms in pages for term in terms)
    return frozenset(term for term, count in counts.items() if 1 < len(pages) < 2 * count)


READ_CHARS, CALL_CHARS = 20_000, 40_000  # of one document in a call, about 5,000 tokens, and of all that share it
SECTION_CHARS, NEAR_CHARS = 6_000, 3_000  # of a section around what was found, and around what holds much of a query
NEAR_PASSAGES = 4  # of one query
SHORT_CHARS = 8_000  # of a document that is read as a whole, whatever is looked for
REST_CHARS = 1_000  # that a document is read to its end for: later they would cost a call of their own
ALONE_CHARS = 12_000  # and of a page that several lines of research would open in different places
_OPENED = 3  # passages at which a document is opened if no search found any of it
NAMED_SHARE = 0.6  # of its name's words that a heading or title shares with what was named
MIN_COVERAGE = 0.5  # of what a query asks for that a passage must hold to be read beside what was found
_SNIPPET_WEIGHT = 0.3  # the snippet shows where the provider found something; the query says what is looked for
_SATURATION = 1.2  # BM25's k1


def score_passages(passages: Sequence[Passage], query: str, snippet: str = "") -> list[float]:
    """Score the passages of one document by the words, rare in it, that they share with query and snippet."""
    wanted = dict.fromkeys(stem_text(snippet), _SNIPPET_WEIGHT) | dict.fromkeys(stem_text(query), 1.0)
    return _cover_words(passages, [wanted])[0]


def measure_coverage(passages: Sequence[Passage], queries: Sequence[str]) -> list[float]:
    """Return for each passage of a document how much it holds of what one of the queries asks for, at best."""
    covered = zip(*_cover_queries(passages, queries), strict=True)
    return [max(shares, default=0.0) for shares in covered] or [0.0 for _ in passages]


def _cover_queries(passages: Sequence[Passage], queries: Sequence[str], *, once: bool = False) -> list[list[float]]:
    """Return for each query how much of what it asks for each passage of a document holds."""
    return _cover_words(passages, [dict.fromkeys(stem_text(query), 1.0) for query in queries], once=once)


def _cover_words(
    passages: Sequence[Passage], asked: Sequence[Mapping[str, float]], *, once: bool = False
) -> list[list[float]]:
    """Return for each set of words, with their weights, how much of it each passage of a document holds.

    1 is each of its words once, weighted by how rare it is in the document; one that it lacks, which it may word in
    another way, counts as if it stood in one passage. A word that is repeated counts more, unless each counts `once`.
    """
    every = set[str]().union(*asked)
    texts = count_stems([f"{passage.heading} {passage.text}" for passage in passages], every)
    spread = Counter(word for text in texts for word in text)
    held = {word: max(1, spread[word]) + 0.5 for word in every}
    rarity = {word: math.log(1 + max(0.5, len(texts) + 1 - held[word]) / held[word]) for word in every}
    covered: list[list[float]] = []
    for words in asked:
        whole, more = sum(own * rarity[w] for w, own in words.items()), 0.0 if once else _SATURATION
        shares = {w: (1 + more) * own * rarity[w] / whole for w, own in words.items() if whole}
        covered.append([sum(n * text[w] / (text[w] + more) for w, n in shares.items() if text[w]) for text in texts])
    return covered


def interleave(lanes: Iterable[Sequence[_Item]]) -> list[_Item]:
    """Return in turn the next of each lane that none has given yet, each item once."""
    left, given = [iter(lane) for lane in lanes], dict[_Item, None]()
    while left:
        for lane in [*left]:
            if item := next(([each] for each in lane if each not in given), None):
                given[item[0]] = None
            else:
                left.remove(lane)
    return [*given]


def select_sections(
    passages: Sequence[Passage],
    found: Sequence[PassageId],
    queries: Sequence[str],
    *,
    most: int = READ_CHARS,
    alone: bool = False,
) -> tuple[Passage, ...]:
    """Return the passages of one document to be read in one call, in reading order: at most `most` characters.

    A short document is read as a whole, and a longer one that is read `alone`, in a call of its own, for several lines
    of research. Of others: the sections of what a search found, the first ones first (of a page, where no search says
    it, of what holds most of a query), and in turn with them those that hold much of what one of the queries asks for,
    each query in its turn, all their passages before what stands around them. A short rest is read with all before it.
    """
    if sum(len(passage.text) for passage in passages) <= min(ALONE_CHARS if alone else SHORT_CHARS, most):
        return tuple(passages)
    covered, held = (_cover_queries(passages, queries, once=once) for once in (False, True))
    lanes = [sorted(range(len(passages)), key=lambda at, shares=shares: (-shares[at], at)) for shares in covered]
    pairs = zip(lanes, held, strict=True)
    near = [[at for at in lane[:NEAR_PASSAGES] if shares[at] >= MIN_COVERAGE] for lane, shares in pairs]
    places = {passage.id: at for at, passage in enumerate(passages)}
    own = [each for each in found if each in places]
    opened = [places[each] for each in own or find_best_passages(passages, queries)]
    chosen, around = set[int](), set[int]()
    wanted = interleave((opened, interleave(near)))
    for at in wanted:  # all of them come before what stands around the first ones
        if (size := len(passages[at].text)) <= most:
            chosen.add(at)
            most -= size
    for at in wanted:
        if at not in around:
            section = _find_section(at, passages, min(most, SECTION_CHARS if at in opened else NEAR_CHARS))
            most -= sum(len(passages[place].text) for place in section - chosen)
            chosen, around = chosen | section, around | section
    # what stands between two that are read is read with them: later it would cost a call of its own
    chosen |= {at for at in range(len(passages)) if {at - 1, at + 1} <= chosen and len(passages[at].text) <= most}
    rest = sum(len(passage.text) for at, passage in enumerate(passages) if at not in chosen)
    return tuple(passages[at] for at in range(len(passages)) if at in chosen or rest <= REST_CHARS)


def select_unread(passages: Sequence[Passage], read: Container[str], gaps: Sequence[str]) -> tuple[Passage, ...]:
    """Return what stands around the unread passages of a document that hold much of a gap; () if none does."""
    fresh = [at for at, passage in enumerate(passages) if passage.id not in read]
    best = [(max(fresh, key=shares.__getitem__), shares) for shares in _cover_queries(passages, gaps) if fresh]
    places = dict.fromkeys(passages[at].id for at, shares in best if shares[at] >= MIN_COVERAGE)
    sections = (select_sections(passages, (place,), (), most=SECTION_CHARS // len(places)) for place in places)
    chosen = {each.id for section in sections for each in section if each.id not in read}
    return tuple(each for each in passages if each.id in chosen)


def drop_subjects(queries: Iterable[str], subjects: Iterable[Subject], title: str) -> tuple[str, ...]:
    """Return what queries ask of a document whose title names a subject: without the names of all of them.

    They say which document is wanted, not which part of it: "What do A and B cost?" asks a document on B, which may
    never speak of A, for what it says of costs.
    """
    names = [re.escape(name) for each in subjects for name in (each.name, *each.aliases) if name]
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(names, key=len, reverse=True))})\b", re.IGNORECASE)
    if not names or not pattern.search(title):
        return tuple(queries)
    return tuple(left if stem_text(left := " ".join(pattern.sub(" ", each).split())) else each for each in queries)


def find_best_passages(passages: Sequence[Passage], queries: Sequence[str]) -> tuple[PassageId, ...]:
    """Return the passages at which a document is opened if no search found any of it: those that hold most of a query.

    A large page may hold the words of a query in a section that is about something else.
    """
    best = measure_coverage(passages, queries)
    order = sorted(range(len(passages)), key=lambda at: (-best[at], at))
    return tuple(passages[at].id for at in order[:_OPENED] if best[at] or at == order[0])


def _find_section(at: int, passages: Sequence[Passage], most: int) -> set[int]:
    """Return the places of a passage, its neighbours and its section, nearest first, in at most so many characters."""
    below = above = at
    while below and passages[below - 1].heading == passages[at].heading:
        below -= 1
    while above + 1 < len(passages) and passages[above + 1].heading == passages[at].heading:
        above += 1
    places = range(max(0, min(below, at - 1)), min(len(passages), max(above, at + 1) + 1))
    taken: set[int] = set()
    for place in sorted(places, key=lambda place: (abs(place - at), place)):
        most -= len(passages[place].text)
        if most < 0:
            break
        taken.add(place)
    return taken


def list_other_sections(
    passages: Sequence[Passage], read: Container[PassageId], most: int, queries: Sequence[str] = ()
) -> tuple[Passage, ...]:
    """Return the first passage of each section, or of each part of one, that was not read, in reading order.

    Who asks for a long section is given its beginning only: each further part has a line of its own. Of more than
    `most`, those that hold most of what one of the queries asks for.
    """
    sections = [tuple(run) for _, run in groupby(passages, key=lambda each: (each.heading, each.id in read))]
    unread = [part for section in sections if section[0].id not in read for part in _split_section(section)]
    if len(unread) > most:
        shares = dict(zip((each.id for each in passages), measure_coverage(passages, queries), strict=True))
        best = sorted(unread, key=lambda section: -max(shares[each.id] for each in section))[:most]
        unread = [section for section in unread if section in best]
    return tuple(section[0] for section in unread)


def _split_section(section: Sequence[Passage]) -> list[list[Passage]]:
    """Split a section into what `read_section` returns of it from its beginning, and from each later part on."""
    ends = zip(accumulate(len(each.text) for each in section), section, strict=True)
    parts = groupby(ends, key=lambda pair: -(-max(0, pair[0] - READ_CHARS) // SECTION_CHARS))
    return [[each for _, each in part] for _, part in parts]


def find_section(passages: Sequence[Passage], name: str) -> PassageId | None:
    """Return the passage at which the section or chapter of this name begins, None if no heading is called so."""
    rated = ((measure_name(name, *passage.heading.split(" > ")), passage.id) for passage in passages)
    share, found = max(rated, key=lambda each: each[0], default=(0.0, None))
    return found if share >= NAMED_SHARE else None


def read_section(passages: Sequence[Passage], first: PassageId) -> tuple[Passage, ...]:
    """Return a section with what is below it, from one of its passages on; from a later one only what is near."""
    at = next((at for at, passage in enumerate(passages) if passage.id == first), len(passages))
    inside, chosen = 0 < at < len(passages) and passages[at - 1].heading == passages[at].heading, list[Passage]()
    most = SECTION_CHARS if inside else READ_CHARS
    for passage in passages[at:]:
        most -= len(passage.text)
        if chosen and (most < 0 or not f"{passage.heading} > ".startswith(f"{chosen[0].heading} > ")):
            break
        chosen.append(passage)
    return tuple(chosen)
