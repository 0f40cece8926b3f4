"""roff, the language of manual pages: its lines after conditions and macros, and the signs that its escapes name.

Knows strings, registers, conditions, macros that a page defines, and the names of signs, all within a bound that grows
with the page: a macro may call itself. Of mdoc(7) it knows the macros inside a line and what each prints around or
between its words. Does not know the macros of paragraphs, nor fonts, sizes and places.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Sequence

GLUE = "\ue001"  # of private use: no space belongs where it stands
_SIGNS = (
    "bu • co © rg ® tm ™ em — en – hy - lq “ rq ” oq ‘ cq ’ dq \" aq ' ga ` ha ^ ti ~ rs \\ at @ sh # Do $ ba ∣ br "
    "│ ul _ ru _ rn ‾ sl / bv │ lB [ rB ] lC { rC } la ⟨ ra ⟩ -> → <- ← <> ↔ ua ↑ da ↓ rA ⇒ lA ⇐ >= ≥ <= ≤ != ≠ == "
    "≡ ~~ ≈ ~= ≅ mu × di ÷ +- ± -+ ∓ ** ∗ pl + mi − eq = sq □ ci ○ de ° sc § ps ¶ dg † dd ‡ 14 ¼ 12 ½ 34 ¾ S1 ¹ S2 "
    "² S3 ³ Eu € Po £ Ye ¥ ct ¢ ss ß AE Æ ae æ OE Œ oe œ /O Ø /o ø oA Å oa å -D Ð Sd ð TP Þ Tp þ .i ı Fo « Fc » fo "
    "‹ fc › r! ¡ r? ¿ ff ff fi fi fl fl Fi ffi Fl ffl if ∞ es ∅ mo ∈ nm ∉ sb ⊂ sp ⊃ ca ∩ cu ∪ fa ∀ te ∃ no ¬ AN ∧ "
    "OR ∨ sr √ sum ∑ product ∏ is ∫ pd ∂ gr ∇ aa ´ ac ¸ ad ¨ a^ ^ a~ ~ OK ✓ CR ↵ lh ☜ rh ☞"
).split()
_GLYPHS = dict(zip(_SIGNS[::2], _SIGNS[1::2], strict=True))
_MARKS = {":": "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ",": "\u0327", "v": "\u030c"}
_GREEK = dict(zip("abgdezyhiklmncoprstufxqw", "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
_ESCAPE = re.compile(
    r"""\\(?:\((?P<two>..)|\[(?P<long>[^\]\n]{0,60})\]|C'(?P<named>[^'\n]{0,60})'|N'(?P<code>\d{1,6})'
    |[fFmMgkYVn](?:[+-]?\((?:..)|\[[^\]\n]{0,60}\]|.)|s[+-]?(?:\(..|\[[^\]\n]{0,60}\]|'[^'\n]{0,60}'|[1-3]\d|\d)
    |(?P<drawn>[hvlLDbxXZRoAHSBw])'(?P<inner>(?:\\.|[^'\n\\]){0,200}+)'|(?P<one>.)|$)""",
    re.VERBOSE,
)
_SINGLE = {"e": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "c": GLUE} | dict.fromkeys("&|^%:/,){}udrzap!?", "")


def _name_glyph(name: str) -> str:
    """Return the sign that has a name: of the table, a letter with an accent, a Greek letter, or a code point."""
    if name in _GLYPHS:
        return _GLYPHS[name]
    if re.fullmatch(r"u[0-9A-F]{4,6}", name) and int(name[1:], 16) < 0x110000:  # noqa: PLR2004 - the end of Unicode
        return chr(int(name[1:], 16))
    if len(name) == 2 and name[0] in _MARKS and name[1].isalpha():  # noqa: PLR2004
        return unicodedata.normalize("NFC", name[1] + _MARKS[name[0]])
    if name[:1] == "*" and name[1:].lower() in _GREEK:
        letter = _GREEK[name[1:].lower()]
        return letter.upper() if name[1:].isupper() else letter
    return ""


