"""The inline macros of mdoc(7): a line of them as the words that it prints.

Knows which words of a line call a macro, and what each prints around or between the others. Does not know paragraphs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from corrobora.adapters.readers.roff import GLUE

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
