"""Selection: which hits of a round to read, which are copies, and whether the evidence suffices to answer.

Knows hits, what was read, the reads of a round, and the names and topic words of a question. Does not read and does not
know whether the evidence is true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.evidence import Fact, FactId, Hit, SourceId
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.thread import ThreadState
from corrobora.text.mentions import Mention, MentionKind, find_mentions, mentions_name, strip_to_alphanumeric
from corrobora.text.quantities import is_calendar_name
from corrobora.text.questions import (
    find_attributions,
    find_compared_sides,
    find_spellings,
    find_topic_stems,
    is_meaningful_name,
    weigh_terms,
)
from corrobora.text.ranking import RRF_K, jaccard_similarity, split_clauses
from corrobora.text.tokens import STOP_WORDS, fold_text, stem_text
from corrobora.text.vocabulary import find_expansions

PART_QUERY_WEIGHT = 0.7
COPY_SHARE = 0.8  # share of common terms from which two texts count as copies
GIVEN_PROVIDER = "given"  # of a result that was not searched for but named by a plan, person or scout
SITE_SUFFIX = "/*"  # the end of a reference that names a whole site, not one page
_SOURCE_ID = re.compile(r"S\d{1,9}")


def select_hits(hits: Sequence[Hit], thread: ThreadState) -> tuple[Hit, ...]:
    """Choose what to read, at most `course.reads_per_round` hits that were not tried before (TRIPLET-21).

    Given sources come first, then the best of all queries together. A passage of a library also counts as read if it
    was read as a neighbour.
    """
    read = thread.read_passages
    tried = {reading.hit.key for done in thread.rounds for reading in done.readings}
    chosen: dict[str, Hit] = {}
    for hit in (
        *list_given_hits(thread),
        *(each for each in hits if each.provider == GIVEN_PROVIDER),
        *fuse_hits(hits),
    ):
        name = hit.key
        if name in tried or name in chosen or (hit.passage is not None and hit.passage in read):
            continue
        chosen[name] = hit
        if len(chosen) >= thread.course.reads_per_round:
            break
    return tuple(chosen.values())


def list_given_hits(thread: ThreadState) -> tuple[Hit, ...]:
    """Return the sources that a plan, person or scout gave to a thread as hits that precede all others.

    Whole sites are not among them: they are crawled and searched.
    """
    return tuple(_make_given_hit(each, thread.objective) for each in thread.sources if not each.endswith(SITE_SUFFIX))


def list_given_sites(thread: ThreadState) -> tuple[str, ...]:
    """Return the start addresses of whole sites among a thread's sources: "https://a.example/guide/*"."""
    return tuple(dict.fromkeys(each.removesuffix("*") for each in thread.sources if each.endswith(SITE_SUFFIX)))


def fuse_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Merge the ranked lists of a round's queries by reciprocal rank (Cormack et al. 2009).

    The first query of a round states its whole intent and counts in full, the others are parts of it.
    """
    lanes: dict[tuple[str, str], int] = {}
    scores: dict[tuple[str, str | None], float] = {}
    first: dict[tuple[str, str | None], Hit] = {}
    for hit in hits:
        rank = lanes[hit.query, hit.provider] = lanes.get((hit.query, hit.provider), 0) + 1
        name = (hit.url, hit.passage)
        weight = 1.0 if hit.query == hits[0].query else PART_QUERY_WEIGHT
        scores[name] = scores.get(name, 0.0) + weight / (RRF_K + rank)
        first.setdefault(name, hit)
    order = {name: place for place, name in enumerate(first)}
    return tuple(first[name] for name in sorted(first, key=lambda name: (-round(scores[name], 9), order[name])))


def _make_given_hit(reference: str, objective: str) -> Hit:
    """Make a hit for a stored source or page named by the plan or a scout, read for the thread's objective."""
    source = SourceId(reference) if _SOURCE_ID.fullmatch(reference) else None
    return Hit(reference, reference, provider=GIVEN_PROVIDER, query=objective, source=source)


