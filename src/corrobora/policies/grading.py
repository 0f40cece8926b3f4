"""Grading: which passages say the same, who says it independently, and what that is worth.

Knows quotes, origins and publishers, by the table that comes with the package and what a user adds to it: a grade
depends on who says something and who else says it, never on a model's opinion of its own findings. Does not know who
found the facts or what they answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact, Grade, Statement
from corrobora.domain.limits import read_table
from corrobora.text.answer_match import AnswerCheck, check_answer, may_give_number
from corrobora.text.measures import find_measures
from corrobora.text.mentions import strip_to_alphanumeric
from corrobora.text.quantities import remove_known_series, remove_releases
from corrobora.text.tokens import fold_text, split_words, stem_text
from corrobora.text.vocabulary import Equivalence

GRADE_RANK: Mapping[Grade, int] = MappingProxyType({Grade.UNVERIFIED: 0, Grade.PLAUSIBLE: 1, Grade.VERIFIED: 2})
MIN_AGREEMENT = 0.6  # share of the shorter quote's stems that both must have
MIN_AGREEING_STEMS = 3
MIN_SIZE_SHARE = 0.4  # of the longer quote's stems: a page-long quote does not say what one of its sentences says
COPY_SHARE_ABOVE = 0.9  # quotes that share more of their words than this ...
MIN_COPIED_STEMS = 8  # ... and are this long were copied from each other

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_STANCE_WORDS = frozenset("not no never nor cannot without neither none should shall must may".split())


@dataclass(frozen=True, slots=True)
class _QuoteFeatures:
    """What two quotes are compared by: stems, numbers, and words of negation and obligation."""

    stems: frozenset[str]
    numbers: frozenset[str]
    stance: frozenset[str]


@lru_cache(maxsize=4_096)  # every round compares all facts of its thread again
def _read_features(quote: str) -> _QuoteFeatures:
    stance = frozenset(split_words(quote)) & _STANCE_WORDS
    if "n't" in quote or "n’t" in quote:
        stance |= {"not"}
    spelled = (f"{each.number:g}" for each in find_measures(quote) if each.spelled and each.dimension)  # "five seconds"
    return _QuoteFeatures(frozenset(stem_text(quote)), frozenset((*_NUMBER.findall(quote), *spelled)), stance)


def group_statements(
    facts: Sequence[Fact], names: Sequence[str] = (), credible: Sequence[str] = ()
) -> tuple[Statement, ...]:
    """Group facts that say alike into statements, each with its independent publishers and its grade (TRUTH-4).

    Copies and paraphrases with the same numbers and stance are one statement. Publishers, origins and verbatim copies
    count once. VERIFIED: an official source, or two independent ones. PLAUSIBLE: one credible publisher, or a document
    given by the user. UNVERIFIED: one source of unknown standing. The order of the facts changes nothing.

    Args:
        facts: what was found, each id once.
        names: what the research is about, for the subject's own publisher.
        credible: further hosts that count as credible.
    """
    ordered = sorted({fact.id: fact for fact in facts}.values(), key=lambda fact: fact.id)
    groups = _group_quotes(tuple((fact.quote, frozenset(fact.subjects), _name_text(fact)) for fact in ordered))
    return tuple(_make_statement([ordered[at] for at in members], names, credible) for members in groups)


@lru_cache(maxsize=256)  # a round is assessed before and after its reflection
def _group_quotes(quotes: tuple[tuple[str, frozenset[str], str], ...]) -> Sequence[Sequence[int]]:
    """Group quotes, each with what it is about and who says it: two of different subjects are two statements."""
    features = [_read_features(quote) for quote, _, _ in quotes]
    spread = {witness: Counter[str]() for _, _, witness in quotes}
    for each, (_, _, witness) in zip(features, quotes, strict=True):
        spread[witness].update(each.stems)
    alike = _Groups(len(quotes))
    for one, other in _list_likely_pairs(features):
        mine, yours = quotes[one][1], quotes[other][1]
        said = [spread[witness] for witness in sorted({quotes[one][2], quotes[other][2]})]
        if _say_alike(features[one], features[other], said) and not (mine and yours and mine.isdisjoint(yours)):
            alike.join(one, other)
    return alike.list_groups()


def grade_facts(
    facts: Sequence[Fact], names: Sequence[str] = (), credible: Sequence[str] = ()
) -> tuple[tuple[Fact, ...], tuple[Statement, ...]]:
    """Return the facts with the grades of their statements, in their order, and the statements (TRIPLET-23)."""
    statements = group_statements(facts, names, credible)
    grades = {fact: statement.grade for statement in statements for fact in statement.facts}
    graded = tuple(fact if fact.grade is grades[fact.id] else replace(fact, grade=grades[fact.id]) for fact in facts)
    return graded, statements


def sort_by_grade(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Sort facts by grade, confidence and relevance; equal facts keep their order."""
    return tuple(sorted(facts, key=lambda fact: (-GRADE_RANK[fact.grade], -fact.confidence, -fact.score)))


