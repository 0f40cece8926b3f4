"""Clarify without a model: split a question into the questions it contains, or refuse it with reasons.

Knows sentences, clauses, question words, conjunctions, lists, names and years of a question by their form; each part
is readable alone. Does not know its field: it refuses by size and shape only, and says so.
"""

from __future__ import annotations

import re
from dataclasses import replace

from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Focus, Subject, SubQuestion
from corrobora.policies.intake import count_words, is_small_talk
from corrobora.roles.clarify import Asking, Scoping
from corrobora.text.questions import find_alternatives, find_compared_sides, find_subjects, find_topic_stems, split_case
from corrobora.text.segmentation import QUESTION_MARKS, list_sentences
from corrobora.text.tokens import STOP_WORDS, fold_text, split_words, stem_text

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
        if (said.endswith(QUESTION_MARKS) and stem_text(said)) or is_small_talk(question):
            question = said
        elif (stem_text(said) and not is_small_talk(said)) or _refuse_question(given, question, "") is not None:
            question = f"{question} {said}"
    return question


def estimate_complexity(question: str) -> str:
    """Return simple, moderate or complex from the number of words, parts and conjunctions (ANGLES-4)."""
    count, several = count_words(question), len(split_question(question, limit=20))
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
    pieces = list_sentences(question)
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
    asked = list_sentences(question)
    if sum(s.endswith(QUESTION_MARKS) for s in asked) < 2 or any(not s.endswith(QUESTION_MARKS) for s in asked):  # noqa: PLR2004 - one query
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


_WH = "who|whom|whose|what|which|when|where|why|how"
_MODAL = "can|could|should|will|would|shall|may|might|must"
_AUX = f"is|are|was|were|do|does|did|has|have|had|{_MODAL}"
_PREPOSITION = "in|on|at|by|for|from|to|under|with|of|since|until|through|against|about"
_CLAUSE = re.compile(
    rf"(?i)[,;]?\s+(?:and|but|or)\s+(?=(?:(?:{_PREPOSITION})\s+)?(?:{_WH})\b)"
    rf"|[,;]\s*(?:(?:and|but|or)\s+)?(?=(?:(?:{_PREPOSITION})\s+)?"
    rf"(?:(?:when|where|why|how)|(?:who|whom|whose|what|which|how)\s+(?:\w+\s+){{0,3}}?\w+)\s+(?:{_AUX})\b)"
)
_CONTRAST = re.compile(
    r"(?i)[,;]\s+(?:while|whereas|but|yet)\s+|;\s+(?:and\s+)?|,\s+and\s+(?:then\s+)?(?=(?:do|does|did|is|are|was|were|has|have)\s)"
    rf"|\s+and\s+(?=(?:{_AUX})\s+(?:it|they|there)\s)"
)
_WH_LIST = re.compile(rf"(?i)^((?:{_WH})(?:\s*,\s*(?:{_WH}))*\s*,?\s+(?:and|or)\s+(?:{_WH}))\s+(?=(?:{_AUX})\b)")
_CIRCUMSTANCE_ASKED = re.compile(  # "by whom?", "at what temperature?", "how often?"
    rf"(?i)^(?:(?:{_PREPOSITION})\s+(?:{_WH})(?:\s+\w+){{0,2}}|{_WH}|how\s+\w+)\s*\??$"
)
_QUESTION_CLAUSE = re.compile(
    rf"(?i)^(?:when|where|why|how(?:\s+(?:long|often|far|fast|soon|quickly|early|late|frequently|regularly))?)\s+"
    rf"((?:{_AUX})\s.+)$"
)
_ASKS = re.compile(  # what begins otherwise tells the case that a question is about: "In a script, how do I wait?"
    rf"(?i)(?:(?:and|but|so|{_PREPOSITION})\s+)?(?:{_WH}|(?:{_AUX}|ca|wo)(?:n?['’]t)?)\b"
    r"|(?:please\s+)?(?:compare|explain|describe|list|name|tell|give|show|find|summari[sz]e|state|define|outline)\b"
)
_VERB = re.compile(rf"(?i)\b(?:{_AUX})\b")
_ANAPHOR = re.compile(r"(?i)\b(that|this|it|they|them|those|these|its|their|he|she|his|her)\b")
_ADJECTIVE = tuple("able ible al ic ive ous ful less ed ing ar ary ant ent ern ish".split())
_BASE_VERBS = frozenset(
    "change differ compare evolve vary develop work happen affect influence improve help cause matter relate mean "
    "require need grow fall rise increase decrease perform behave apply look come go become interact contribute begin "
    "start end".split()
)
_LIST_BREAK = (
    STOP_WORDS | frozenset("vs versus via per like using regarding concerning about including".split()) | _BASE_VERBS
)
_WORD = rf"(?!(?:{'|'.join(map(re.escape, sorted(_LIST_BREAK)))})(?:[\s,;?]|$))[^\s,;?]+"
_TOPIC = rf"{_WORD}(?:\s+{_WORD}){{0,5}}"  # more words are a clause
_TOPIC_LIST = (  # compiled with the first question that a model does not split: that takes 12 ms
    r"(?i)\b(?:on|about|regarding|concerning)\s+"
    rf"(?P<items>{_TOPIC}(?:,\s+{_TOPIC})*),?\s+and\s+(?P<last>{_TOPIC})(?=[\s,;?]|$)"
)
_MIN_STEMS_OF_CLAUSE = 3
_DOES = re.compile(  # after "who" a verb stands, after "what" and the like what stands before an article
    rf"(?i)^(?:who|(?:what|which)(?=\s+\w+\s+(?:the|an?|this|its|their)\b))\s+(?:(?:has|have|had|{_MODAL})\s+)?"
    rf"(?!(?:{_AUX})\b)(?:first\s+|\w+ly\s+)?(?-i:[a-z])\w*\s+(?=\S)"
)
_SIDE = r"((?:[^\s,;?\d]+ ){0,4}?[^\s,;?\d]+)"  # no edition or year: two editions are compared as a whole
_CONTRASTED = tuple(
    re.compile(rf"(?i){form}\s*\??\s*\Z")
    for form in (
        rf"\A\s*(?:what (?:is|are) |explain |describe )?(?:the )?differences? between {_SIDE} and {_SIDE}",
        rf"\A\s*(?:how|in what) (?:is|are|does|do) {_SIDE} (?:different|differs?) from {_SIDE}",
        rf"\A\s*how do {_SIDE} and {_SIDE} differ",
    )
)
_CIRCUMSTANCE = re.compile(rf"(?i)(?:when|where|if|before|after|while|since|as)\b(?!\s+(?:{_AUX})\b)")


