"""The outline of plain text: its title and headings, and the terms that indented text below them defines.

Knows how people lay out text without markup: underlined, numbered and starred lines, lines of one form that recur with
other numbers, lines that stand out to the left of a body that is indented, running heads, and hanging terms. Words are
never changed. Does not know manuals, standards or changelogs, and does not know any language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from corrobora.ports import Heading
from corrobora.text.quantities import find_days, find_releases
from corrobora.text.tokens import TERM_GAP, stem_text

_BROKEN = re.compile(r"(?<=\w)\u2010\n([ \t]*)(\S+)[ \t]*(\n?)")
_QUOTED = re.compile(r"\A(?:>[ \t]?)*")
_FRAMED = re.compile(r"(?m)^([ \t]*)\*([ \t].*)[ \t]\*$")
_WRAPPED = 40  # characters of a line from which the next one goes on
_RULE = re.compile(r"([=\-~^*#+_\"'.])\1{2,}\s*")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})\.?[ \t]{1,6}(?=[^\W_a-z])\S.*")
_STARRED = re.compile(
    r"(\*{1,5}|={2,6}) +(?:\[\[[^\]]*\]\] *)?(?=[^\s=])"
)  # of Org mode and of AsciiDoc, with its anchor
_TWO_COLUMNS = re.compile(r"(\s*\S+(?: \S+){0,5}?)(?: {2,}|\t+ *)(?=\S)")
_OPTION = re.compile(r"\s*--?\w")
_ATTACHED = "        "
_DIGITS = re.compile(r"\d+")
_CELLS = re.compile(r"[ \t]{3,}|\t")
_OPENS_BLOCK = re.compile(r".*[:{(\[,]\s*")  # a statement of a program, or what leads in a list, defines nothing
_MARKED = re.compile(r"\s*(?:[-*•‣◦–+#>|]\)?|\(?\w{1,3}[.)])\s")
_LABELLED = re.compile(rf"{_MARKED.pattern}|\s*[^\W\d_]{{1,8}}:\s")  # "A: ..." answers, "Note: ..." is said
_ENDS_SENTENCE = (".", "!", "?", ";", ":", ",", "…")
_HEADING_CHARS, _OUTDENT_CHARS, _TERM_CHARS = 100, 60, 60
_TERMS = 3  # at most, above one definition
_HANGS = 3  # columns by which a definition is indented below its term
_INDENTED = 0.5  # share of the lines that are indented where a body is
_NEAR_TOP, _PAIR = 5, 2  # headings among which one is called as the file is, and letters that are no abbreviation
_RULED, _RULE_SHARE = 3, 0.6
_SERIES = 3  # lines of one form that stand alone, each with other numbers: releases, chapters, days
_SAME_WORDS = 2  # with which they begin


_COMMENT = re.compile(
    r"""\A(?:\"{3}|'{3}|/[*/]+|\#+|--+|<!--)\s*|\s*(?:\"{3}|'{3}|\*+/|-->)\Z"""
)  # the marks of a comment


def find_title(lines: Sequence[str]) -> str:
    """Return the first line if it stands alone, of a running head the first cell.

    "" if it opens a paragraph, or is the first of a series: "New in 4.3" is no title of the news of all releases.
    """
    at = next((at for at, line in enumerate(lines) if line.strip() and not _RULE.fullmatch(line.strip())), -1)
    if at < 0 or at + 1 >= len(lines):
        return ""
    below = lines[at + 1]
    stands_alone = not below.strip() or _RULE.fullmatch(below) is not None
    title = _CELLS.split(lines[at].strip())[0].removeprefix("= ")
    serial = stands_alone and is_serial(title, [each for n, each in enumerate(lines) if _stands_alone(lines, n)])
    named = stands_alone and not serial and not title.startswith("#!")  # the first line of a script is no title
    title = _COMMENT.sub("", title)
    return title if named and len(title) <= _HEADING_CHARS + 20 else ""