def combine_confidence(facts: Iterable[Fact]) -> float:
    """Combine the confidence of facts about one thing into a value in [0, 1] (TREE-18).

    Texts add up (one minus the product of doubts), two editions too; of each only the most confident fact counts.
    """
    held = tuple(facts)
    doubt = 1.0
    for members in _group_facts(held, _name_text):
        doubt *= 1.0 - min(1.0, max(0.0, *(held[at].confidence for at in members)))
    return 1.0 - doubt


def _make_statement(facts: Sequence[Fact], names: Sequence[str], credible: Sequence[str]) -> Statement:
    standings = {judge_publisher(fact, names, credible) for fact in facts}
    witnesses = group_witnesses(facts)
    if PublisherStanding.OFFICIAL in standings or len(witnesses) > 1:
        grade = Grade.VERIFIED
    else:
        grade = Grade.PLAUSIBLE if PublisherStanding.CREDIBLE in standings else Grade.UNVERIFIED
    publishers = tuple(sorted(identify_witness(facts[members[0]]) for members in witnesses))
    return Statement(tuple(fact.id for fact in facts), publishers, grade)


def group_witnesses(facts: Sequence[Fact]) -> Sequence[Sequence[int]]:
    """Group facts, by their places, into independent witnesses: publishers, origins and copies count once."""
    return _group_facts(facts, identify_witness)


def _group_facts(facts: Sequence[Fact], name: Callable[[Fact], str]) -> Sequence[Sequence[int]]:
    independent = _Groups(len(facts))
    for at, fact in enumerate(facts):
        for before, other in enumerate(facts[:at]):
            if name(other) == name(fact) or _is_copy(other, fact):
                independent.join(before, at)
    return independent.list_groups()


def _is_copy(one: Fact, other: Fact) -> bool:
    """True if two facts have one origin, or if one quote was copied from the other."""
    if one.origin and one.origin == other.origin:
        return True
    mine, yours = _read_features(one.quote).stems, _read_features(other.quote).stems
    shorter, both = min(len(mine), len(yours)), len(mine | yours)
    return shorter >= MIN_COPIED_STEMS and len(mine & yours) >= COPY_SHARE_ABOVE * both


def _say_alike(one: _QuoteFeatures, other: _QuoteFeatures, said: Sequence[Mapping[str, int]]) -> bool:
    """True if two quotes share most of the shorter one; words in other quotes of who `said` them count less.

    What all of a manual is about ("the server writes its file") is no agreement on what one of its sentences adds. Only
    the two publishers are asked, so that no page of a third one takes an agreement away.
    """
    shared, (shorter, longer) = one.stems & other.stems, sorted((one.stems, other.stems), key=len)
    if one.numbers != other.numbers or one.stance != other.stance:
        return False
    own = {stem: (stem in one.stems) + (stem in other.stems) for stem in shorter}
    weights = {stem: 1 / (1 + sum(each.get(stem, 0) for each in said) - count) for stem, count in own.items()}
    agree = sum(weights[stem] for stem in shared) >= MIN_AGREEMENT * sum(weights.values())
    return agree and len(shared) >= MIN_AGREEING_STEMS and len(shorter) >= MIN_SIZE_SHARE * len(longer)


def _list_likely_pairs(features: Sequence[_QuoteFeatures]) -> Iterable[tuple[int, int]]:
    """Return the pairs of quotes that share enough stems to be compared."""
    having: dict[str, list[int]] = {}
    for at, each in enumerate(features):
        shared = Counter(other for stem in each.stems for other in having.get(stem, ()))
        for other, count in shared.items():
            if count >= MIN_AGREEING_STEMS:
                yield other, at
        for stem in each.stems:
            having.setdefault(stem, []).append(at)


class _Groups:
    """Disjoint sets of the numbers below `count`."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def join(self, one: int, other: int) -> None:
        """Put two numbers into one set."""
        first, second = self._find(one), self._find(other)
        self._parent[max(first, second)] = min(first, second)

    def list_groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the sets, each in order, by their least members."""
        groups: dict[int, list[int]] = {}
        for at in range(len(self._parent)):
            groups.setdefault(self._find(at), []).append(at)
        return tuple(map(tuple, groups.values()))

    def _find(self, at: int) -> int:
        while self._parent[at] != at:
            self._parent[at] = at = self._parent[self._parent[at]]
        return at


