"""Selection: which hits of a round are worth reading, and which candidates are copies of one another.

Knows hits, what was read, and how much a round may read. Does not read and does not judge content.

Sufficiency: whether what was read can answer at all, or must be refused with "no sufficient evidence".

Knows the anchors of a question (names, titles, outlets, identifiers, quoted strings) and its topic words, and looks
for them in the evidence. Does not know whether the evidence is true, nor any data set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.evidence import Fact, FactId, Hit, SourceId
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.thread import ThreadState
from corrobora.text.markup import strip_markup
from corrobora.text.mentions import (
    Mention,
    MentionKind,
    find_mentions,
    is_calendar_name,
    mentions_name,
    strip_to_alphanumeric,
)
from corrobora.text.questions import (
    find_attributions,
    find_compared_sides,
    find_spellings,
    find_topic_stems,
    is_meaningful_name,
    weigh_terms,
)
from corrobora.text.ranking import split_clauses
from corrobora.text.tokens import STOP_WORDS, fold_text, stem_text
from corrobora.text.vocabulary import find_expansions

FUSION_K = 10
PART_QUERY_WEIGHT = 0.7
COPY_SHARE = 0.8  # share of common terms from which two texts are taken for copies
GIVEN_PROVIDER = "given"  # the provider of a result that nobody searched for: somebody named it
SITE_SUFFIX = "/*"  # the end of a reference that names a whole site, not one page
_SOURCE_ID = re.compile(r"S\d{1,9}")


def select_hits(hits: Sequence[Hit], thread: ThreadState) -> tuple[Hit, ...]:
    """Choose what to read: given sources first, then the best of all queries together; nothing tried before.

    At most `course.reads_per_round` hits (TRIPLET-21). A page is chosen
    once; a passage of a library counts as read if it was read with a neighbour.
    """
    read = thread.read_passages
    tried = {_make_hit_key(reading.hit) for done in thread.rounds for reading in done.readings}
    chosen: dict[str, Hit] = {}
    for hit in (
        *list_given_hits(thread),
        *(each for each in hits if each.provider == GIVEN_PROVIDER),
        *fuse_hits(hits),
    ):
        name = _make_hit_key(hit)
        if name in tried or name in chosen or (hit.passage is not None and hit.passage in read):
            continue
        chosen[name] = hit
        if len(chosen) >= thread.course.reads_per_round:
            break
    return tuple(chosen.values())


def _make_hit_key(hit: Hit) -> str:
    return f"{hit.url}#{hit.passage}" if hit.passage else hit.url


def list_given_hits(thread: ThreadState) -> tuple[Hit, ...]:
    """The sources that a plan, a person or a scout gave to a thread, as results that come before all others.

    Whole sites are none: they are crawled and searched.
    """
    return tuple(_make_given_hit(each, thread.objective) for each in thread.sources if not each.endswith(SITE_SUFFIX))


def list_given_sites(thread: ThreadState) -> tuple[str, ...]:
    """The whole sites among the sources of a thread, by the address where a crawl begins.

    Example:
        A source "https://docs.example/guide/*" is the site that begins at "https://docs.example/guide/".
    """
    return tuple(dict.fromkeys(each.removesuffix("*") for each in thread.sources if each.endswith(SITE_SUFFIX)))


def fuse_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Merge the lists of a round's queries by reciprocal rank: what several queries find comes first.

    The first query of a round states its intent whole and counts full, the others are parts of it. A page that only
    one query finds keeps its rank there (reciprocal rank fusion, Cormack et al. 2009, with k = 10 as in the library).
    """
    lanes: dict[tuple[str, str], int] = {}
    scores: dict[tuple[str, str | None], float] = {}
    first: dict[tuple[str, str | None], Hit] = {}
    for hit in hits:
        rank = lanes[hit.query, hit.provider] = lanes.get((hit.query, hit.provider), 0) + 1
        name = (hit.url, hit.passage)
        weight = 1.0 if hit.query == hits[0].query else PART_QUERY_WEIGHT
        scores[name] = scores.get(name, 0.0) + weight / (FUSION_K + rank)
        first.setdefault(name, hit)
    order = {name: place for place, name in enumerate(first)}
    return tuple(first[name] for name in sorted(first, key=lambda name: (-round(scores[name], 9), order[name])))