def read_escapes(text: str) -> str:
    r"""Return a text with the signs that its escapes name.

    Example:
        >>> read_escapes(r"\fB\-a\fP \(co caf\['e] \s-2x\s0\&.")
        '-a © café x.'
    """

    def write(found: re.Match[str]) -> str:
        name = found["two"] or found["long"] or found["named"]
        if name is not None:
            return _name_glyph(name)
        if found["code"]:
            return chr(min(int(found["code"]), 0xFFFF))
        if found["drawn"]:
            inner = found["inner"]
            return (
                read_escapes(inner) if found["drawn"] in "bZo" else " " * (found["drawn"] == "h" and inner[:1] != "-")
            )
        if found["one"] == "c" and text[found.start() - 1 : found.start()] == " ":
            return ""
        return _SINGLE.get(found["one"], found["one"]) if found["one"] else ""

    return _ESCAPE.sub(write, text) if "\\" in text else text


_REQUEST = re.compile(r"[.'][ \t]*([^\s\\]*)[ \t]*")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*+)"?|((?:\\.|[^\s\\])++\\?)')
_STRING = re.compile(r"\\\*(?:\((..)|\[([^\]\n]{0,60})\]|(.))")
_REGISTER = re.compile(r"\\n[+-]?(?:\((..)|\[([^\]\n]{0,60})\]|(.))")
_OF_CALL = re.compile(r"\\{1,2}\$(\d|\*|@)")
_COMMENT = re.compile(r'(?<!\\)((?:\\\\)*)\\["#].*')
_COMPARED = re.compile(r"\(*(-?\d{1,9})\d*[a-z]?\)*(?:(<=|>=|==?|<|>)\(*(-?\d{1,9}))?")
_KNOWN = {".g": 1, ".x": 1, ".y": 22, ".H": 24, ".V": 40}  # registers of the program that formats pages
_MOST_CHARS, _MOST_LINES = 5_000, 500  # of a string, and of a macro
_SPARE_FACTOR, _SPARE = 8, 100_000  # characters that the macros of a page may become


