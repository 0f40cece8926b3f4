"""Sufficiency: whether what was read can answer at all, or must be refused with "no sufficient evidence".

Knows the anchors of a question (names, titles, outlets, identifiers, quoted strings) and its topic words, and looks
for them in the evidence. Does not know whether the evidence is true, nor any data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.brief import SubQuestion, SubQuestionStatus
from corrobora.domain.evidence import Fact, FactId
from corrobora.policies.clauses import split_clauses
from corrobora.policies.markup import strip_markup
from corrobora.policies.mentions import (
    Mention,
    MentionKind,
    find_mentions,
    is_calendar_name,
    mentions_name,
    strip_to_alphanumeric,
)
from corrobora.policies.questions import (
    find_attributions,
    find_compared_sides,
    find_spellings,
    find_topic_stems,
    is_meaningful_name,
    weigh_terms,
)
from corrobora.policies.vocabulary import find_expansions
from corrobora.policies.words import STOP_WORDS, fold_text, stem_text

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