def _make_given_hit(reference: str, objective: str) -> Hit:
    """A source named by the plan or by a scout: a stored source, or a page; it is read for the thread's objective."""
    source = SourceId(reference) if _SOURCE_ID.fullmatch(reference) else None
    return Hit(reference, reference, provider=GIVEN_PROVIDER, query=objective, source=source)


def cluster_copies(texts: Sequence[str]) -> tuple[int, ...]:
    """Number the groups of near-copies among short texts: equal numbers are copies of one another."""
    groups: list[frozenset[str]] = []
    numbers: list[int] = []
    for text in texts:
        terms = frozenset(stem_text(text))
        number = next((n for n, known in enumerate(groups) if _term_share(terms, known) >= COPY_SHARE), len(groups))
        if number == len(groups):
            groups.append(terms)
        numbers.append(number)
    return tuple(numbers)


def _term_share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


ANCHOR_SHARE = 0.35  # of the anchors' weight must stand in the evidence: quotes say less than the pages they are from
TOPIC_SHARE = 0.25  # of the topic words beside the names must stand there too
_RICH, _SPOKEN = 5, 2  # words of a topic that is more than a name, and how many of them must be spoken of
TOPIC_ALONE = 0.4  # of the topic words, where it names nothing
# Words of the topic that one statement holds together. Three rarely meet by chance: over chats, news and encyclopedia,
# two would refuse fewer questions that have an answer, and answer more that have none. A question of one clause with
# eight or more asks for one statement, which must hold three.
_TOGETHER, _TOGETHER_SHARE, _ONE_STATEMENT = 3, 0.3, 8


@dataclass(frozen=True, slots=True)
class SufficiencyVerdict:
    """`enough` is True if the evidence holds what the question is about; `missing` names what it lacks."""

    enough: bool
    missing: tuple[str, ...] = ()
    share: float = 1.0


def find_required_names(question: str) -> tuple[str, ...]:
    """Return what the evidence must hold: names, acronyms, identifiers and quoted titles, each once."""
    found: list[Mention] = []
    for mention in find_mentions(question):
        if is_calendar_name(mention.text) or not is_meaningful_name(mention.text, question):
            continue
        if mention.kind is MentionKind.QUOTED and not (mention.text[0].isupper() and len(mention.text.split()) <= 8):  # noqa: PLR2004 - a title
            continue
        found.append(mention)
    whole = [m for m in found if m.kind is MentionKind.QUOTED]
    kept = [
        m.text
        for m in found
        if m.kind is MentionKind.QUOTED or not any(q.start <= m.start and m.end <= q.end for q in whole)
    ]
    distinct: dict[str, str] = {}
    for text in kept:
        distinct.setdefault(strip_to_alphanumeric(text), text)
    return tuple(distinct.values())


def check_sufficiency(question: str, sub_questions: Sequence[str], texts: Sequence[str]) -> SufficiencyVerdict:
    """Say whether `texts` (quotes with their titles, outlets, versions) can answer `question`.

    A good share of what the question names must stand somewhere in the evidence; a question that names
    nothing needs a share of its topic words. No texts at all are never enough.
    """
    if not texts:
        return SufficiencyVerdict(
            enough=False, missing=find_required_names(question) or find_topic_stems(question), share=0.0
        )
    full = find_expansions("\n".join(texts), " ".join((question, *sub_questions)))
    joined = "\n".join((*texts, *(pair.other for pair in full)))
    held = frozenset(stem_text(joined))
    small, folded = strip_to_alphanumeric(joined), fold_text(joined)
    wanted = find_required_names(
        " ".join((question, *sub_questions)) if not find_required_names(question) else question
    )
    missing = tuple(name for name in wanted if not _is_mentioned(name, held, small, folded))
    topic = find_topic_stems(question)
    if wanted:
        named = frozenset(term for name in wanted for term in stem_text(name))
        topic = tuple(term for term in topic if term not in named)
    spoken = sum(1 for term in topic if term in held) / len(topic) if topic else 1.0
    if not wanted:
        return SufficiencyVerdict(spoken >= TOPIC_ALONE, find_spellings(question, frozenset(topic) - held), spoken)
    said_by = frozenset(find_attributions(question))  # an outlet need not stand in what it printed
    about = [name for name in wanted if name not in said_by]
    share = 1.0 - sum(name in about for name in missing) / len(about) if about else 1.0
    unsaid = find_spellings(question, frozenset(topic) - held) if spoken < TOPIC_SHARE else ()
    return SufficiencyVerdict(share >= ANCHOR_SHARE and spoken >= TOPIC_SHARE, (*missing, *unsaid), share)