SAME_CLAIM_SHARE = 0.7  # share of common word pairs above which two claims are one
_NEGATIONS = frozenset("no not never none neither nor without cannot".split())


@lru_cache(maxsize=4_000)  # a claim is compared with every other one of its origin
def claim_pairs(claim: str) -> frozenset[str]:
    """Return the word pairs of a claim, and its numbers and negations, which must match exactly."""
    found = split_words(claim)
    return frozenset(f"{a} {b}" for a, b in pairwise(found)) | frozenset(
        f"={word}" for word in found if word in _NEGATIONS or any(letter.isdigit() for letter in word)
    )


def is_same_claim(a: frozenset[str], b: frozenset[str]) -> bool:
    """True if two claims share most word pairs and all numbers and negations."""
    both = len(a & b)
    alike = both >= SAME_CLAIM_SHARE * (len(a) + len(b) - both) and bool(both)
    return alike and {each for each in a if each[0] == "="} == {each for each in b if each[0] == "="}


_OFFICIAL_LABELS = frozenset({"gov", "mil", "edu", "int", "gob", "gouv", "govt"})
_BELOW_COUNTRY = frozenset({"ac", "edu", "gov", "gob", "gouv", "govt", "mil"})  # gov.uk, ac.jp
_MIN_NAME = 3  # letters of a name that a host may be called after


class PublisherStanding(StrEnum):
    """What one page of a publisher is worth."""

    OFFICIAL = "official"
    CREDIBLE = "credible"
    UNKNOWN = "unknown"  # communities, and everything else


@dataclass(frozen=True, slots=True)
class PublisherTable:
    """The hosts of the table, by what they are."""

    official: frozenset[str]
    credible: frozenset[str]
    hosted_by_subdomain: frozenset[str]
    hosted_by_path: frozenset[str]
    hosted_by_author: frozenset[str]
    hosted_by_page: frozenset[str]


@cache
def load_publishers() -> PublisherTable:
    """Read the table of the package (`data/publishers.toml`)."""
    table = read_table("publishers.toml")
    credible = frozenset(host for hosts in table["credible"].values() for host in hosts)
    hosting = {f"hosted_{key}": frozenset(hosts) for key, hosts in table["hosting"].items()}
    hosting["hosted_by_page"] |= frozenset(table["credible"]["scholarship"])
    return PublisherTable(frozenset(table["official"]), credible, **hosting)


