"""Clauses: a long question as the parts that one document each may answer.

Knows punctuation, conjunctions and relative pronouns of English. Does not know sources, sub-questions or the plan:
the parts are only searched beside the whole.
"""

from __future__ import annotations

import re

from corrobora.policies.words import stem_text

MAX_CLAUSES = 12
_MIN_CLAUSE_STEMS = 3  # words that carry something; a shorter part joins the one before it
_CLAUSE_BORDER = re.compile(
    r"[,;:?!.]\s|[()]|\s(?:and|or|but|while|whereas|although|though|because|who|whom|whose|which|that|before|after|"
    r"when|where|if|than|as)\s",
    re.IGNORECASE,
)


def split_clauses(question: str) -> tuple[str, ...]:
    """Split a question into at most twelve parts with three content words or more; one part means "do not split".

    Example:
        >>> clauses("Which team won the final, and who trained the losing side that year?")
        ('Which team won the final', 'who trained the losing side that year?')
    """
    found: list[str] = []
    sizes: list[int] = []
    for part in _CLAUSE_BORDER.split(question):
        size = len(set(stem_text(part)))
        if not size:
            continue
        if found and (size < _MIN_CLAUSE_STEMS or sizes[-1] < _MIN_CLAUSE_STEMS or len(found) == MAX_CLAUSES):
            found[-1] = f"{found[-1]} {part.strip()}"
            sizes[-1] += size
        else:
            found.append(part.strip())
            sizes.append(size)
    return tuple(found)
