"""Notices: how a source says of itself, in its title or the head of its text, that it is retracted or corrected."""

from __future__ import annotations

import re

_HEAD_CHARS = 3_000  # of a text: a notice stands above it, and further down another document may be meant
_TITLE = re.compile(
    r"(?i)^\W{0,3}(?:retracted|retraction|withdrawn|withdrawal|corrigendum|erratum|correction|author correction"
    r"|publisher correction|expression of concern|removed)\b(?:\s+(?:article|paper|chapter|notice|note))?"
    r"\s*(?::|to\b|$)"
)
_SUBJECT = (
    r"(?:article|paper|study|chapter|document|publication|report|standard|preprint|version|manuscript|work|page|rfc)"
)
_SAID = re.compile(
    rf"(?i)\bth(?:is|e) (?:\w+ ){{0,3}}?{_SUBJECT} "
    r"(?:has been|have been|was|is|is being|is now|has now been) (?:\w+ ){0,2}?"
    r"(?:retracted|withdrawn|corrected|superseded|rescinded|removed)\b"
    r"|\b(?:retraction|withdrawal|erratum|corrigendum|correction|expression of concern) "
    rf"(?:notice|note|to this {_SUBJECT})\b"
    rf"|\bth(?:is|e) {_SUBJECT} is subject to an? (?:expression of concern|retraction)\b"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_NOTICE_CHARS = 240


def find_notice(title: str, text: str) -> str:
    """Return the notice that a source states about itself, literally from its title or the head of its text; or "".

    Example:
        >>> find_notice("RETRACTED: Cold fusion in jars", ""), find_notice("Jars", "This paper has been withdrawn.")
        ('RETRACTED: Cold fusion in jars', 'This paper has been withdrawn.')
    """
    if _TITLE.search(title):
        return title.strip()[:_NOTICE_CHARS]
    head = text[:_HEAD_CHARS]
    lines = head.lstrip().split("\n", 1)
    if _TITLE.match(lines[0].strip("# ")):
        return lines[0].strip("# ")[:_NOTICE_CHARS]
    if (found := _SAID.search(head)) is None:
        return ""
    start = max((each.end() for each in _SENTENCE_END.finditer(head, 0, found.start())), default=0)
    stop = _SENTENCE_END.search(head, found.end())
    return head[start : stop.end() if stop else len(head)].strip()[:_NOTICE_CHARS]