def name_document(title: str, headings: Sequence[Heading], name: str) -> str:
    """Return the title of a document, with the heading near its top that says what its file is called.

    Many files of a work may begin with the name of the work, or with a heading that says little.

    Example:
        >>> name_document("Pumps", [Heading(0, 1, "Pumps"), Heading(9, 2, "Open a Valve")], "open-valve")
        'Pumps: Open a Valve'
    """
    words, joined = set(stem_text(name)), _join_letters(name)
    if not words or not title or not words.isdisjoint(stem_text(title)) or joined in _join_letters(title):
        return title
    for heading in headings[:_NEAR_TOP]:
        initials = "".join(word[0] for word in heading.title.split() if word[0].isalpha()).lower()
        same = joined in (_join_letters(heading.title), initials if len(initials) > _PAIR else "")
        said = set(stem_text(heading.title))
        if same or words == said or (len(words) > 1 and words < said):
            above = any(each.title == title and each.start < heading.start for each in headings[:_NEAR_TOP])
            return f"{title}: {heading.title}" if above else heading.title
    return title


def _join_letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def is_serial(title: str, others: Iterable[str]) -> bool:
    """True if three of the other titles have the form of this one with other numbers, as those of releases have."""
    form = _read_form(title) or _begins_with_release(title)
    return bool(form) and sum(form == (_read_form(each) or _begins_with_release(each)) for each in others) >= _SERIES


def _begins_with_release(title: str) -> str:
    return "0" if title.lstrip("[v")[:1].isdigit() and find_releases(title) else ""


def join_hyphenated(text: str) -> str:
    """Join words that a formatter broke at the end of a line with a hyphen that is used for nothing else (U+2010)."""
    return _BROKEN.sub(lambda cut: f"{cut[2]}\n{'' if cut[3] else cut[1]}", text) if "\u2010\n" in text else text


def open_frames(text: str) -> str:
    """Take the lines of a frame of stars out of it."""
    return _FRAMED.sub(r"\1 \2", text) if "\n***" in text else text


def join_quoted(text: str) -> str:
    """Let the mark of quoted lines (RFC 3676, section 4.5) stand once before each paragraph instead of in each line."""
    if "\n>" not in text:
        return text
    written: list[str] = []
    before = ("", "")
    for line in text.split("\n"):
        own = _QUOTED.sub("", line, count=1)
        mark = "".join(line[: len(line) - len(own)].split())
        goes_on = mark and own and mark == before[0] and len(before[1]) >= _WRAPPED and not _MARKED.match(own)
        written.append(own if goes_on or not own.strip() else line)
        before = (mark, own.strip())
    return "\n".join(written)


def read_outline(lines: Sequence[str]) -> tuple[str, tuple[Heading, ...]]:
    """Return the text with each term on the line of what defines it, and where its headings begin, in order."""
    lines = _attach_paragraphs(lines)
    levels = _find_levels(lines)
    written: list[str] = []
    headings: list[Heading] = []
    size = at = 0
    while at < len(lines):
        end = _find_definition(lines, levels, at)
        terms = " ".join((lines[at], *(each.strip() for each in lines[at + 1 : end - 1] if each.strip())))
        line = f"{terms}{TERM_GAP}{lines[end - 1].strip()}" if end > at + 1 else _part_columns(lines, at)
        if at in levels:
            title = " ".join(_STARRED.sub("", line.strip(), 1).rstrip(" =").removesuffix(":").split())
            headings.append(Heading(size + len(line) - len(line.lstrip()), levels[at], title))
        under = at - 1 in levels and _is_underlined(lines[at - 1].strip(), line)
        if under or _is_overlined(lines, at + 1):  # it says no more than that the line beside it is a heading
            line, end = "", at + 2 if under and not _read_below(lines, at).strip() else end
        written.append(line)
        size += len(line) + 1
        at = max(at + 1, end)
        if at - 1 in levels and at < len(lines) and lines[at].strip() and not _RULE.fullmatch(lines[at].strip()):
            written.append("")  # what stands below a heading is no part of it
            size += 1
    return "\n".join(written), tuple(headings)


