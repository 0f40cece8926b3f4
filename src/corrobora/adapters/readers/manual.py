"""Manual pages: the macros of man(7) and mdoc(7) as headings, entries, paragraphs, tables and examples.

Knows how these macros lay out a page. Fonts and spacing are left out, and a term stands before the text below it. Does
not know pictures, equations or what a page says. Runs in the parser's process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.adapters.readers import TextWriter, decode_text
from corrobora.adapters.readers.roff import (
    CALLED,
    GLUE,
    RoffLines,
    read_escapes,
    split_arguments,
    split_request,
    write_inline,
)
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.quantities import read_date

_GLUED = re.compile(rf"(?:(?<![^\S\n])[^\S\n]++)?{GLUE}[{GLUE} \t]*")
_BULLETS = frozenset("•-*o+·–—○□")
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]")
_TERM_CHARS, _DEEPEST = 298, 20  # of a term; levels by which an example is indented
_ENDS_SENTENCE = (".", ":", "!", "?", ";")
_LISTS = {"-bullet": "•", "-dash": "•", "-hyphen": "•", "-enum": "1", "-column": "|", "-item": "-"}  # others: terms
_STATED = {
    "Ex": "The {} utility exits 0 on success, and >0 if an error occurs.",
    "Rv": "The {}() function returns the value 0 if successful; otherwise the value -1 is returned and the global "
    "variable errno is set to indicate the error.",
}
_BREAKS = frozenset("Nm Ft In Fd".split())  # each begins a line of a synopsis


def read_manual(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of a manual page, titled by its name and section.

    Raises:
        ReadError: `unsupported` for bytes that are no text, `empty` for a page that only names another one.
    """
    page = _PageWriter(RoffLines(decode_text(data, charset).replace(GLUE, "")))
    parsed = page.write_page()
    if not parsed.text and page.points_to:
        raise ReadError(ReadOutcome.EMPTY, f"It only says that its text is that of {page.points_to[:100]}.")
    return parsed