class RoffLines:
    """Yields the lines of a page after its own strings, conditions and macros."""

    def __init__(self, text: str) -> None:
        joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\n", r"\1", text)  # a line that goes on
        self._lines = deque(joined.split("\n"))
        self._macros: dict[str, list[str]] = {}
        self._strings = {"R": "®", "Tm": "™", "lq": '"', "rq": '"'}
        self._registers = dict(_KNOWN)
        self._branches: list[bool] = []
        self._spare = _SPARE_FACTOR * len(text) + _SPARE
        self.printed: dict[int, str] = {}  # what the page wants printed in place of a character

    def next_line(self) -> str | None:
        """Return the next line that is no matter of roff itself, None at the end."""
        while self._lines:
            line = _COMMENT.sub(r"\1", self._lines.popleft())
            request = _REQUEST.match(line)
            if request is None:
                if line.strip() != r"\}":
                    return self._expand(line)
            elif not self._obey(request[1], line[request.end() :]):
                return self._expand(line)
        return None

    def take_until(self, end: str) -> list[str]:
        """Return the lines before the request `end`, as they are."""
        found: list[str] = []
        while self._lines:
            line = self._lines.popleft()
            request = _REQUEST.match(line)
            if request is not None and (request[1] or line.strip()) == end:
                break
            found.append(line)
        return found

    def expand_lines(self, lines: Sequence[str]) -> list[str]:
        """Return lines with the strings of the page in place of their names."""
        return [self._expand(_COMMENT.sub(r"\1", line)) for line in lines]

    def _obey(self, name: str, rest: str) -> bool:
        """True for a request of roff itself, which is carried out."""
        match name:
            case "if" | "ie" | "while":
                truth, rest = self._read_condition(self._expand(rest))
                self._branches += [truth] if name == "ie" else []
                self._choose(truth and name != "while", rest)
            case "el":
                self._choose(not (self._branches.pop() if self._branches else True), rest)
            case "de" | "de1" | "am" | "am1" | "dei" | "ig":
                own, end, *_ = *rest.split(), "", ""
                body = self.take_until((own if name == "ig" else end) or ".")
                if name != "ig":
                    self._macros[own] = [*(self._macros.get(own, []) if name[0] == "a" else []), *body][:_MOST_LINES]
            case "ds" | "ds1" | "as" | "as1":
                own, _, value = rest.partition(" ")
                value = self._expand(value.lstrip().removeprefix('"')).replace("\\\\", "\\")
                self._strings[own] = ((self._strings.get(own, "") if name[0] == "a" else "") + value)[:_MOST_CHARS]
            case "nr":
                own, value, *_ = *self._expand(rest).split(), "", "0"
                number = re.match(r"[+-]?\d{1,9}", value)
                self._registers[own] = int(number[0]) if number else 0
            case "als":
                own, value, *_ = *rest.split(), "", ""
                self._macros[own] = self._macros.get(value, [])
            case "tr":
                signs = read_escapes(rest)
                self.printed |= {ord(one): other for one, other in zip(signs[::2], signs[1::2], strict=False)}
            case "do" | "nop":
                self._lines.appendleft(f".{rest}" if name == "do" else rest)
            case _:
                return name in self._macros and self._call(name, rest)
        return True

    def _call(self, name: str, rest: str) -> bool:
        """Put the lines of a macro in place of its call, as long as the page has not made too much of it."""
        if self._spare <= 0:
            return True
        given = split_arguments(self._expand(rest))
        values = {str(at): value for at, value in enumerate(given[:9], start=1)} | dict.fromkeys("*@", " ".join(given))
        lines = [
            _OF_CALL.sub(lambda at: values.get(at[1], ""), each).replace("\\\\", "\\") for each in self._macros[name]
        ]
        self._spare -= sum(map(len, lines)) + len(lines)
        self._lines.extendleft(reversed(lines))
        return True

    def _choose(self, truth: bool, rest: str) -> None:  # noqa: FBT001 - the one thing that it is told
        """Go on with what a condition holds, or behind it; a line of nothing but conditions is read to a bound."""
        self._spare -= len(rest)
        if truth and self._spare > 0:
            inner = rest.lstrip().removeprefix("\\{").lstrip(" \t")
            self._lines.extendleft([inner] if inner else [])
            return
        depth = rest.count("\\{") - rest.count("\\}")
        while depth > 0 and self._lines:
            line = self._lines.popleft()
            depth += line.count("\\{") - line.count("\\}")

    def _read_condition(self, text: str) -> tuple[bool, str]:
        """Return whether a condition holds on a screen of letters, and what follows it."""
        text = text.lstrip()
        plain = text.lstrip("!")
        wanted = (len(text) - len(plain)) % 2 == 0
        plain = plain.lstrip()
        named = re.match(r"([drcFmS])\s*([^\s\\]+)", plain)
        if plain[:1] in "noetv" and not plain[1:2].isalnum():
            return (plain[:1] in "no") == wanted, plain[1:]
        if named is not None:
            known = {"d": {*self._macros, *self._strings}, "r": {*self._registers}}.get(named[1], set[str]())
            return (named[2] in known) == wanted, plain[named.end() :]
        if plain[:1] and not plain[0].isalnum() and plain[0] not in "\\(+-":
            one, _, behind = plain[1:].partition(plain[0])
            other, _, behind = behind.partition(plain[0])
            return (one == other) == wanted, behind
        expression = re.match(r"(?:(?!\\\{)\S)*", plain)
        said = expression[0] if expression else ""
        holds = any(all(map(_compare, each.split("&"))) for each in said.split(":"))
        return holds == wanted, plain[len(said) :]

    def _expand(self, line: str) -> str:
        if "\\" not in line:
            return line
        wide = _STRING.sub(lambda name: self._strings.get(name[1] or name[2] or name[3] or "", ""), line)
        wide = _REGISTER.sub(lambda name: str(self._registers.get(name[1] or name[2] or name[3] or "", 0)), wide)
        self._spare -= max(0, len(wide) - len(line))
        return wide if self._spare > 0 else line


def _compare(text: str) -> bool:
    """True for a number above 0, or two that compare as it is said."""
    found = _COMPARED.match(text)
    if found is None:
        return False
    one, sign, other = int(found[1]), found[2], int(found[3] or 0)
    return {None: one > 0, "<": one < other, ">": one > other, "<=": one <= other, ">=": one >= other}.get(
        sign, one == other
    )


def split_request(line: str) -> tuple[str, str] | None:
    """Return the name of a request and what stands behind it, None for a line of text."""
    found = _REQUEST.match(line)
    return (found[1], line[found.end() :]) if found else None


def split_arguments(text: str) -> list[str]:
    r"""Return the arguments of a macro: words, and texts in quotation marks.

    Example:
        >>> split_arguments("-a \", \" bc")
        ['-a', ', ', 'bc']
    """
    return [found[2] or found[1].replace('""', '"') for found in _ARGUMENT.finditer(text)]


