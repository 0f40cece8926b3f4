"""Evidence view: the facts of a thread as the answer test sees them.

Knows facts, their headings and their sources. Does not know what is asked, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from corrobora.domain.evidence import Fact
from corrobora.text.answer_test import AnswerCheck, check_answer
from corrobora.text.vocabulary import Equivalence


class EvidenceView:
    """The facts of a thread as the answer test sees them: each with its title and headings and its whole source."""

    def __init__(self, facts: Sequence[Fact], pairs: tuple[Equivalence, ...] = ()) -> None:
        self.facts = facts
        self._pairs = pairs
        texts: dict[str, dict[str, None]] = {}
        for fact in facts:
            own = texts.setdefault(fact.source, {})
            own |= dict.fromkeys((fact.title, fact.version, fact.published, fact.url.replace("/", " ")))
            own |= dict.fromkeys((fact.heading, fact.quote))
        self._around = {source: "\n".join(own) for source, own in texts.items()}

    @property
    def statements(self) -> tuple[tuple[str, str], ...]:
        """The quotes, each with its title and headings."""
        return tuple((fact.quote, read_headings(fact)) for fact in self.facts)

    def check(self, question: str) -> list[tuple[Fact, AnswerCheck]]:
        """Return every fact with its result in the answer test for a question."""
        return [
            (fact, check_answer(question, fact.quote, read_headings(fact), self._around[fact.source], self._pairs))
            for fact in self.facts
        ]


def read_headings(fact: Fact) -> str:
    """Return title, headings, version and date of a fact, which count towards its topic."""
    return f"{fact.title} {fact.heading} {fact.version} {fact.published}"
