"""Sufficiency: whether what was read can answer at all, or must be refused with "no sufficient evidence".

Knows the anchors of a question (names, titles, outlets, identifiers, quoted strings) and its topic words, and looks
for them in the evidence. Does not know whether the evidence is true, nor any data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.brief import Standing, SubQuestion
from corrobora.domain.evidence import Fact, FactId
from corrobora.policies.clauses import clauses
from corrobora.policies.markup import plain
from corrobora.policies.mentions import Kind, Mention, holds, is_day, mentions, squash
from corrobora.policies.questions import attributions, names_something, sides, spelled, topic_stems, weighed
from corrobora.policies.vocabulary import spelled_out
from corrobora.policies.words import STOP_WORDS, fold, stems

ANCHOR_SHARE = 0.35  # of the anchors' weight must stand in the evidence: quotes say less than the pages they are from
TOPIC_SHARE = 0.25  # of the topic words beside the names must stand there too
_RICH, _SPOKEN = 5, 2  # words of a topic that is more than a name, and how many of them must be spoken of
TOPIC_ALONE = 0.4  # of the topic words, where it names nothing
# Words of the topic that one statement holds together. Three rarely meet by chance: over chats, news and encyclopedia,
# two would refuse fewer questions that have an answer, and answer more that have none. A question of one clause with
# eight or more asks for one statement, which must hold three.
_TOGETHER, _TOGETHER_SHARE, _ONE_STATEMENT = 3, 0.3, 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """`enough` is True if the evidence holds what the question is about; `missing` names what it lacks."""

    enough: bool
    missing: tuple[str, ...] = ()
    share: float = 1.0


def anchors(question: str) -> tuple[str, ...]:
    """Return what the evidence must hold: names, acronyms, identifiers and quoted titles, each once."""
    found: list[Mention] = []
    for mention in mentions(question):
        if is_day(mention.text) or not names_something(mention.text, question):
            continue
        if mention.kind is Kind.QUOTED and not (mention.text[0].isupper() and len(mention.text.split()) <= 8):  # noqa: PLR2004 - a title
            continue
        found.append(mention)
    whole = [m for m in found if m.kind is Kind.QUOTED]
    kept = [
        m.text for m in found if m.kind is Kind.QUOTED or not any(q.start <= m.start and m.end <= q.end for q in whole)
    ]
    distinct: dict[str, str] = {}
    for text in kept:
        distinct.setdefault(squash(text), text)
    return tuple(distinct.values())


def sufficient(question: str, sub_questions: Sequence[str], texts: Sequence[str]) -> Verdict:
    """Say whether `texts` (quotes with their titles, outlets, versions) can answer `question`.

    A good share of what the question names must stand somewhere in the evidence; a question that names
    nothing needs a share of its topic words. No texts at all are never enough.
    """
    if not texts:
        return Verdict(enough=False, missing=anchors(question) or topic_stems(question), share=0.0)
    full = spelled_out("\n".join(texts), " ".join((question, *sub_questions)))
    joined = "\n".join((*texts, *(pair.other for pair in full)))
    held = frozenset(stems(joined))
    small, folded = squash(joined), fold(joined)
    wanted = anchors(" ".join((question, *sub_questions)) if not anchors(question) else question)
    missing = tuple(name for name in wanted if not _stands(name, held, small, folded))
    topic = topic_stems(question)
    if wanted:
        named = frozenset(term for name in wanted for term in stems(name))
        topic = tuple(term for term in topic if term not in named)
    spoken = sum(1 for term in topic if term in held) / len(topic) if topic else 1.0
    if not wanted:
        return Verdict(spoken >= TOPIC_ALONE, spelled(question, frozenset(topic) - held), spoken)
    said_by = frozenset(attributions(question))  # an outlet need not stand in what it printed
    about = [name for name in wanted if name not in said_by]
    share = 1.0 - sum(name in about for name in missing) / len(about) if about else 1.0
    unsaid = spelled(question, frozenset(topic) - held) if spoken < TOPIC_SHARE else ()
    return Verdict(share >= ANCHOR_SHARE and spoken >= TOPIC_SHARE, (*missing, *unsaid), share)


def evidence_texts(facts: Sequence[Fact]) -> list[str]:
    """Return what stands behind facts as text: quote, title, heading, version, date and address of each."""
    return [
        " ".join((plain(f.quote), f.title, f.heading, f.version, f.published, f.url.replace("/", " "))) for f in facts
    ]


def unnamed(question: str, facts: Sequence[Fact]) -> tuple[FactId, ...]:
    """Return the facts that hold three topic words of a question, and three tenths of them, whatever they name.

    What is asked of "X, as the Y article says" often stands in a passage that names neither.
    """
    topic = weighed(question).topic
    least = max(_TOGETHER, _TOGETHER_SHARE * len(topic))
    return tuple(fact.id for fact in facts if _held(topic, evidence_texts((fact,))) >= least)


def _held(topic: frozenset[str], texts: Sequence[str]) -> int:
    return max((len(topic & frozenset(stems(text))) for text in texts), default=0)


def refusal(question: str, sub_questions: Sequence[SubQuestion], facts: Sequence[Fact]) -> str:
    """Say why the facts of a run answer nothing of its question, or return "" where they answer a part of it.

    Meant for quotes that no reader has judged: a run in which no sub-question is answered, or whose evidence does
    not speak of what was asked, is no report. One unverified source answers in part.
    """
    if not sub_questions or not facts:
        return ""
    answering = [fact for fact in facts if fact.answers]
    texts = evidence_texts(answering)
    verdict = sufficient(question, [each.text for each in sub_questions], texts)
    answered = any(each.standing in (Standing.ANSWERED, Standing.PARTIAL) for each in sub_questions)
    if answered and not _off_topic(question, texts, evidence_texts(facts)):
        return ""
    lacking = f": no statement that was read uses {_listed(verdict.missing[:6])}" if verdict.missing else ""
    return f"{len(facts)} statements were read and none answers the question{lacking}"


def _listed(missing: Sequence[str]) -> str:
    return " or ".join(f"“{word}”" for word in missing)


def _off_topic(question: str, answering: Sequence[str], every: Sequence[str]) -> bool:
    """True if a rich topic finds one word of it at most in what answers, and less than half in all that was read.

    True as well if a question of one clause has so many topic words that one statement must answer it, and none holds
    three of them. What is asked of a document or of two sides is often said in other words there: such questions are
    never judged.
    """
    if attributions(question) or sides(question):
        return False
    whole = weighed(question).topic
    if len(whole) >= _ONE_STATEMENT and len(clauses(question)) == 1 and _held(whole, answering) < _TOGETHER:
        return True
    named = frozenset(term for name in anchors(question) for term in stems(name))
    topic = frozenset(topic_stems(question)) - named
    answered, read = (len(topic & frozenset(stems("\n".join(texts)))) for texts in (answering, every))
    return len(topic) >= _RICH and answered < _SPOKEN and 2 * read < len(topic)


def _stands(name: str, held: frozenset[str], small: str, folded: str) -> bool:
    if holds(held, small, name):
        return True
    parts = [part for part in fold(name).replace("-", " ").split() if part not in STOP_WORDS and part.isalnum()]
    initials = "".join(part[0] for part in parts)
    return len(initials) > 2 and f"{initials}." in folded  # noqa: PLR2004 - "smh.com.au"
