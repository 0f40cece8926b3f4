"""Clauses: the parts of a sentence that claim something, with what decides whether a restatement says the same.

Knows words of obligation, negation, quantity, strength of relation, condition, attribution, population and direction,
each with the word it governs. Does not know any evidence and does not compare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from corrobora.domain.evidence import fold_typography
from corrobora.text.tokens import is_english, split_words, stem_word


class Shade(NamedTuple):
    """A word that shades a claim: its family ("quantifier"), its class ("all"), the stem it governs, its text."""

    family: str
    kind: str
    governs: str
    text: str


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause or sentence, parsed for comparison; made by `parse_clause`."""

    text: str
    stems: frozenset[str]
    terms: frozenset[str]  # the stems and the words without a stem, such as "before"
    duties: tuple[Shade, ...]
    negated: frozenset[str]  # stems that a negating word governs
    negations: int
    shades: tuple[Shade, ...]

    def kinds(self, family: str) -> frozenset[str]:
        """The classes of one family that occur."""
        return frozenset(shade.kind for shade in self.shades if shade.family == family)


def _list_words(words: str) -> str:
    """Return the alternatives of a table: patterns apart by spaces, "_" for white space."""
    return "|".join(word.replace("_", r"\s+") for word in words.split())


_BE = r"(?:(?:is|are|was|were|be|been|being|'s|'re)\s+)?"
_NO = r"(?:no|nothing)\s+(?:(?!(?:and|but|it|you|we|they)\s)[\w/.-]+\s+){0,4}?"  # "no key and should": two predicates
_FORCES = {  # the first that matches at a place decides
    "forbidden": r"""NO(?:may|shall|must|can)\b (?:must|shall)_(?:be_)?avoid(?:ed)?
        (?:must|shall|may|can)\s?(?:not|n['’]t)\b
        (?:must|shall|may|can|should)_never (?:mustn|can)['’]t
        BE(?:not_)(?:be_)?(?:permitted|allowed|acceptable) forbids?
        BE(?:prohibit(?:ed|s)?|forbidden|bann?(?:s|ed)|barred|disallow(?:ed|s))""",
    "discouraged": r"""NOshould\b should(?:_not|n['’]t) should_(?:be_)?avoid(?:ed)?
        ought_not
        BE(?:not_)(?:be_)?(?:recommended|advised|encouraged)
        BE(?:recommended|advised|encouraged)_(?:that_(?:[\w/.-]+_){1,4}?(?:do(?:es)?_)?)?not\b
        BE(?:discouraged|advised_against)""",
    "needless": r"""need(?:_not|n['’]t) no_longer_requires?
        (?:does|do|did|will)(?:_not|n['’]t)_(?:have_to|need|require) optional voluntary
        BE(?:not|no_longer)_(?:be_)?(?:required|mandatory|needed|obliged|compulsory|necessary)""",
    "required": r"""must shall (?:has|have|had)_to needs?_to requires? BE(?:required|obliged)
        (?:is|are|was|were|be)_bound_to(?!_(?:an?|the|its|their)\b) mandatory compulsory
        obligatory""",
    "recommended": r"should ought_to recommends? advises? encourages? BE(?:recommended|advised|encouraged)",
    "permitted": r"may BE(?:permitted|allowed|free_to) permits? allows?",
}
_DUTY = re.compile(
    r"\b(?:"
    + "|".join(
        f"(?P<{name}>{_list_words(words).replace('NO', _NO).replace('BE', _BE)})" for name, words in _FORCES.items()
    )
    + r")(?!\w)"
)
_DUTY_HINTS = (  # one of them stands in every match: looked for first, because the pattern is slow
    "shall must may can should ought need requir have has had permit allow forbi prohibit bann bans barred free "
    "optional voluntary mandatory compuls oblig bound recommend advis encourag discourag accept necessar"
).split()
_NEGATION = re.compile(
    r"\b(?:"
    + _list_words(
        r"""non(?=-) not(?!_(?:only|just|merely|necessarily)\b) cannot \w+n['’]t
        no(?!_(?:more|less|fewer|later|longer_than|doubt|other)\b)
        never(?!_(?:\w+_){0,2}?(?:more|less|fewer)_than_\d) out_of(?=_(?:service|order|date|use|stock|print|reach)\b)
        none neither nor nobody nothing without hardly scarcely barely fail(?:s|ed|ing)?_to lack(?:s|ed|ing)? unable_to
        instead_of rather_than absence_of free_of
"""
    )
    + "|(?P<foreign>"
    + _list_words(
        r"""nicht kein(?:e|en|em|er|es)? nie niemals weder ohne
        n(?:e_|['’])(?:\w+_){1,2}?(?:pas|plus|jamais|aucune?|rien|guère)\b jamais aucune? sans
        nunca jamás sin ningún ninguna ninguno tampoco"""
    )
    + r"))(?!\w)"
)
_DENYING_OBJECTS = ("nothing", "nobody", "none")  # they may deny the verb before them: "shares nothing"
_ABSENCE = re.compile(r"without|lack|absence|free|instead|rather|ohne|sans|sin\b")
_FAMILIES = {
    "quantifier": {
        "all": r"""all both(?!_\w+_and\b) (?:every|each)(?!_(?:\d|(?:day|hour|minute|second|week|month|year)\b))
            entire(?:ly)? everyone""",
        "ever": r"always any(?!_(?:more|longer)) at_any_time in_every_case under_all_circumstances",
        "most": r"""(?<!the\s)most(?=_of\b|_(?:\w+_)?\w+s\b) (?:the|a)_majority mostly usually generally typically
            mainly largely""",
        "some": r"""some(?!_[$€£¥]?\d) several certain sometimes occasionally partly partially a_few a_number_of
            (?:half|thirds?|quarters?)(?=_of)""",
        "many": r"many often frequently numerous",
        "few": r"(?<!a\s)few rarely seldom a_minority",
        "only": r"""(?<!not\s)only solely exclusively nur lediglich ausschließlich seulement uniquement solamente
            únicamente""",
    },
    "relation": {
        "cause": r"""caus(?:e|es|ed|ing) le(?:ads?|d|ading)_to result(?:s|ed|ing)?_in trigger(?:s|ed)?
            prevent(?:s|ed|ing)?
            cur(?:e|es|ed) prov(?:e|es|ed|en) because_of due_to brought_about produc(?:e|es|ed) driven_by drives? makes?
            made""",
        "link": r"""associat(?:ed|ion) link(?:s|ed)? correlat(?:e|es|ed|ion) related_to tied_to went_with goes?_with
            coincid(?:e|es|ed)""",
    },
    "hedge": {
        "may": r"""whether may(?!_\d) might could possibly (?<!as\s)possible(?!_to)
            potentially perhaps likely appear(?:s|ed)?_to seem(?:s|ed)?
            suspected
            suggest(?:s|ed|ing)? probabl[ey] presumably preliminary tentative(?:ly)? plan(?:s|ned)?_to estimated
            can
            (?:expect(?:s|ed)?|projected|forecasts?|predict(?:s|ed)?|scheduled|proposed|intended)(?:_by_(?:[\w.]+_){1,3}?to\b)?""",
    },
    "attribution": {
        "said": r"""according_to claim(?:s|ed)?(?=_(?:that|to)\b) sa(?:ys|id) argu(?:es|ed) believ(?:es?|ed) told wrote
            alleg(?:es|ed|edly) reportedly critics assert(?:s|ed) in_the_(?:view|opinion)_of announced state[sd]
            report(?:s|ed)(?=_that)""",
    },
    "condition": {
        "if": r"""if provided(?:_that)? as_(?:long|soon)_as on_condition whenever in_case when once where(?!as)
            subject_to wenn falls sofern""",
        "unless": r"unless unlike except(?:_for)? excluding until other_than apart_from außer sauf salvo excepto",
    },
    "population": {
        "animals": r"mice mouse rats? murine animals? dogs? monkeys rabbits? pigs? in_vitro cell_lines?",
        "men": r"men man males? boys?",
        "women": r"women woman females? girls?",
        "young": r"child(?:ren)? infants? adolescents? teenagers? newborns? pupils",
        "adults": r"adults? elderly seniors? older_people pensioners?",
    },
}
_SHADES = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(f"(?P<{f}_{k}>{_list_words(words)})" for f, kinds in _FAMILIES.items() for k, words in kinds.items())
    + r")(?![\w-])"
)
_OPPOSITES = """
    increase decrease | rise fall | rose fell | grow shrink | grew shrank | gain loss | more less | more fewer |
    higher lower | high low | greater smaller | larger smaller | largest smallest | highest lowest | longer
    shorter | longest shortest | faster slower | fastest slowest | older younger | oldest newest | oldest
    youngest | better worse | best worst | improve worsen | strong weak | stronger weaker | before after | earlier
    later | first last | earliest latest | above below | over under | maximum minimum | north south | northern
    southern | east west | eastern western | left right | accept reject | approve reject | include exclude | open
    close | enable disable | begin end | start end | buy sell | bought sold | positive negative | public private |
    internal external | support oppose | win lose | won lost | hot cold | warmer cooler | cheaper dearer | safe danger |
    success failure | succeed fail | export import | allow forbid | double halve | wider narrow | deeper shallow |
    heavier lighter | inner outer | upper lower | exceed undercut | up down | minor major | raise lower | reduce
    increase | reduce raise | expand contract | lengthen shorten | tighten loosen | add remove | ascend descend |
    nearest farthest | permit prohibit | surplus deficit | profit loss | appoint dismiss | hire fire | manual
    automatic | synchronous asynchronous | easier harder | easy difficult | inside outside | same differ |
    same distinct | identical differ | sudden gradual | abrupt gradual | severe mild | most least |
    often never | often rare | often seldom | always never | fast slow | quick slow | quicker slower |
    long short | big small | large small | big little | early late | rich poor | full empty |
    common rare | old new | young old | hard soft | dry wet |
    true false | correct wrong | active inactive | keep discard | refuse accept | present absent |
    inherit disinherit | attack defend | lend borrow | remain vanish
"""
_MORE = "more much dearer greater high higher highest larger longer bigger greatest largest maximum maxim above".split()
_LESS = "less fewer cheaper low lower lowest smaller shorter little fewest smallest minimum minim below".split()
_RISES = "increase rise rose risen grow grew grown climb gain raise surge jump soar accelerate double triple".split()
_FALLS = (
    "decrease decline drop fall fell fallen shrink shrank reduce lower sink sank slump dwindle diminish halve".split()
)
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in (*map(str.split, _OPPOSITES.split("|")),
              *([more, less] for more in (*_MORE, *_RISES) for less in (*_LESS, *_FALLS))):  # fmt: skip
    _terms = [stem_word(word) or word for word in _pair]
    for _one, _other in (_terms, _terms[::-1]):
        OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