@lru_cache(maxsize=4_000)  # after each round every statement of a thread is graded again
def read_host(url: str) -> str:
    """Return the host of an address without "www.", "" if it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower().removeprefix("www.")
    except ValueError:
        return ""


@lru_cache(maxsize=4_000)
def is_official(url: str) -> bool:
    """True for addresses of governments, universities, treaty bodies and standards bodies, judged by their names."""
    host = read_host(url)
    labels = host.split(".")
    if len(labels) < 2:  # noqa: PLR2004 - a name without a dot belongs to nobody
        return False
    below_country = len(labels[-1]) == 2 and labels[-2] in _BELOW_COUNTRY  # noqa: PLR2004 - country codes
    return labels[-1] in _OFFICIAL_LABELS or below_country or _is_listed(host, load_publishers().official)


def judge_publisher(fact: Fact, names: Sequence[str] = (), credible: Sequence[str] = ()) -> PublisherStanding:
    """Judge the publisher of a fact (TRIPLET-23).

    Args:
        fact: what was read, with its address.
        names: what the research is about; a host of such a name is the subject's own publisher.
        credible: hosts that the user counts as credible.
    """
    if fact.primary:
        return PublisherStanding.OFFICIAL
    standing = judge_address(fact.url, tuple(names), tuple(credible))
    given = fact.kind != "web" and standing is PublisherStanding.UNKNOWN
    return PublisherStanding.CREDIBLE if given else standing  # a document that the user gave is at least that


@lru_cache(maxsize=4_000)  # after each round every statement of a thread is graded again
def judge_address(url: str, names: tuple[str, ...] = (), credible: tuple[str, ...] = ()) -> PublisherStanding:
    """Judge who publishes at an address; `names` and `credible` as for a fact."""
    if is_official(url):
        return PublisherStanding.OFFICIAL
    host = read_host(url)
    listed = _is_listed(host, load_publishers().credible) or _is_listed(host, {each.lower() for each in credible})
    return PublisherStanding.CREDIBLE if listed or _is_own_publisher(host, url, names) else PublisherStanding.UNKNOWN


@lru_cache(maxsize=4_000)  # after each round every pair of facts is compared
def find_site(url: str) -> str:
    """Return the site of an address, with what names the publisher on a host of many; "" if it has no host."""
    host, table = read_host(url), load_publishers()
    if _is_listed(host, table.hosted_by_page):
        return url
    if host in table.hosted_by_path or host in table.hosted_by_author:
        return "/".join((host, *urlsplit(url).path.strip("/").split("/")[:1]))
    shared = _is_listed(host, table.hosted_by_subdomain) or _is_listed(host, table.hosted_by_author)
    return host if shared else _find_registered_name(host)


def identify_witness(fact: Fact) -> str:
    """Name the independent source of a fact: its site, else the publisher it states, else its text (TRUTH-4)."""
    if site := find_site(fact.url):
        return f"host:{site}"
    return f"publisher:{fold_text(fact.publisher)}" if fact.publisher else _name_text(fact)


def _name_text(fact: Fact) -> str:
    """Name the text of a fact: of the web a whole site, of what a user gave each document."""
    site = find_site(fact.url) if fact.kind == "web" else ""
    return f"host:{site}" if site else f"origin:{fact.origin or fact.source}"


def _is_listed(host: str, hosts: Collection[str]) -> bool:
    """True if a host or a domain above it is in a set."""
    while host not in hosts:
        _, dot, host = host.partition(".")
        if not dot:
            return False
    return True


def _find_registered_name(host: str) -> str:
    """Return the part of a host that somebody registered: two labels, three below "co.uk"; an IP address is whole."""
    labels = host.split(".")
    if labels[-1].isdigit() or ":" in host:
        return host
    shared = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= _MIN_NAME  # noqa: PLR2004 - co.uk
    return ".".join(labels[-3 if shared else -2 :])


def _is_own_publisher(host: str, url: str, names: Iterable[str]) -> bool:
    """True if a host is called after one of the names; of a hosting site, its subdomain or the path is."""
    table = load_publishers()
    if _is_listed(host, table.hosted_by_path):
        called = urlsplit(url).path.strip("/").split("/")[:2]
    elif _is_listed(host, table.hosted_by_subdomain):
        called = host.split(".")[:1]
    else:
        called = _find_registered_name(host).split(".")[:-1][:1]
    own = {strip_to_alphanumeric(each) for each in called if len(each) >= _MIN_NAME}
    return bool(own) and any(strip_to_alphanumeric(name) in own for name in names)


class EvidenceView:
    """The facts of a thread as the answer test sees them: each with its title and headings and its whole source."""

    def __init__(self, facts: Sequence[Fact], pairs: tuple[Equivalence, ...] = ()) -> None:
        self.facts = facts
        self._pairs = pairs
        texts: dict[str, dict[str, None]] = {}
        for fact in facts:
            own = texts.setdefault(fact.source, {})
            own |= dict.fromkeys((fact.title, fact.version, fact.published, fact.url.replace("/", " "), fact.publisher))
            own |= dict.fromkeys((fact.heading, fact.quote))
        self._around = {source: "\n".join(own) for source, own in texts.items()}
        series = (f"{fact.version} {fact.publisher}" for fact in facts)  # "the 2.2.1 documentation"
        self._shown = [(fact, known, read_headings(fact)) for fact, known in zip(facts, series, strict=True)]

    @property
    def statements(self) -> tuple[tuple[str, str], ...]:
        """The quotes, each with its title and headings."""
        return tuple((fact.quote, headings) for fact, _, headings in self._shown)

    def check(self, question: str) -> list[tuple[Fact, AnswerCheck]]:
        """Return every fact with its result in the answer test for a question."""
        asked = {known: remove_known_series(question, known) for known in {known for _, known, _ in self._shown}}
        around, pairs = self._around, self._pairs
        return [(f, check_answer(asked[known], f.quote, h, around[f.source], pairs)) for f, known, h in self._shown]

    def check_together(self, question: str, facts: Sequence[Fact]) -> bool:
        """True if facts that are read as one statement are near a question and of the kind asked for."""
        quotes, headings = "\n".join(fact.quote for fact in facts), "\n".join(map(read_headings, facts))
        around = "\n".join(self._around[source] for source in sorted({fact.source for fact in facts}))
        versioned = any(fact.version for fact in facts)  # else no source can name the release that is asked for
        question = remove_known_series(question, around) if versioned else remove_releases(question)
        it = check_answer(question, quotes, headings, around, self._pairs)
        return bool(facts) and it.near and (it.gives or may_give_number(question, quotes))


def read_headings(fact: Fact) -> str:
    """Return title, headings, version and date of a fact, which count towards its topic."""
    return f"{fact.title} {fact.place} {fact.version} {fact.published}"