class _PageWriter:
    """Walks the lines of a page."""

    def __init__(self, lines: RoffLines) -> None:
        self._lines = lines
        self._writer = TextWriter()
        self._said: list[str] = []  # of the open paragraph
        self._literal: list[str] | None = None  # lines of an example
        self._wants = ""  # what the next words are: a "term", "more" of it, all up to "Xc", or a heading "SH" or "SS"
        self._terms: list[str] = []  # without their text so far
        self._base = self._inner = self._term_base = 0  # depth of the margin, below a term, of the margin at the terms
        self._margins: list[tuple[int, int]] = []
        self._lists: list[tuple[str, list[list[str]]]] = []  # kind, and items so far
        self._call: list[str] = []  # a function and its arguments
        self._head = ["", "", "", ""]  # title, section, date, source
        self._name = self._section = self._link = self.points_to = ""

    def write_page(self) -> ParsedDocument:
        """Write the whole page."""
        while (line := self._lines.next_line()) is not None:
            request = split_request(line)
            if request is None:
                self._write_words(line)
            else:
                self._write_macro(request[0], split_arguments(request[1]))
        self._end_section()
        title, section, date, source = (_fold(read_escapes(each)) for each in self._head)
        own = _fold(read_escapes(self._name))
        name = own if own.casefold() == title.casefold() else title
        return self._writer.build_parsed(
            f"{name}({section})" if section else name,
            published=read_date(date),
            version=source if any(map(str.isdigit, source)) else "",
        )

    def _write_words(self, line: str) -> None:
        text = read_escapes(line).translate(self._lines.printed)
        if self._wants and text.strip():
            self._take_wanted(text.strip())
        elif self._literal is not None:
            self._literal.append(text)
        elif not line.strip():
            self._end_paragraph()
        else:
            self._said += ["\n", text] if line[0] == " " else [text]
            if self._section == "NAME" and not self._name:
                self._name = text.split(",")[0].split(" ")[0]

    def _take_wanted(self, text: str) -> None:
        wants, self._wants = self._wants, ""
        if wants in ("SH", "SS"):
            self._open_section(text, wants)
        elif wants == "term":
            self._add_term(text)
        else:
            self._terms[-1] += f" {text}"
        if wants not in ("SH", "SS"):
            goes_on = wants == "Xc" or text.endswith(GLUE)
            self._wants = (wants if wants == "Xc" else "more") * (goes_on and len(self._terms[-1]) <= _TERM_CHARS)

    def _write_macro(self, name: str, args: list[str]) -> None:  # noqa: C901 - a flat table of macros
        """Obey a macro; those that nobody knows say nothing."""
        match name:
            case "B" | "I" | "R" | "SM" | "SB" if args:
                self._write_words(" ".join(args))
            case "BI" | "BR" | "IB" | "IR" | "RB" | "RI":
                self._write_words("".join(args))
            case "SH" | "SS" | "Sh" | "Ss":
                self._end_section()
                self._wants = name.upper()
                self._write_words(write_inline(args, "") if name[1].islower() else " ".join(args))
            case "PP" | "P" | "LP" | "HP" | "Pp" | "Lp" | "sp" if self._literal is not None:
                self._literal.append("")
            case "PP" | "P" | "LP" | "HP":
                self._end_entry()
            case "Pp" | "Lp" | "sp" | "YS" | "Ed" if name != "Ed" or self._literal is None:
                self._end_paragraph()
            case "TP" | "TQ" | "IP" | "It":
                self._open_entry(name, args)
            case "RS" | "RE" | "Bl" | "El":
                self._move_margin(name, args)
            case "nf" | "EX" | "Bd" if name != "Bd" or {"-literal", "-unfilled"}.intersection(args):
                self._end_paragraph()
                self._literal = self._literal or []
            case "fi" | "EE" | "Ed":
                self._end_literal()
            case "D1" | "Dl":
                self._end_paragraph()
                self._literal = [_fold(read_escapes(write_inline(args, self._name)))]
                self._end_literal()
            case _:
                self._write_other(name, args)

    def _write_other(self, name: str, args: list[str]) -> None:  # noqa: C901, PLR0912 - a flat table of macros
        """Obey a macro within a paragraph, or one that stands only once in a page."""
        first = args[0] if args else ""
        match name:
            case "br" if self._literal is None and self._said:
                self._said.append("\n")
            case "UR" | "MT":
                self._link = first
            case "UE" | "ME":
                self._write_words(f"<{self._link}>{GLUE}{first}")
            case "SY":
                self._end_paragraph()
                self._write_words(first)
            case "OP":
                self._write_words(f"[{' '.join(args)}]")
            case "MR":
                self._write_words(f"{first}({args[1] if args[1:] else ''}){''.join(args[2:3])}")
            case "TS":
                self._end_paragraph()
                self._writer.add_rows(*_read_table(self._lines.expand_lines(self._lines.take_until("TE"))))
            case "EQ" | "PS":
                self._lines.take_until("EN" if name == "EQ" else "PE")
            case "so":
                self.points_to = first
            case "TH":
                self._head = [*args, "", "", "", ""][:4]
            case "Dd":
                self._head[2] = " ".join(args).removeprefix("$Mdocdate: ")
            case "Dt":
                self._head[:2] = [*args, "", ""][:2]
            case _:
                self._write_mdoc(name, args)

    def _write_mdoc(self, name: str, args: list[str]) -> None:
        """Write the words of a macro of mdoc(7)."""
        match name:
            case "Fo":
                self._call = args[:1]
            case "Fa" if self._call:
                self._call += args
            case "Fc":
                said, self._call = f"{''.join(self._call[:1])}({', '.join(self._call[1:])})", []
                self._write_words(said)
            case "Ex" | "Rv":
                self._write_words(_STATED[name].format(", ".join(args[1:]) or self._name))
            case "Xc":
                self._wants = ""
            case "Nm" if self._section == "NAME" and args and not self._name:
                self._name = args[0]
                self._write_words(write_inline([name, *args], self._name))
            case _ if name in CALLED:
                if self._section == "SYNOPSIS" and name in _BREAKS and self._said:
                    self._said.append("\n")
                self._write_words(write_inline([name, *args], self._name))
            case _ if name[:1] == "%":
                self._write_words(f"{' '.join(args)}{GLUE}{'' if args and args[-1][-1] in '.,' else ','}")
            case _:
                pass

    def _open_section(self, title: str, level: str) -> None:
        self._writer.add_heading(_fold(title), 1 if level == "SH" else 2)
        self._section = _fold(title) if level == "SH" else self._section

    def _open_entry(self, name: str, args: list[str]) -> None:
        """Open an entry: its term, or what marks it as an item, is in the arguments or on the next line."""
        self._end_literal()
        kind = ""
        if name == "It":
            kind, items = self._lists[-1] if self._lists else ("", [])
            if kind == "|":
                items += [_join(self._said).split("\t")] if self._said else []
                self._said = [read_escapes(write_inline(args, self._name))]
                return
            items.append([])
            label = {"": write_inline(args, self._name), "•": "•", "1": f"{len(items)}."}.get(kind, "")
        else:
            label = args[0] if args and name == "IP" else ""
        self._end_paragraph()
        self._inner = int(name != "It" or kind != "-")
        if label:
            self._add_term(read_escapes(label).translate(self._lines.printed))
        open_ = name == "It" and "Xo" in args and "Xc" not in args
        self._wants = "term" if name in ("TP", "TQ") else "Xc" if open_ and label else ""

    def _add_term(self, text: str) -> None:
        self._term_base = self._base
        self._terms.append(text)

    def _move_margin(self, name: str, args: list[str]) -> None:
        """Indent what follows, or end that; a short paragraph above what is indented is a term."""
        self._end_literal()
        if name in ("RS", "Bl"):
            said = _join(self._said)
            if name == "RS" and said and not (self._terms or len(said) > _TERM_CHARS or _ends_sentence(said)):
                self._said = []
                self._add_term(said)
            self._end_paragraph()
            self._margins.append((self._base, self._inner))
            self._base += 1 if name == "RS" else self._inner
            self._inner = 0
        if name == "Bl":
            self._end_entry()
            self._lists.append((next((_LISTS[each] for each in args if each in _LISTS), ""), []))
            return
        if name == "El" and self._lists:
            kind, rows = self._lists.pop()
            if kind == "|":
                self._writer.add_rows([*rows, _join(self._said).split("\t")])
                self._said = []
        if name in ("RE", "El"):
            self._end_entry()
            self._base, self._inner = self._margins.pop() if self._margins else (0, 0)

    def _end_section(self) -> None:
        self._end_literal()
        self._end_entry()
        self._base, self._margins, self._lists, self._wants = 0, [], [], ""

    def _end_entry(self) -> None:
        """End the paragraph; terms without a text stand alone."""
        self._end_paragraph()
        terms, self._terms = self._terms, []
        self._writer.add_block(", ".join(map(_fold, terms)), depth=self._term_base)
        self._inner = 0

    def _end_paragraph(self) -> None:
        """Write the open paragraph, the first one of an entry with its terms or what marks it as an item."""
        said, self._said = _join(self._said), []
        if self._literal is not None:
            self._end_literal()
        if not said:
            return
        label, self._terms = ", ".join(map(_fold, self._terms)), []
        if label in _BULLETS or _NUMBER.fullmatch(label):
            self._writer.add_block(f"{'-' if label in _BULLETS else label} {said}", tight=True, depth=self._term_base)
        elif label:
            self._writer.add_entry(label, said, depth=self._term_base)
        elif said[:1] == "•":
            depth = max(0, self._base + self._inner - 1)  # it is set out by hand to the left of its text
            self._writer.add_block(f"- {said[1:].strip()}", tight=True, depth=depth)
        else:
            self._writer.add_block(said, depth=self._base + self._inner)

    def _end_literal(self) -> None:
        """Write the lines of an example as they are, below terms without a text."""
        lines, self._literal = self._literal, None
        if lines is not None and any(map(str.strip, lines)):
            inner = self._inner
            self._end_entry()
            self._inner = inner
            indent = "  " * min(self._base + inner, _DEEPEST)
            self._writer.add_verbatim("\n".join(indent + line.replace(GLUE, "") for line in lines))