SUPERLATIVES = frozenset(
    stem_word(word) or word for word in _OPPOSITES.split() if word.endswith(("est", "worst")) and word != "west"
)
_THAN = r"\b[^.,;]{0,60}?\bthan\b"
_ORDER = re.compile(
    rf"(?i)\b(?:(?P<more>(?:more|greater|higher|larger|longer|later|older|stronger|faster|wider|better){_THAN}"
    r"|as (?!well|long|soon|far|many|much)[a-z]+(?: an? [a-z]+)? as\b"
    r"|after\b|above\b|exceed(?:s|ed)?\b|instead of\b|rather than\b)"
    rf"|(?P<less>(?:less|fewer|lower|smaller|shorter|earlier|younger|weaker|slower|narrower|worse){_THAN}"
    r"|before\b|below\b))"
)
_STOP = re.compile(r"[,;:.]\s")
SEGMENT = re.compile(r"[,;:]\s|\s(?:and|but|then|while|whereas|although|when|which|before|after)\s")
_BORDER = re.compile(
    r"(?i);\s+|\s[—–]\s|(?:,|(?<!\s))\s+(?=(?:but|whereas|while|although|though|because)\s)"
    r"|,\s+(?=(?:and|so|which|who|or|yet)\s)|(?<!\s)\s+(?=and\s)"
    r"|(?:,|(?<!\s))\s+(?=nor\s+(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|may|must|shall|should)\s)"
)
_FINITE = frozenset(
    "is are was were has have had will would can may must shall should does did do cannot could might isn't aren't "
    "wasn't".split()
)
_MIN_WORDS = 3
_ADVERBS = frozenset(
    "able yet ever also still already even be been being have has had to do does did only always".split()
)