def evidence_texts(facts: Sequence[Fact]) -> list[str]:
    """Return what stands behind facts as text: quote, title, heading, version, date and address of each."""
    return [
        " ".join((strip_markup(f.quote), f.title, f.heading, f.version, f.published, f.url.replace("/", " ")))
        for f in facts
    ]


def find_on_topic_facts(question: str, facts: Sequence[Fact]) -> tuple[FactId, ...]:
    """Return the facts that hold three topic words of a question, and three tenths of them, whatever they name.

    What is asked of "X, as the Y article says" often stands in a passage that names neither.
    """
    topic = weigh_terms(question).topic
    least = max(_TOGETHER, _TOGETHER_SHARE * len(topic))
    return tuple(fact.id for fact in facts if _count_held(topic, evidence_texts((fact,))) >= least)


def _count_held(topic: frozenset[str], texts: Sequence[str]) -> int:
    return max((len(topic & frozenset(stem_text(text))) for text in texts), default=0)


def explain_refusal(question: str, sub_questions: Sequence[SubQuestion], facts: Sequence[Fact]) -> str:
    """Say why the facts of a run answer nothing of its question, or return "" where they answer a part of it.

    Meant for quotes that no reader has judged: a run in which no sub-question is answered, or whose evidence does
    not speak of what was asked, is no report. One unverified source answers in part.
    """
    if not sub_questions or not facts:
        return ""
    answering = [fact for fact in facts if fact.answers]
    texts = evidence_texts(answering)
    verdict = check_sufficiency(question, [each.text for each in sub_questions], texts)
    answered = any(each.standing in (SubQuestionStatus.ANSWERED, SubQuestionStatus.PARTIAL) for each in sub_questions)
    if answered and not _is_off_topic(question, texts, evidence_texts(facts)):
        return ""
    lacking = f": no statement that was read uses {_join_quoted(verdict.missing[:6])}" if verdict.missing else ""
    return f"{len(facts)} statements were read and none answers the question{lacking}"


def _join_quoted(missing: Sequence[str]) -> str:
    return " or ".join(f"“{word}”" for word in missing)


def _is_off_topic(question: str, answering: Sequence[str], every: Sequence[str]) -> bool:
    """True if a rich topic finds one word of it at most in what answers, and less than half in all that was read.

    True as well if a question of one clause has so many topic words that one statement must answer it, and none holds
    three of them. What is asked of a document or of two sides is often said in other words there: such questions are
    never judged.
    """
    if find_attributions(question) or find_compared_sides(question):
        return False
    whole = weigh_terms(question).topic
    if len(whole) >= _ONE_STATEMENT and len(split_clauses(question)) == 1 and _count_held(whole, answering) < _TOGETHER:
        return True
    named = frozenset(term for name in find_required_names(question) for term in stem_text(name))
    topic = frozenset(find_topic_stems(question)) - named
    answered, read = (len(topic & frozenset(stem_text("\n".join(texts)))) for texts in (answering, every))
    return len(topic) >= _RICH and answered < _SPOKEN and 2 * read < len(topic)


def _is_mentioned(name: str, held: frozenset[str], small: str, folded: str) -> bool:
    if mentions_name(held, small, name):
        return True
    parts = [part for part in fold_text(name).replace("-", " ").split() if part not in STOP_WORDS and part.isalnum()]
    initials = "".join(part[0] for part in parts)
    return len(initials) > 2 and f"{initials}." in folded  # noqa: PLR2004 - "smh.com.au"
