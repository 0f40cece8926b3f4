"""Clarify without a model: split a question into the questions it contains, or refuse it with reasons.

Knows clauses, question words, conjunctions, lists, names and years of a question by their form. Does not know its
field: it refuses by size and shape only, and says so.
"""

from __future__ import annotations

import re
from dataclasses import replace

from corrobora.analysts.extractive.decompose import split_question
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Focus, Subject, SubQuestion
from corrobora.policies.intake import is_small_talk
from corrobora.roles.clarify import Asking, Scoping
from corrobora.text.questions import find_compared_sides, find_subjects, find_topic_stems
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text, stem_text

_BOUNDLESS = re.compile(  # as what is asked for, not as part of a question: "Does it say anything about masts?"
    r"(?i)(?:^|\b(?:me|us|know|learn|explain|write|research|summari[sz]e|what (?:is|was|are)))\s*(?:about |a |the )?"
    r"(?:(?:everything|anything|all)\s+(?:about|on|there is|known)\b|(?:all|every) aspects?\b"
    r"|all of (?:history|science)\b|history of (?:the world|everything|mankind|humanity)\b)"
)
_EXTENT = re.compile(
    r"(?i)\b(?:please|tell|give|show|explain|write|know|want|like|me|us|everything|anything|all|whole|entire|complete|full|"
    r"there is|that is|known|aspects|history|world|mankind|humanity|about|on)\b"
)
_TOPIC_WORDS = 6
_POINTS_BACK = re.compile(
    r"(?i)\b(?:that|this|it|its|they|their|them|those|these|he|she|his|her|same|both|draft|change)\b"
)
_COMPLEX_PARTS, _MODERATE_PARTS = 4, 2
_COMPLEX_WORDS, _MODERATE_WORDS = 45, 18


def clarify_question(given: Asking) -> Scoping:
    """Split, narrow or refuse a question (TREE-2). What the brief already contains is kept."""
    brief = given.brief
    question = _merge_dialogue(given)
    hint = estimate_complexity(question)
    refused = _refuse_question(given, question, hint)
    if refused is not None:
        return refused
    if brief.sub_questions:
        whole = _complete_brief(brief, question, brief.sub_questions)
        return Scoping(feasible=True, queries=(whole,), complexity_hint=hint)
    briefs: list[Brief] = []
    number = 1
    for group in _group_sentences(question):
        texts = split_question(group, limit=given.max_sub_questions)
        asked = tuple(SubQuestion(f"sq-{at}", text) for at, text in enumerate(texts, start=number))
        briefs.append(_complete_brief(brief, group, asked))
        number += len(asked)
    return Scoping(feasible=True, queries=tuple(briefs), complexity_hint=hint)


def _merge_dialogue(given: Asking) -> str:
    """Merge the user's turns into the question: a new question replaces it, anything else refines it.

    So no plea makes a boundless question feasible: it remains part of what is judged (TREE-3). A question that was
    agreed on is not changed by small talk.
    """
    question = given.brief.question.strip()
    turns = [turn.removeprefix("user: ").strip() for turn in given.dialogue if turn.startswith("user: ")]
    since = max((at for at, said in enumerate(turns, 1) if said == question), default=0)
    for said in turns[since:]:
        if (said.endswith("?") and stem_text(said)) or is_small_talk(question):
            question = said
        elif (stem_text(said) and not is_small_talk(said)) or _refuse_question(given, question, "") is not None:
            question = f"{question} {said}"
    return question


def estimate_complexity(question: str) -> str:
    """Return simple, moderate or complex from the number of words, parts and conjunctions (ANGLES-4)."""
    count, several = len(question.split()), len(split_question(question, limit=20))
    if several >= _COMPLEX_PARTS or count > _COMPLEX_WORDS:
        return "complex"
    moderate = several >= _MODERATE_PARTS or count > _MODERATE_WORDS or find_compared_sides(question)
    return "moderate" if moderate else "simple"