def split_question(question: str, *, limit: int = 7) -> tuple[str, ...]:
    """Split a question into the questions it contains, each readable alone; at least one, at most `limit`.

    Sentences, clauses ("and under which conditions"), "who and when", contrasts, two things whose difference is asked
    for, and lists of topics each give a part. A part that refers back ("that") is completed with its topic;
    what tells the case asked about stands before each.
    """
    found: list[str] = []
    asks, case = split_case(question.strip())
    for sentence in _join_fragments(list_sentences(asks)):
        for clause in _split_by_clause(sentence):
            pieces = _split_contrasted(clause) or _split_topic_list(clause)
            found += [_add_topic(piece, found[0] if found else "") for piece in pieces]
    if case:
        lead = f"{case[:-1]}." if case.endswith(";") else case
        found = [question.strip() if part == asks else f"{lead} {part}" for part in found]
    distinct: dict[tuple[str, ...], str] = {}
    for part in found:
        if stem_text(part):
            distinct.setdefault(tuple(split_words(part)), part)
    return tuple(distinct.values())[:limit] or (question.strip(),)


def _join_fragments(asked: list[str]) -> list[str]:
    """Join a question of few words without a verb to the one before: "Does it clean files? Pictures?"."""
    joined = asked[:1]
    for sentence in asked[1:]:
        if len(set(stem_text(sentence))) < _MIN_STEMS_OF_CLAUSE and not _ASKS.match(sentence):
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined


def _split_by_clause(sentence: str) -> list[str]:
    several = _WH_LIST.match(sentence)
    if several is not None:
        rest = sentence[several.end() :]
        return [f"{wh[0].upper()}{wh[1:].lower()} {rest}" for wh in re.findall(rf"(?i)\b(?:{_WH})\b", several.group(1))]
    pieces = [piece.strip(" ,;") for piece in _CLAUSE.split(sentence) if piece.strip(" ,;?")]
    if not pieces:
        return [sentence]
    if len(pieces) > 1 and _CIRCUMSTANCE.match(pieces[0]):
        pieces = [f"{pieces[0]}, {pieces[1]}", *pieces[2:]]
    main, rest = pieces[0], pieces[1:]
    asks = _ASKS.match(main) or _CIRCUMSTANCE.match(main)
    if not stem_text(main) or not asks or not (len(stem_text(main)) > 1 or _VERB.search(main)):
        return [sentence]
    first = main if main.endswith(QUESTION_MARKS) or not rest else f"{main}?"
    return [*_split_contrast(first), *(_complete_fragment(piece, main) for piece in rest)]