def _attach_paragraphs(lines: Sequence[str]) -> Sequence[str]:
    """Indent each paragraph that a line with nothing but a plus sign attaches to the entry of a list above it."""
    found: list[str] = []
    attached = False
    for line in lines:
        attached = bool(line.strip()) and (attached or (line == "+" and bool(found and found[-1].strip())))
        found.append("" if attached and line == "+" else _ATTACHED * attached + line)
    return found


def _find_definition(lines: Sequence[str], levels: Mapping[int, int], at: int) -> int:
    """Return the line after the first one of a definition if a term for it stands at `at`, else the line after `at`."""
    before = lines[at - 1] if at else ""
    opens = not before.strip() or at - 1 in levels or _indent(before) > _indent(lines[at])
    below = at
    while opens and below < len(lines) and below - at < _TERMS and below not in levels:
        goes_on = _OPTION.match(lines[at]) and _indent(_read_below(lines, below)) == _indent(lines[at])
        may = _may_be_term(lines[below].rstrip(", ") if goes_on else lines[below])  # a comma leads on to another name
        if not may or _indent(lines[below]) != _indent(lines[at]):
            break
        below += 1
    signs = all(map(_is_of_signs, lines[at:below]))
    text = below + 1 if signs and below + 1 < len(lines) and not lines[below].strip() else below
    hangs = at < below and text < len(lines) and lines[text].strip() and text not in levels
    return text + 1 if hangs and _indent(lines[text]) >= _indent(lines[at]) + _HANGS else at + 1


def _is_of_signs(line: str) -> bool:
    """True for a line of options and what a program takes: "push [-af] [--fuzz=N]"; no heading is written so."""
    words = line.split()
    return _OPTION.match(line) is not None or 2 * sum(map(str.isalpha, words)) <= len(words) - words[0][0].isupper()


def _part_columns(lines: Sequence[str], at: int) -> str:
    """Return a line with a gap for a term if its second column is the one at which the text below goes on."""
    found = None if _MARKED.match(lines[at]) else _TWO_COLUMNS.match(lines[at])
    below = _read_below(lines, at) if _read_below(lines, at).strip() else _read_below(lines, at + 1)
    hangs = found is not None and below.strip() and _indent(below) == len(found[0].expandtabs())
    return f"{found[1]}{TERM_GAP}{lines[at][found.end() :]}" if found and hangs else lines[at]


def _may_be_term(line: str) -> bool:
    said = line.strip().removesuffix("::")
    return 0 < len(said) <= (_HEADING_CHARS if _is_of_signs(said) else _TERM_CHARS) and not (
        _OPENS_BLOCK.fullmatch(said) or _MARKED.match(line) or said.endswith(_ENDS_SENTENCE) or _RULE.fullmatch(said)
    )


def _find_levels(lines: Sequence[str]) -> dict[int, int]:
    """Return the lines that are headings with their levels, which follow rules, numbers and columns."""
    body, starred = _find_body_column(lines), any(line.startswith(("** ", "== ")) for line in lines)
    alone = [_stands_alone(lines, at) for at in range(len(lines))]
    forms = Counter(_read_form(line) for line, by_itself in zip(lines, alone, strict=True) if by_itself)
    series = {form for form, count in forms.items() if form and count >= _SERIES}
    dated = [at for at in range(len(lines)) if _heads_release(lines, at)]
    released = frozenset(dated if len(dated) >= _SERIES else ())
    rules: list[str] = []
    found: dict[int, int] = {}
    for at, line in enumerate(lines):
        said = line.strip()
        opens = not at or not lines[at - 1].strip() or at - 1 in found or _is_overlined(lines, at)
        opens = opens or at in released or _is_ruled_off(said, _read_below(lines, at))
        listed = at in released or (alone[at] and _read_form(line) in series)
        if said and opens and len(said) <= _HEADING_CHARS and (listed or _CELLS.search(said) is None):
            stars = _STARRED.match(line) if starred and (alone[at] or line[0] == "=") else None
            level = (
                len(stars.group(1)) + bool(series) if stars else _read_level(line, _read_below(lines, at), body, rules)
            )
            level = level or (len(rules) + 1 if listed else 0)
            found |= {at: level} if level else {}
    return found