_AROUND = {"Op": "[]", "Aq": "<>", "Bq": "[]", "Brq": "{}", "Dq": '""', "Sq": "''", "Qq": '""', "Pq": "()", "Ql": "''"}
_OPEN = {"Oo": "[", "Ao": "<", "Bo": "[", "Bro": "{", "Do": '"', "So": "'", "Qo": '"', "Po": "(", "Xo": ""}
_CLOSE = {"Oc": "]", "Ac": ">", "Bc": "]", "Brc": "}", "Dc": '"', "Sc": "'", "Qc": '"', "Pc": ")", "Xc": ""}
_SYSTEMS = {"Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Dx": "DragonFly", "Bsx": "BSD/OS", "Ux": "UNIX"}
_BEFORE = {"Nd": "- ", "Ns": GLUE, "Ap": f"{GLUE}'{GLUE}", "Ta": "\t"}
_ABSENT = {"Ar": "file ...", "Pa": "~", "Mt": "~"}  # what they print without an argument
_PLAIN = "Ad An Ar At Bx Cd Cm Dv Em Er Ev Fa Fl Fn Ft Ic In Fd Lb Li Lk Ms Mt Nm No Pa Pf St Sx Sy Tn Va Vt Xr".split()
CALLED = frozenset({*_PLAIN, *_AROUND, *_OPEN, *_CLOSE, *_SYSTEMS, *_BEFORE})
_ENDS, _OPENS = frozenset(".,:;)]?!"), frozenset("([")


def write_inline(words: Sequence[str], name: str) -> str:
    """Return what a line of macros prints; `name` is that of the page. `GLUE` stands where no space belongs.

    Example:
        >>> write_inline(["Nm", "Op", "Fl", "a", "Ar", "n", "."], "cat").replace(GLUE, "~")
        'cat [~ -a n ~] ~.'
    """
    rest, behind = deque(words), deque[str]()
    while rest and rest[-1] in _ENDS:
        behind.appendleft(GLUE + rest.pop())
    out: list[str] = []
    macro = ""
    while rest:
        word = rest.popleft()
        if word in CALLED:
            macro = word
            given = _take_plain(rest)
            if word in _AROUND:
                out.append(_AROUND[word][0] + GLUE)
                behind.appendleft(GLUE + _AROUND[word][1])
            out.append(_print_macro(word, given, name, last=not rest))
        elif word in _ENDS:
            out.append(GLUE + word)
        elif word in _OPENS:
            out.append(word + GLUE)
        else:
            out.append(f"-{word}" if macro == "Fl" and word != "|" else word)
    return " ".join((*out, *behind))


def _take_plain(rest: deque[str]) -> list[str]:
    """Take the words from the begin of a line that neither call a macro nor are punctuation."""
    given: list[str] = []
    while rest and rest[0] not in CALLED and rest[0] not in _ENDS and rest[0] not in _OPENS and rest[0] != "|":
        given.append(rest.popleft())
    return given


def _print_macro(macro: str, given: list[str], name: str, *, last: bool) -> str:  # noqa: C901, PLR0911 - a flat table
    said = " ".join(given)
    match macro:
        case "Fl":
            return " ".join(f"-{each}" for each in given) or f"-{'' if last else GLUE}"
        case "Nm":
            return said or name
        case "Xr":
            return f"{''.join(given[:1])}({''.join(given[1:2])}) {' '.join(given[2:])}" if given[1:] else said
        case "Fn":
            return f"{''.join(given[:1])}({', '.join(given[1:])})"
        case "In":
            return f"#include <{said}>"
        case "Lk":
            return f"{' '.join(given[1:])}{GLUE}: {given[0]}" if given[1:] else said
        case "St":
            return f"IEEE Std {said[2:]}" if said.startswith("-p") else said.removeprefix("-")
        case "Bx":
            return f"{''.join(given[:1])}BSD {' '.join(given[1:])}"
        case "At":
            return f"AT&T UNIX {said}"
        case "Pf":
            return f"{said}{GLUE}"
        case _ if macro in _SYSTEMS:
            return f"{_SYSTEMS[macro]} {said}"
        case _:
            around = _OPEN[macro] + GLUE if macro in _OPEN else GLUE + _CLOSE[macro] if macro in _CLOSE else ""
            return f"{around or _BEFORE.get(macro, '')}{' ' * bool(around and said)}{said or _ABSENT.get(macro, '')}"