def _split_contrasted(clause: str) -> list[str]:
    """Ask what each of two things is whose difference is asked for, and nothing else; empty if none is."""
    match = next((found for each in _CONTRASTED if (found := each.match(clause))), None)
    if match is None:
        return []
    one, other = match.groups()
    last, plain = other.split()[-1], one.removeprefix("the ")
    if len(plain.split()) == 1 and len(other.split()) == 2 and last.endswith("s"):  # noqa: PLR2004 - "hard and soft links"
        return [f"What are {plain} {last}?", f"What are {other}?"]
    return [f"What is {one}?", f"What is {other}?"]


def _split_contrast(sentence: str) -> list[str]:
    pieces = [piece.strip(" ,;") for piece in _CONTRAST.split(sentence)]
    if len(pieces) < 2 or any(len(set(stem_text(piece))) < _MIN_STEMS_OF_CLAUSE for piece in pieces):  # noqa: PLR2004 - nothing to split
        return [sentence]
    return [piece if piece.endswith("?") else f"{piece}?" for piece in pieces]


def _complete_fragment(fragment: str, main: str) -> str:
    """Complete a fragment such as "under which conditions?" with what the main clause asks."""
    ending = fragment if fragment.endswith("?") else f"{fragment}?"
    opened = ending[0].upper() + ending[1:]
    if len(set(stem_text(fragment))) >= _MIN_STEMS_OF_CLAUSE or _VERB.search(fragment) or _ANAPHOR.search(fragment):
        return opened  # a clause of its own; what it refers back to is added
    body = main.rstrip("?. ")
    if re.match(rf"(?i)(?:{_AUX})\b", body):
        return f"{opened.rstrip('?')} {body[0].lower()}{body[1:]}?"
    asked = _QUESTION_CLAUSE.match(body)
    if asked is not None and _CIRCUMSTANCE_ASKED.match(fragment):  # "When was it built, and by whom?"
        return f"{opened.rstrip('? ')} {asked.group(1)}?"
    return f"{opened} ({body})"


def _add_topic(part: str, first: str) -> str:
    """Add the topic of the first part to a part that refers back to it."""
    if not first or _ANAPHOR.search(part) is None:
        return part
    topic = _drop_question_words(first)
    if not topic or set(stem_text(topic)) <= {*find_topic_stems(part), *stem_text(part)}:
        return part
    return f"{part.rstrip('?. ')} ({topic})?"


def _drop_question_words(question: str) -> str:
    """Return a question without its opening question words: "SMS acceptable as a second factor".

    Where the question word is the subject, its verb goes as well: of "Who wrote the guide?" the topic is the guide.
    """
    body = _DOES.sub("", question.strip().rstrip("?. "))
    return re.sub(
        rf"(?i)^(?:(?:{_PREPOSITION})\s+)?(?:(?:how\s+\w+(?=\s+(?:{_AUX})\b)|{_WH}|{_AUX}|be|been|many|much)\s+){{1,4}}"
        r"(?:happens?\s+(?:when|if|to)\s+)?",
        "",
        body,
    )


def _split_topic_list(clause: str) -> list[str]:
    """Spread a list of topics over several questions; return a clause without one unchanged.

    A list follows "on" or "about". Two names are no list, nor are the parts of a date, nor what stands between
    "between" and its "and".
    """
    found = None if find_alternatives(clause) else re.search(_TOPIC_LIST, clause)
    if found is None:
        return [clause]
    items = [*re.split(r",\s+", found["items"]), found["last"]]
    head, tail = clause[: found.start("items")], clause[found.end() :]
    named = len(items) == 2 and any(item[0].isupper() for item in items)  # noqa: PLR2004 - a pair
    other = named or "between" in fold_text(head) or any(item.isdigit() or not stem_text(item) for item in items)
    if other or not stem_text(head + tail):
        return [clause]
    return [f"{head}{item}{tail}" for item in _repeat_modifier(items)]


def _repeat_modifier(items: list[str]) -> list[str]:
    """Repeat the first topic's modifier for a bare last one: "password rotation ... and length"."""
    first = items[0].split()
    if len(first) < 2 or len(items[-1].split()) > 1:  # noqa: PLR2004 - modifier and head
        return items
    modifier = first[0]
    folded = fold_text(modifier)
    if folded.endswith(_ADJECTIVE) or not (modifier.isalpha() and modifier.islower()):
        return items
    return [items[0], *(item if folded in fold_text(item) else f"{modifier} {item}" for item in items[1:])]
