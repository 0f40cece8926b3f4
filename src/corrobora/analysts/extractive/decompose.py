"""Decompose a question without a model: the questions that it contains, each readable alone.

Knows sentences, clauses, question words, conjunctions and lists by their form. Does not know its field.
"""

from __future__ import annotations

import re

from corrobora.text.questions import find_alternatives, find_topic_stems
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import STOP_WORDS, fold_text, split_words, stem_text

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
_TOPIC_LIST = re.compile(
    rf"(?i)(?:\b(?:on|about|regarding|concerning)|(?P<asks>\A(?:{_WH})\s+(?:{_AUX})))\s+"
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
_ASKS_OBJECT = re.compile(
    r"(?i)(?:what (?:do|does|did)|how (?:do|does|did)(?=.* (?:work|do)$))\b"
)  # its verb stands last
_CIRCUMSTANCE = re.compile(rf"(?i)(?:when|where|if|before|after|while|since|as)\b(?!\s+(?:{_AUX})\b)")


def split_question(question: str, *, limit: int = 7) -> tuple[str, ...]:
    """Split a question into the questions it contains, each readable alone; at least one, at most `limit`.

    Sentences, clauses ("and under which conditions"), "who and when", contrasts, two things whose difference is asked
    for, and lists of topics each give a part. A part that refers back ("that") is completed with its topic.
    """
    found: list[str] = []
    text = question.strip()
    said = [text[span.start : span.end] for span in split_sentences(text)]
    asked = [sentence for sentence in said if sentence.endswith("?")] or said
    context = [sentence for sentence in said if sentence not in asked]
    for sentence in _join_fragments(asked):
        for clause in _split_by_clause(sentence):
            pieces = _split_contrasted(clause) or _split_topic_list(clause)
            found += [_add_topic(piece, found[0] if found else "") for piece in pieces]
    if context and found:
        lead = " ".join(context)
        found = [part if len(stem_text(part)) > _MIN_STEMS_OF_CLAUSE else f"{part} ({lead})" for part in found]
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
    first = main if main.endswith("?") or not rest else f"{main}?"
    return [*_split_contrast(first), *(_complete_fragment(piece, main) for piece in rest)]


def _split_contrasted(clause: str) -> list[str]:
    """Ask what each of two things is whose difference is asked for, and nothing else; empty if none is."""
    match = next((found for each in _CONTRASTED if (found := each.match(clause))), None)
    if match is None:
        return []
    one, other = match.groups()
    last = other.split()[-1]
    if len(one.split()) == 1 and len(other.split()) == 2 and last.endswith("s"):  # noqa: PLR2004 - "hard and soft links"
        return [f"What are {one} {last}?", f"What are {other}?"]
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
    topic = re.sub(
        rf"(?i)^(?:(?:{_PREPOSITION})\s+)?(?:(?:{_WH}|{_AUX}|be|been|many|much)\s+){{1,4}}"
        r"(?:happens?\s+(?:when|if|to)\s+)?",
        "",
        body,
    )
    if _ASKS_OBJECT.match(body):
        topic = re.sub(rf"(?i)(?<=\S)\s+\w+(?:\s+(?:{_PREPOSITION}))?$", "", topic)
    return topic


def _split_topic_list(clause: str) -> list[str]:
    """Spread a list of topics over several questions; return a clause without one unchanged.

    A list follows "on" or "about", or the opening of a question such as "What are". Two names are no list, nor are the
    parts of a date, nor what stands between "between" and its "and".
    """
    found = None if find_alternatives(clause) else _TOPIC_LIST.search(clause)
    if found is None:
        return [clause]
    items = [*re.split(r",\s+", found["items"]), found["last"]]
    head, tail = clause[: found.start("items")], clause[found.end() :]
    named = len(items) == 2 and (found["asks"] or any(item[0].isupper() for item in items))  # noqa: PLR2004 - a pair
    other = named or "between" in fold_text(head) or any(item.isdigit() or not stem_text(item) for item in items)
    if other or not (found["asks"] or stem_text(head + tail)):
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