def split_statement(sentence: str) -> tuple[str, ...]:
    """Split a sentence into its clauses, in order; "and" parts two clauses only if a verb follows it."""
    found: list[str] = []
    begin = 0
    for match in _BORDER.finditer(sentence):
        left = sentence[begin : match.start()].split(maxsplit=_MIN_WORDS)
        right = sentence[match.end() :].split(maxsplit=7)
        if len(left) < _MIN_WORDS or len(right) <= _MIN_WORDS:
            continue
        opening = [word.lower() for word in right[1:7]]
        joined = right[0].lower() in ("and", "or")
        if not joined or any(word in _FINITE or word.endswith("ed") for word in opening):
            found.append(sentence[begin : match.start()].strip())
            begin = match.end()
    found.append(sentence[begin:].strip())
    return tuple(found)


@lru_cache(maxsize=8_000)  # every sentence is compared with the same quotes
def parse_clause(text: str) -> Clause:
    """Parse a clause or a whole sentence."""
    low = text.lower() if len(text.lower()) == len(text) else text  # as long, so that places are the same
    duties: list[Shade] = []
    for match in _DUTY.finditer(low) if any(hint in low for hint in _DUTY_HINTS) else ():
        said = text[match.start() : match.end()]
        verb = bool(duties) and text[: match.start()].rstrip().endswith(duties[-1].text)  # "shall not require"
        if not verb and (said != "May" or match.start() == 0):  # the month
            duties.append(Shade("duty", match.lastgroup or "", _find_governed(text, match), said))
    negated: set[str] = set()
    negations = 0
    for match in _NEGATION.finditer(low):
        if match["foreign"] and is_english(text):  # "sin" and "sans" are English words, too
            continue
        negations += match.group() != "nor" or "neither" not in low[: match.start()]  # "neither A nor B" denies once
        if not _ABSENCE.match(match.group()):  # "lacking" and "without" govern a noun, for which there are other words
            negated.add(_find_governed(text, match))
        if match.group() in _DENYING_OBJECTS and (before := split_words(text[: match.start()])):
            negated.add(stem_word(before[-1]))
    shades: list[Shade] = []
    for match in _SHADES.finditer(low):
        family, kind = (match.lastgroup or "_").split("_")
        said = text[match.start() : match.end()]
        if said != "May":
            shades.append(Shade(family, kind, _find_governed(text, match), said))
    words = split_words(text)
    stems = frozenset(stem for word in words if (stem := stem_word(word)))
    return Clause(
        text,
        stems,
        frozenset(stem_word(word) or word for word in words),
        tuple(duties),
        frozenset(negated - {""}),
        negations,
        tuple(shades),
    )


