"""Currency: whether the time of an answer matters, and the words of time that a query must then hold.

Knows questions, a period in years, and English words of recency. Does not know the clock: "latest" stands for today.
"""

from __future__ import annotations

import re

from corrobora.policies.mentions import find_years

LATEST = "latest"
_CURRENT = re.compile(
    r"(?i)\b(?:latest|newest|most recent|recent(?:ly)?|current(?:ly)?|now(?:adays)?|today'?s?|"
    r"at present|presently|at the moment|as of now|so far|up[- ]to[- ]date|state[- ]of[- ]the[- ]art|"
    r"this (?:year|month|week)|these days|upcoming|ongoing|in force)\b"
)


def asks_about_present(question: str) -> bool:
    """True if a question asks for what holds at present, and names no year of its own."""
    return _CURRENT.search(question) is not None and not find_years(question)


def choose_time_words(question: str, since: int | None, until: int | None) -> str:
    """Return the words of time that a query for this question needs, "" if time does not matter (S4, query rules).

    Example:
        >>> temporal("Who runs the ferry?", 2019, 2019), temporal("Who runs the ferry?", 2019, None)
        ('2019', 'since 2019')
        >>> temporal("Who runs the ferry?", 2019, 2021), temporal("Who runs the ferry today?", None, None)
        ('2019 to 2021', 'latest')
    """
    if since is not None and until is not None:
        return str(since) if since == until else f"{since} to {until}"
    if since is not None or until is not None:
        return f"since {since}" if until is None else f"until {until}"
    return LATEST if asks_about_present(question) else ""


def has_time_words(query: str) -> bool:
    """True if a query holds a word of time already."""
    return bool(find_years(query)) or _CURRENT.search(query) is not None