def _join(said: Sequence[str]) -> str:
    """Return the words of a paragraph, without spaces where none belong."""
    return _GLUED.sub("", " ".join(said).replace(" \n ", "\n")).strip()


def _fold(text: str) -> str:
    return " ".join(_GLUED.sub("", text).split())


def _read_table(lines: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Return the rows of a table of tbl(1), and its head."""
    tab, at, forms = "\t", 0, list[str]()
    if lines and lines[0].rstrip().endswith(";"):
        found = re.search(r"tab\s*\((.)\)", lines[0])
        tab, at = found[1] if found else tab, 1
    rows: list[list[str]] = []
    heads = 0
    formats = True
    inside: list[str] | None = None  # the lines of a cell that has several
    for line in lines[at:]:
        said = split_request(line)
        if formats:
            forms.append(line)
            formats = not line.rstrip().endswith(".")
        elif inside is not None and not line.startswith("T}"):
            inside.append(line if said is None else (" " if said[0] in "BI" else "").join(split_arguments(said[1])))
        elif line.startswith("T}") and rows:
            rows[-1] += [" ".join(inside or ()), *line[2:].split(tab)[1:]]
            inside = None
        elif said is not None and not line[1:2].isdigit():
            formats = said[0] == "T&"
        elif line.strip() in ("_", "="):
            heads = heads or int(len(rows) == 1)
        else:
            rows.append(line.split(tab))
        if inside is None and rows and rows[-1] and rows[-1][-1].strip() == "T{":
            rows[-1].pop()
            inside = []
    bold = len(forms) > 1 and all(
        re.search(r"[bB]", each) for each in re.findall(r"[lrcnaLRCNA][^lrcnaLRCNA|]*", forms[0])
    )
    heads = heads or int(bold)
    cells = [[_fold(read_escapes(cell.replace("\\^", ""))) for cell in row] for row in rows]
    return cells[heads:], cells[0] if heads and cells else []


def _ends_sentence(text: str) -> bool:
    """True for what ends like a sentence; a term may end in dots: "ports port,port,..."."""
    return text.endswith(_ENDS_SENTENCE) and not text.endswith("...")