def find_word(clause: Clause, stem: str) -> str:
    """Return the word of a clause that has a stem, for display."""
    words = re.findall(r"[^\W_]+", clause.text)
    return next((word for word in words if stem in (word.lower(), stem_word(word.lower()))), stem)


def _find_governed(text: str, match: re.Match[str]) -> str:
    """Return the stem of the first content word after a match, or before it at the end of a clause."""
    for word in split_words(text[match.end() : match.end() + 60].split(",", 1)[0]):
        stem = stem_word(word)
        if stem and word not in _ADVERBS and not word.endswith("ly") and not word.isdigit():
            return stem
    for word in reversed(split_words(text[max(0, match.start() - 60) : match.start()])):
        if stem := stem_word(word):
            return stem
    return ""


def find_opposites(terms: frozenset[str], others: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of opposite terms, one on each side only, such as ("higher", "lower")."""
    return tuple(
        (one, other)
        for one in sorted(terms - others)
        for other in sorted(OPPOSITES.get(one, frozenset()) & (others - terms))
    )


SAME_ORDER = "="


def compare_order(text: str, other: str) -> str:
    """Return the word of a text that orders two things otherwise than another text does; "" if none can be told.

    `SAME_ORDER` stands for the same order in other words.

    "The inner one froze later than the outer one" is said of "The outer one froze before the inner one" as well.
    """
    mine, theirs = _find_order(text), _find_order(other)
    if mine is None or theirs is None:
        return ""
    (left, right, sign, word), (left2, right2, sign2, _) = mine, theirs
    crossed = bool(left & right2 and right & left2)
    straight = bool(left & left2 and right & right2)
    if not (crossed or straight):
        return ""
    return word if (sign == sign2) == crossed else SAME_ORDER


def _find_order(text: str) -> tuple[frozenset[str], frozenset[str], str, str] | None:
    """Return the stems that stand on one side only of the first comparison of two things, its direction and words."""
    found = _ORDER.search(text)
    if found is None:
        return None
    left, right = (
        frozenset(stem for word in split_words(side) if (stem := stem_word(word)))
        for side in (_STOP.split(text[: found.start()])[-1], _STOP.split(text[found.end() :])[0])
    )
    return left - right, right - left, found.lastgroup or "", found.group().split()[0]


def find_nearest_segment(clause: Clause, unit: Clause) -> Clause:
    """Return the part of a long sentence, between its commas and conjunctions, that shares most with a clause.

    A number or year says more than a word where it is the same.
    """
    parts = [parse_clause(part) for part in SEGMENT.split(unit.text) if part]

    def _count_shared(part: Clause) -> int:
        return sum(1 + word.isdigit() for word in part.terms & clause.terms)

    return max(parts, key=_count_shared, default=unit)


def fold_words(text: str) -> tuple[str, ...]:
    """Return words and signs in order for alignment, in lower case; the full stop at the end is left out."""
    return tuple(_PIECE.findall(fold_typography(text.lower()).rstrip(" .!?\"'")))


_PIECE = re.compile(r"[^\W_]+(?:['.,-][^\W_]+)*|[^\w\s,;:.!?()'\"-]|_")