def _read_below(lines: Sequence[str], at: int) -> str:
    return lines[at + 1] if at + 1 < len(lines) else ""


def _stands_alone(lines: Sequence[str], at: int) -> bool:
    """True for a short line between blank ones, or a blank one and a rule, that ends like no sentence.

    A line of a series may end in a colon: "Changes in 4.3:".
    """
    said, below = lines[at].strip(), _read_below(lines, at)
    said = said.removesuffix(":") if _read_form(said) else said
    between = (not at or not lines[at - 1].strip()) and (not below.strip() or _RULE.fullmatch(below) is not None)
    return between and 0 < len(said) <= _HEADING_CHARS and not said.endswith(_ENDS_SENTENCE)


def _heads_release(lines: Sequence[str], at: int) -> bool:
    """True for a line that names a release and a day above what is new in it, though no blank line parts them."""
    said, below = " ".join(lines[at][: 2 * _HEADING_CHARS].split()), _read_below(lines, at)
    if (
        (at and lines[at - 1].strip() and not _RULE.fullmatch(lines[at - 1].strip()))
        or len(said) > _HEADING_CHARS
        or not (len(said) < _TERM_CHARS or _MARKED.match(below))
    ):
        return False
    return len(find_releases(said)) + len(find_days(said)) > 1


def _read_form(line: str) -> str:
    """Return what a line has in common with the others of its series, its numbers left open; "" without a number."""
    first = line.split()[:_SAME_WORDS]
    named = any(map(str.isdigit, line)) and "://" not in line and first[0][0].isalpha()
    return _DIGITS.sub("0", " ".join(first)) if named else ""


def _read_level(line: str, below: str, body: int, rules: list[str]) -> int:
    """Return the level of a line that opens a paragraph if it is a heading, else 0; `rules` are those seen so far."""
    said = line.strip()
    if _is_underlined(said, below):
        rule = below.strip()[0]
        rules += [rule] if rule not in rules else []
        return rules.index(rule) + 1
    numbered = _NUMBERED.fullmatch(said)
    if (said.endswith(_ENDS_SENTENCE) and not (numbered and said[-1] == "?")) or not any(map(str.isalpha, said)):
        return 0
    if numbered is not None and not below.strip() and "..." not in said:
        return len(rules) + 1 + numbered.group(1).count(".")
    outside = body and _indent(line) < body and len(said) <= _OUTDENT_CHARS and not _LABELLED.match(line)
    stands = not below.strip() or _indent(below) > _indent(line)
    return len(rules) + 1 + (_indent(line) > 0) if outside and stands else 0


def _is_underlined(said: str, below: str) -> bool:
    rule = below.strip()
    return (
        _RULE.fullmatch(rule) is not None
        and len(rule) >= max(_RULED, _RULE_SHARE * len(said))
        and any(map(str.isalpha, said))
    )


def _is_ruled_off(said: str, below: str) -> bool:
    """True for a line above a double rule of its own length: it needs no blank line above."""
    return _is_underlined(said, below) and set(below.strip()) == {"="} and abs(len(below.strip()) - len(said)) <= 2  # noqa: PLR2004 - miscounted


def _is_overlined(lines: Sequence[str], at: int) -> bool:
    """True if a line stands between two equal rules."""
    rule = lines[at - 1].strip() if 0 < at < len(lines) - 1 else ""
    return bool(rule) and rule == lines[at + 1].strip() and _is_underlined(lines[at].strip(), rule)


def _find_body_column(lines: Sequence[str]) -> int:
    """Return the column at which most text stands if it is indented, else 0."""
    columns = Counter(_indent(line) for line in lines if line.strip())
    indented = sum(count for column, count in columns.items() if column >= _HANGS)
    if not columns or indented < _INDENTED * sum(columns.values()):
        return 0
    return min(sorted(columns, key=lambda column: -columns[column])[:2], key=lambda column: column or len(lines))


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs())