def _refuse_question(given: Asking, question: str, hint: str) -> Scoping | None:
    reasons: list[str] = []
    narrower: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    if not stem_text(question) or is_small_talk(question):
        reasons.append("The question names nothing that could be looked up: it has no word that carries meaning.")
        back = ("What person, thing, document or event is the question about?",)
    elif _BOUNDLESS.search(question):
        first = given.brief.question if _BOUNDLESS.search(given.brief.question) else question
        topic = _topic_phrase(first)
        reasons.append(
            "The question sets no limit to what would answer it, so no plan of at most three levels covers it."
        )
        asked = ("What is meant by", "What are the main findings on", "What is disputed about")
        narrower = tuple(f"{start} {topic}?" for start in asked if topic)
        back = ("Which aspect, which time and which place matter most?",)
    else:
        texts = [part.text for part in given.brief.sub_questions] or list(split_question(question, limit=100))
        most = given.max_sub_questions
        if len(texts) > most:
            reasons.append(f"The question holds {len(texts)} parts; one query may hold {most} at most. Split it.")
            narrower = _group_parts(question, texts, most)
    if not reasons:
        return None
    return Scoping(
        feasible=False, queries=(), reasons=tuple(reasons), narrower=narrower, questions=back, complexity_hint=hint
    )


def _group_parts(question: str, texts: list[str], limit: int) -> tuple[str, ...]:
    """Group the parts into narrower questions of at most `limit` parts each."""
    pieces = [question[s.start : s.end] for s in split_sentences(question)]
    groups: list[str] = []
    for piece in pieces if len(pieces) > 1 else texts:
        joined = f"{groups[-1]} {piece}" if groups else piece
        if groups and len(split_question(joined, limit=100)) <= limit:
            groups[-1] = joined
        else:
            groups.append(piece)
    return tuple(groups)


def _topic_phrase(question: str) -> str:
    """Return the first words of a question that name its topic, without "everything about" and the like."""
    wanted = frozenset(find_topic_stems(question))
    run: list[str] = []
    for raw in _EXTENT.sub(" ", question).split():
        word = raw.strip("?.,;:!\"'“”‘’()")
        if word and frozenset(stem_text(word)) & wanted and len(run) < _TOPIC_WORDS:
            run.append(word)
        elif run and not (fold_text(word) in ("of", "and", "the") and len(run) < _TOPIC_WORDS):
            break
        elif run:
            run.append(word)
        if run and raw[-1:] in "?.,;:!":
            break
    while run and not frozenset(stem_text(run[-1])) & wanted:
        run.pop()
    return " ".join(run)


def _group_sentences(question: str) -> list[str]:
    """Group the sentences of a question; one that refers back or shares a topic word joins the one before."""
    asked = [question[s.start : s.end] for s in split_sentences(question)]
    if sum(s.endswith("?") for s in asked) < 2 or any(not s.endswith("?") for s in asked):  # noqa: PLR2004 - one query
        return [question]
    groups: list[str] = []
    for sentence in asked:
        topic = set(find_topic_stems(sentence))
        shares = bool(groups) and bool(topic & set(find_topic_stems(groups[-1])))
        if groups and (shares or _POINTS_BACK.search(sentence) or len(topic) < 2):  # noqa: PLR2004 - an afterthought
            groups[-1] = f"{groups[-1]} {sentence}"
        else:
            groups.append(sentence)
    return groups if len(groups) > 1 else [question]


def _complete_brief(brief: Brief, question: str, asked: tuple[SubQuestion, ...]) -> Brief:
    named = brief.subjects or tuple(Subject(name) for name in _named_subjects(question))
    return replace(
        brief,
        question=question[: LIMITS.question_max_chars],
        sub_questions=asked,
        subjects=named,
        focus=_extract_period(brief.focus, question),
    )


def _named_subjects(question: str) -> tuple[str, ...]:
    """Return the named sides of a comparison first, then every other name."""
    compared = tuple(side for side in find_compared_sides(question) if find_subjects(side))
    covered = " ".join(compared)
    return tuple(dict.fromkeys((*compared, *(name for name in find_subjects(question) if name not in covered))))


_PERIOD = re.compile(
    r"\b(?:in|since|after|before|until|till|between|from|during|as of)(?: the years?| years?)? "
    r"((?:1[5-9]|20)\d\d)(?:\s?(?:and|to|until|till|-|–)\s?((?:1[5-9]|20)\d\d))?\b",
    re.IGNORECASE,
)


def _extract_period(focus: Focus, question: str) -> Focus:
    """Take a period only from words that state one: a year in a title or a name restricts nothing."""
    stated = sorted(int(year) for match in _PERIOD.finditer(question) for year in match.groups() if year)
    if not stated or focus.since is not None or focus.until is not None:
        return focus
    return replace(focus, since=stated[0], until=stated[-1])