def cluster_copies(texts: Sequence[str]) -> tuple[int, ...]:
    """Number the groups of near-copies among short texts: equal numbers mark copies of each other."""
    groups: list[frozenset[str]] = []
    numbers: list[int] = []
    for text in texts:
        terms = frozenset(stem_text(text))
        number = next(
            (n for n, known in enumerate(groups) if terms == known or jaccard_similarity(terms, known) >= COPY_SHARE),
            len(groups),
        )
        if number == len(groups):
            groups.append(terms)
        numbers.append(number)
    return tuple(numbers)


ANCHOR_SHARE = 0.35  # of the named things must be in the evidence: quotes contain less than their pages
TOPIC_SHARE = 0.25  # of the topic words other than names must be there too
_RICH, _SPOKEN = 5, 2  # topic words of a question that is more than a name, and how many of them must occur
TOPIC_ALONE = 0.4  # of the topic words, if the question names nothing
# Topic words that one statement must contain. Three rarely occur together by chance: on chats, news and encyclopedias,
# two would refuse fewer answerable questions but answer more unanswerable ones. A question of one clause with eight or
# more topic words asks for a single statement, which must contain three of them.
_TOGETHER, _TOGETHER_SHARE, _ONE_STATEMENT = 3, 0.3, 8


@dataclass(frozen=True, slots=True)
class SufficiencyVerdict:
    """Whether the evidence covers what the question is about; `missing` names what it lacks."""

    enough: bool
    missing: tuple[str, ...] = ()
    share: float = 1.0


def find_required_names(question: str) -> tuple[str, ...]:
    """Return the distinct names, acronyms, identifiers and quoted titles that the evidence must contain."""
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
    """Check whether `texts` (quotes with titles, outlets and versions) can answer `question`.

    The evidence must contain enough of the names in the question; a question without names needs a share of its topic
    words. No texts at all never suffice.
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
    said_by = frozenset(find_attributions(question))  # an outlet is rarely named in its own texts
    about = [name for name in wanted if name not in said_by]
    share = 1.0 - sum(name in about for name in missing) / len(about) if about else 1.0
    unsaid = find_spellings(question, frozenset(topic) - held) if spoken < TOPIC_SHARE else ()
    return SufficiencyVerdict(share >= ANCHOR_SHARE and spoken >= TOPIC_SHARE, (*missing, *unsaid), share)


def evidence_texts(facts: Sequence[Fact]) -> list[str]:
    """Return the text behind each fact: quote, title, heading, version, date and address."""
    return [" ".join((f.quote, f.title, f.heading, f.version, f.published, f.url.replace("/", " "))) for f in facts]


def find_on_topic_facts(question: str, facts: Sequence[Fact]) -> tuple[FactId, ...]:
    """Return the facts with at least three topic words and three tenths of the topic, whatever they name.

    The answer to "X, as the Y article says" is often in a passage that names neither.
    """
    topic = weigh_terms(question).topic
    least = max(_TOGETHER, _TOGETHER_SHARE * len(topic))
    return tuple(fact.id for fact in facts if _count_held(topic, evidence_texts((fact,))) >= least)


def _count_held(topic: frozenset[str], texts: Sequence[str]) -> int:
    return max((len(topic & frozenset(stem_text(text))) for text in texts), default=0)


def explain_refusal(question: str, sub_questions: Sequence[SubQuestion], facts: Sequence[Fact]) -> str:
    """Explain why the facts of a run do not answer its question, or return "" if they answer part of it.

    Meant for quotes that no model has judged: there is no report if no sub-question is answered or if the evidence is
    off topic. One unverified source is a partial answer.
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
    """True if the answering texts hold at most one word of a rich topic, and all texts less than half of it.

    Also true if a question of one clause has so many topic words that a single statement must answer it, and none holds
    three of them. Questions about a document or a comparison are exempt: their answers often use other words.
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
