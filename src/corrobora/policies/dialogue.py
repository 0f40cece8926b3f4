"""Dialogue: who speaks where in the log of a conversation, and what the first lines of a file say about it.

Knows how chats, minutes and interviews mark a turn ("Ann: ...", "[10:02] Ann: ...") and how files are labelled
("Date: ..."). Does not know the speakers; a text that only looks like one or two turns is no conversation.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TURN = re.compile(
    r"(?m)^[ \t]{0,4}(?:[-*>][ \t]+)?(?:\[[^\]\n]{1,40}\][ \t]*|\(?\d{1,4}[\d:./ -]{1,20}(?:[ap]m)?\)?[ \t,–-]*)?"
    r"\*{0,2}<?([A-Z][\w.'’-]{0,30}(?: [A-Z(][\w.'’)-]{0,30}){0,3}|@?[a-z][\w.-]{1,30})>?\*{0,2}:\*{0,2}[ \t]+(?=\S)"
)
_LABEL = re.compile(r"^[ \t]{0,4}\*{0,2}([A-Z][A-Za-z ]{1,20})\*{0,2}:\*{0,2}[ \t]+(\S[^\n]{0,160})$")
_JOINED_NAMES = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_TURNS, _SHARE = 3, 0.5
_MAX_LABEL_LINES = 6  # lines at the top that may be labels


class SpeakerTurn(NamedTuple):
    """One turn: where it begins and who speaks."""

    start: int
    speaker: str


def find_speaker_turns(text: str) -> tuple[SpeakerTurn, ...]:
    r"""Return the turns of a conversation in order, or nothing if the text is none.

    At least three turns, half of all lines, and somebody who speaks again.

    Example:
        >>> [turn.speaker for turn in turns("Ann: Hello?\\nBo: Hi.\\nAnn: Shall we meet?\\nBo: At six.")]
        ['Ann', 'Bo', 'Ann', 'Bo']
    """
    found = [SpeakerTurn(match.start(), match.group(1)) for match in _TURN.finditer(text)]
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    while found and _is_label(text, found[0]) and sum(turn.speaker == found[0].speaker for turn in found) == 1:
        found = found[1:]
    speakers = {turn.speaker for turn in found}
    if len(found) < _TURNS or len(found) < _SHARE * lines or len(speakers) == len(found):
        return ()
    return tuple(found)


def _is_label(text: str, turn: SpeakerTurn) -> bool:
    """True for a labelled line at the top: it says no sentence."""
    stop = text.find("\n", turn.start)
    match = _LABEL.match(text[turn.start : stop if stop >= 0 else len(text)])
    return match is not None and match.group(2).rstrip()[-1] not in ".!?"


def read_labels(text: str) -> str:
    """Return what the labelled lines at the top of a text say of it: "Date: 3 May" gives "3 May"; "" without any."""
    said: list[str] = []
    for line in text.split("\n")[:_MAX_LABEL_LINES]:
        match = _LABEL.match(line)
        if match is None and line.strip() and not line.startswith("#"):
            break
        if match is not None and not match.group(2).rstrip().endswith((".", "!", "?")):
            said.append(match.group(2))
    return " ".join(said)


def split_joined_names(text: str) -> str:
    """Write names that are joined by capitals as several words: "AnnMiller" is "Ann Miller"."""
    return _JOINED_NAMES.sub(" ", text)
