"""Material of prompts: facts, their sources and grades, and the quotes that sentences cite, as lines of text.

Knows in which form each is shown, and that nothing is shown twice. Does not know prompt files, roles or models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from corrobora.domain.evidence import Fact, Grade
from corrobora.roles.forms import Shown, name_origin, name_place, quote_rows, shorten_title, show_identifier
from corrobora.roles.review import Doubt
from corrobora.roles.synthesize import Part
from corrobora.text.tokens import GOES_ON

_OPENING_CHARS = 90  # of a claim
_KNOWN_CHARS = 20  # of words that are named by the quote that has them


def show_facts(facts: Iterable[Fact], shown: Sequence[Fact]) -> Shown:
    """One line a fact, the same in all prompts: id, marker, what it answers; claim (if it is not the quote), quote.

    Of all that are `shown` the first one with a quote has its words. Grades, which may change later, stand apart.
    """
    first = {fact.quote: fact.id for fact in reversed(shown)}
    rows: list[tuple[str, Sequence[str]]] = []
    for fact in facts:
        quote = _show_quote(fact) if first[fact.quote] == fact.id else f"the words of {first[fact.quote]}"
        rows.append((_label_fact(fact), (_show_claim(fact), quote)))
    return quote_rows(rows)


def show_openings(facts: Iterable[Fact]) -> Shown:
    """One line a fact: id, marker, what it answers, and how its claim begins."""
    return quote_rows((_label_fact(fact), (shorten_title(fact.claim, _OPENING_CHARS),)) for fact in facts)


def _label_fact(fact: Fact) -> str:
    return f"{fact.id} {fact.marker}{' for ' * bool(fact.answers)}{','.join(fact.answers)}"


def _show_claim(fact: Fact) -> str:
    """Return the claim of a fact, or nothing if it has the words of its quote."""
    return "" if fact.claim.removesuffix(f" {GOES_ON}") == " ".join(fact.quote.split()) else fact.claim


def _show_quote(fact: Fact) -> str:
    """Return the quote of a fact, with a sign behind it if code was cut off there."""
    return f'"{fact.quote}"' + f" {GOES_ON}" * (not _show_claim(fact) and fact.claim.endswith(f" {GOES_ON}"))


def show_evidence(facts: Sequence[Fact]) -> Shown:
    """The sources and facts that a text is judged or corrected by; nobody there names the id of a fact or question.

    A quote of one passage is shown once, with all that was claimed of it, and its words under one marker only.
    """
    common = _find_common_grade(facts)
    rows: dict[tuple[str, Grade, str], list[str]] = {}
    for fact in facts:
        claims = rows.setdefault((fact.marker, fact.grade, fact.quote), [])
        claims += [claim] if (claim := _show_claim(fact)) else []
    quotes = {fact.quote: _show_quote(fact) for fact in reversed(facts)}
    single = Counter(marker for marker, _, _ in rows)
    first = {quote: marker for marker, _, quote in reversed(rows)}
    shown: list[tuple[str, Sequence[str]]] = []
    for (marker, grade, quote), claims in rows.items():
        known = first[quote] if single[first[quote]] == 1 else marker  # else it names no single quote
        said = quotes[quote] if known == marker else f"the words of {known.strip('[]')}"
        label = marker if grade is common else f"{marker} {grade.value}"
        shown.append((label, (*dict.fromkeys(claims), said)))
    form = f"marker with the source, grade{f' if it is not {common.value}' if facts else ''} | claim | quote"
    return Shown(f"The sources:\n{show_origins(facts)}\nThe facts ({form}):\n{quote_rows(shown)}")


def show_origins(facts: Iterable[Fact]) -> Shown:
    """The sources of facts, each once: id, title, version, date, publisher, host; of one title with their paths."""
    sources = {str(fact.source): fact for fact in facts}
    titles = Counter(fact.title for fact in sources.values())
    rows: list[tuple[str, Sequence[str]]] = []
    for source, fact in sources.items():
        publisher, host = name_origin(fact.publisher, fact.host)
        place = name_place(fact.url) if titles[fact.title] > 1 else host
        rows.append((source, (fact.title, fact.version, fact.published, publisher, place)))
    return quote_rows(rows)


def list_facts(parts: Sequence[Part]) -> list[Fact]:
    """List the facts of all parts, each once."""
    return list({fact.id: fact for part in parts for fact in part.facts}.values())


def show_claims(facts: Sequence[Fact]) -> Shown:
    """One line a fact: the questions it answers, and its claim."""
    return quote_rows((f"for {','.join(fact.answers)}" if fact.answers else "", (fact.claim,)) for fact in facts)


def show_grades(facts: Sequence[Fact]) -> Shown:
    """The ids of the facts of each grade; of the most common one only that all others have it."""
    by_grade = {grade: [fact.id for fact in facts if fact.grade is grade] for grade in Grade}
    common = _find_common_grade(facts)
    rows = [(grade.value, " ".join(ids)) for grade, ids in by_grade.items() if ids and grade is not common]
    return quote_rows((grade, (ids,)) for grade, ids in (*rows, (common.value, "all others" if rows else "all")))


def _find_common_grade(facts: Sequence[Fact]) -> Grade:
    found = [fact.grade for fact in facts]
    return max(Grade, key=found.count)


def show_facts_of_part(parts: Sequence[Part], at: int) -> Shown:
    """Show the facts of one part; those that an earlier part has too are named, not shown again."""
    earlier = {fact.id for part in parts[:at] for fact in part.facts}
    shown = [fact for part in parts[: at + 1] for fact in part.facts]
    own = show_facts((fact for fact in parts[at].facts if fact.id not in earlier), shown)
    known = " ".join(show_identifier(fact.id) for fact in parts[at].facts if fact.id in earlier)
    return Shown(f"{own}\nShown above and of this part, too: {known}") if known else own


def _number_quotes(doubts: Sequence[Doubt]) -> dict[tuple[str, str, str], str]:
    """Number the quotes that some sentences cite: each is shown once."""
    quotes = dict.fromkeys(quote for doubt in doubts for quote in doubt.quotes)
    return {quote: f"Q{number}" for number, quote in enumerate(quotes, start=1)}


def show_quotes(doubts: Sequence[Doubt]) -> Shown:
    """One line a quote: its source, if it is not that of the line above, what stands before it, and its words.

    Of what stands before it, the words of a quote above are not shown again.
    """
    rows: list[tuple[str, Sequence[str]]] = []
    above, shown = "", dict[str, str]()
    for (source, lead, quote), label in _number_quotes(doubts).items():
        shown = shown if source == above else {}
        parts = lead.removeprefix("(… ").removesuffix(" …)").split(" … ") if lead else []
        before = dict.fromkeys(_name_known(each, shown) for each in parts if any(map(str.isalnum, each)))
        rows.append(
            (label, (source if source != above else "", f"(… {' … '.join(before)} …)" if before else "", quote))
        )
        above, shown = source, {**shown, " ".join(quote.split()): label}
    return quote_rows(rows)


def _name_known(said: str, shown: Mapping[str, str]) -> str:
    """Return the label of the quote that has these words, or the words; few words stand in many quotes."""
    labels = (label for words, label in shown.items() if len(said) >= _KNOWN_CHARS and said in words)
    return next(labels, said)


def show_cited(doubt: Doubt, doubts: Sequence[Doubt]) -> Shown:
    """Name the quotes that a sentence cites by their numbers among those of all sentences."""
    numbers = _number_quotes(doubts)
    return show_identifier(" ".join(dict.fromkeys(numbers[quote] for quote in doubt.quotes))[:200])
