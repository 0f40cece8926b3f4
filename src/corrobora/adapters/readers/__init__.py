"""Readers: from the bytes of a format to readable text; and what all of them use: decoding, and the writer of the text.

Knows byte order marks, UTF-8, UTF-16, declared character sets and the magic bytes of what is no text; that blocks are
separated by a blank line and rows of a table by a line break, and where each heading starts. Reads plain text, CSV and
the like itself; the modules below know the other formats. Does not know the network or the database.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from corrobora.adapters.readers import outline, paging
from corrobora.adapters.readers.contents import drop_contents
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS
from corrobora.ports import Heading, ParsedDocument
from corrobora.text.authors import clean_authors
from corrobora.text.letterheads import read_letterhead
from corrobora.text.tokens import CODE_GAP, TERM_GAP, sanitize_text, split_words
from corrobora.text.vocabulary import function_word_share

_CONVERT, _UNPACK = "Save it as PDF, DOCX, HTML or text.", "Unpack it and add what it holds."
_RECOGNIZE, _TRANSCRIBE = "Run text recognition (OCR) on it.", "Add a transcript of it."
_PAGE_BYTES = 50_000  # of a picture that may be a page with text: a smaller one decorates
_MAGIC = (
    (b"%PDF-", "a PDF file", "Name it .pdf."),
    (b"{\\rtf", "an RTF file", _CONVERT),
    (b"PK\x03\x04", "a ZIP archive", _UNPACK),
    (b"\x89PNG", "a PNG image", _RECOGNIZE),
    (b"GIF8", "a GIF image", _RECOGNIZE),
    (b"\xff\xd8\xff", "a JPEG image", _RECOGNIZE),
    (b"II*\x00", "a TIFF image", _RECOGNIZE),
    (b"\x1f\x8b", "gzip data", _UNPACK),
    (b"BZh", "bzip2 data", _UNPACK),
    (b"\xfd7zXZ", "xz data", _UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
    (b"\x7fELF", "a program", ""),
    (b"MZ", "a program", ""),
    (b"SQLite format 3", "a database", "Export its tables as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old office file", _CONVERT),
    (b"%!PS", "a PostScript file", "Turn it into a PDF."),
    (b"AT&TFORM", "a DjVu file", "Turn it into a PDF."),
    (b"OggS", "audio or video", _TRANSCRIBE),
    (b"ID3", "audio", _TRANSCRIBE),
    (b"RIFF", "audio, video or an image", _TRANSCRIBE),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16 does
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_REFUSED = frozenset(  # one that hides tags, and those that are no character sets of documents and fail on some bytes
    {"utf-7", "utf7", "unicode-1-1-utf-7", "idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}
)
_BAD_SHARE = 0.05
_FEW_LETTERS = 10  # with accents, which may stand together in any language
_RUN = re.compile("[^\x00-\x7f]{3,}")
_SUPERSETS = {  # what senders mean who name the smaller set, as browsers read it
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
}
_LINE_END = re.compile("\r\n|[\r\x0b\x85]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def decode_text(data: bytes, declared: str = "", within: str = "") -> str:
    """Return the text of `data`, line ends and form feeds as single line feeds; see `decode_pages`."""
    return "\n".join(decode_pages(data, declared, within))


def decode_pages(data: bytes, declared: str = "", within: str = "") -> list[str]:
    """Return the text of `data` as form feeds part it, line ends as single line feeds.

    The character set is `declared` by the sender, or else `within` the document: a server's usual set says little.

    Raises:
        ReadError: `unsupported` for bytes that are no text, of which more than 5 % cannot be decoded, or in a character
            set that nobody names and that is none of a language with Latin letters.
    """
    for magic, what, next_step in _MAGIC:
        if data.startswith(magic) and (magic != b"MZ" or b"\x00" in data[:512]):
            helps = next_step != _RECOGNIZE or len(data) >= _PAGE_BYTES
            raise ReadError(ReadOutcome.UNSUPPORTED, f"It is {what}, not text.", next_step=next_step if helps else "")
    if data[257:262] == b"ustar":
        raise ReadError(ReadOutcome.UNSUPPORTED, "It is a TAR archive, not text.", next_step=_UNPACK)
    text = _decode_bytes(data, _choose_codec(declared) or _choose_codec(within))
    bad = text.count("�") + len(_CONTROL.findall(text))
    if bad > _BAD_SHARE * len(text):
        raise ReadError(ReadOutcome.UNSUPPORTED, f"It is not text: {bad} of {len(text)} characters are not readable.")
    return [_clean_text(page) for page in _LINE_END.sub("\n", text).split("\f")]


def _clean_text(text: str) -> str:
    """Return text without what is not shown of it: control characters, and hyphens where a word might be broken."""
    return sanitize_text(text).replace("\xad", "").replace(CODE_GAP, " ")  # only a writer marks code


def _decode_bytes(data: bytes, named: str) -> str:
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if data and b"\x00" in data[:4096]:
        return data.decode(_guess_utf16(data), "replace")
    if data.isascii() and (named.startswith(("iso2022", "hz")) or b"\x1b$B" in data):
        return data.decode(named or "iso2022_jp", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        mended = data.decode("utf-8", "replace")
    if named:
        return data.decode(named, "replace")
    right = sum(letter > "\x7f" for letter in mended) - mended.count("�")
    if right > mended.count("�"):  # UTF-8 with some bytes of something else
        return mended
    text = data.decode("cp1252", "replace")
    runs = (run for run in _RUN.findall(text) if len(set(run)) > 1)  # no lines of dashes
    together = sum(map(len, runs))  # letters with accents stand alone among others
    if together > max(_FEW_LETTERS, sum(letter > "\x7f" for letter in text) / 2):
        raise ReadError(ReadOutcome.UNSUPPORTED, "Its character set is not known.", next_step="Save it as UTF-8.")
    return text


def _guess_utf16(data: bytes) -> str:
    """Name the UTF-16 order in which most odd or even bytes are zero; UTF-8 if neither, so that NULs are counted."""
    even, odd = data[0:4096:2].count(0), data[1:4096:2].count(0)
    sampled = len(data[:4096]) // 2
    if odd > 0.3 * sampled and odd > even:
        return "utf-16-le"
    if even > 0.3 * sampled and even > odd:
        return "utf-16-be"
    return "utf-8"


def _choose_codec(declared: str) -> str:
    """Return the declared codec, "" for none, for those that are guessed better, no text codecs, and utf-7."""
    name = declared.strip().strip("\"'").lower()
    if not name or name in _REFUSED or name in {"utf-8", "utf8", "ascii", "us-ascii", "iso-8859-1", "latin-1"}:
        return ""
    plain = re.sub(r"^(?:x-)+|-i$", "", name)
    for label in (name, plain, re.sub("^(?:windows|dos)-", "cp", plain)):
        with suppress(LookupError, ValueError):
            info = codecs.lookup(label)
            refused = info.name.replace("_", "-") in _REFUSED or not getattr(info, "_is_text_encoding", True)
            return "" if refused else _SUPERSETS.get(info.name, info.name)
    return ""


_SPACES = re.compile(r"[^\S\n]+")
_INDENT, _DEEPEST = "  ", 20  # of an item for each list around its own, and at most so many
_TITLE_CHARS = 300
_SNIFFED = 8_192  # characters from which the delimiter of a table of values is told
_DELIMITERS = "\t;|,"  # of two that fit alike the first: the others stand in cells


_PROSE = 0.38  # share of function words from which a block that is set as code is prose


_HEAD_WORDS = 6
_STARTS_VALUE = re.compile(r"[\d+€$£-]|\S+@")


def may_be_heads(row: Sequence[str]) -> bool:
    """False for a first row such as "Core hours | 10:00 to 15:00": its table pairs names with what they stand for."""
    value = row[1].strip() if len(row) == 2 else ""  # noqa: PLR2004 - a pair
    return not (_STARTS_VALUE.match(value) or value.endswith(".") or len(value.split()) >= _HEAD_WORDS)


class TextWriter:
    """Collects blocks of readable text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._kind = ""

    def add_block(self, text: str, *, tight: bool = False, depth: int = 0) -> int:
        """Append a block and return where it starts, -1 for one without words.

        `tight` keeps an item of a list close to the item before it; an item of a list inside an item is indented by its
        `depth`.
        """
        return self._add_near(text, "item" if tight else "", _INDENT * min(depth, _DEEPEST))

    def _add_near(self, text: str, kind: str, indent: str = "") -> int:
        """Append a block on the next line if the block before it is of the same kind, else after a blank line."""
        text = fold_spaces(_clean_text(text))  # an entity may have brought what the bytes did not show
        if not text:
            return -1
        if self._parts:
            self._append_text("\n" if kind and kind == self._kind else "\n\n")
        self._append_text(indent + text)
        self._kind = kind
        return self._length - len(text)

    def add_entry(self, term: str, text: str, *, depth: int = 0) -> None:
        """Append a term and what defines it on one line."""
        start = self._add_near(f"{term}\n{text}", "", _INDENT * min(depth, _DEEPEST))
        if start >= 0:
            self._parts[-1] = self._parts[-1].replace("\n", TERM_GAP, 1)

    def note_page(self, start: int, number: int) -> None:
        """Note the page on which the text from `start` stands, in place of a heading."""
        if self._headings and self._headings[-1].start == start:  # of a page without text
            self._headings.pop()
        self._headings.append(Heading(start, 1, f"p. {number}"))

    def add_rows(self, rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> None:
        """Append the rows of a table, one on a line: "Head: cell; Head: cell." under a head, else "cell | cell".

        Empty cells are left out. A row with another number of cells than the head is written without it.
        """
        if head and all(len(row) != len(head) for row in rows):
            rows, head = [head, *rows], ()
        for row in rows:
            cells = [" ".join(cell.split()) for cell in row]
            names = [" ".join(name.split()) for name in head] if len(head) == len(row) else []
            named = [
                f"{name.rstrip(' :：')}: {cell}" if name else cell
                for name, cell in zip(names, cells, strict=False)
                if cell
            ]
            line = "; ".join(named)
            if any(names) and named:
                line += "" if line[-1] in ".!?" else "."
            else:
                line = " | ".join(cell for cell in cells if cell)
            self._add_near(line, "row")

    def add_written(self, other: TextWriter) -> None:
        """Append what another writer has collected."""
        if self._parts and other._parts:
            self._append_text("\n\n")
        self._headings += [replace(each, start=each.start + self._length) for each in other._headings]
        self._parts += other._parts
        self._length += other._length
        self._kind = other._kind

    def add_verbatim(self, text: str, *, code: bool | None = None, depth: int = 0) -> None:
        """Append a block as it is, where spaces mean something; each line of `code` is marked as such.

        What only may be code is code unless it has as many function words as prose. Inside an item it is indented.
        """
        text = _clean_text(text).strip("\n").rstrip()
        if not text.strip():
            return
        if code or (code is None and function_word_share(split_words(text)) < _PROSE):
            indent = CODE_GAP + _INDENT * min(depth, _DEEPEST)
            text = "\n".join(f"{indent}{line}".rstrip(" ") for line in text.split("\n"))
        if self._parts:
            self._append_text("\n\n")
        self._append_text(text)
        self._kind = ""

    def add_heading(self, text: str, level: int) -> None:
        """Append a heading and note where it starts."""
        text = " ".join(_clean_text(text).split())
        if not text:
            return
        if self._parts:
            self._append_text("\n\n")
        self._headings.append(Heading(self._length, level, text[:_TITLE_CHARS]))
        self._append_text(text)
        self._kind = ""

    def _append_text(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    @property
    def first_heading(self) -> str:
        """The text of the first heading of the highest level, "" if there is none or it is one of a series."""
        top = min((heading.level for heading in self._headings), default=0)
        titles = [heading.title for heading in self._headings if heading.level == top]
        return titles[0] if titles and not outline.is_serial(titles[0], titles) else ""

    def build_parsed(  # noqa: PLR0913 - named parts of one value
        self,
        title: str = "",
        *,
        published: str = "",
        version: str = "",
        publisher: str = "",
        truncated: bool = False,
        note: str = "",
        authors: Iterable[str] = (),
    ) -> ParsedDocument:
        return ParsedDocument(
            title=" ".join(_clean_text(title).split())[:_TITLE_CHARS] or self.first_heading,
            text="".join(self._parts),
            headings=tuple(self._headings),
            published=published,
            version=version,
            publisher=publisher,
            truncated=truncated,
            note=note,
            authors=clean_authors(authors),
        )


def fold_spaces(text: str) -> str:
    """Fold runs of spaces, strip every line, drop empty lines."""
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


_OUTLINE_LINES = 500_000  # a longer text is hardly laid out by hand, and its outline would take seconds


def read_text(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of a file with its outline. Raises `ReadError` if the bytes are no text."""
    whole, dated = paging.join_pages(decode_pages(data, charset))
    whole = drop_contents([whole])[0]
    written = outline.join_quoted(outline.open_frames(outline.join_hyphenated(whole)))
    lines = [line.rstrip() for line in written.strip("\n").split("\n")]
    text, headings = outline.read_outline(lines) if len(lines) <= _OUTLINE_LINES else ("\n".join(lines), ())
    above = headings[0].title if headings and all(each.level > headings[0].level for each in headings[1:]) else ""
    title, stated = read_letterhead("\n".join(lines))
    named = outline.find_title(lines) or title or above
    return ParsedDocument(title=named, text=text, headings=headings, published=stated or dated)


def read_csv(data: bytes, charset: str = "") -> ParsedDocument:
    """Read a table of values: each row becomes a line that names its heads. Raises `ReadError` if it is not text.

    What stands before the head, parted by a blank line or marked as a comment, is kept without names. A text that is no
    table is read as plain text.
    """
    text = decode_text(data, charset)
    first, _, rest = text.partition("\n")
    named = first.removeprefix("sep=") if first.startswith("sep=") else ""  # as spreadsheets write and read it
    text = rest if named else text
    try:
        delimiter = named[:1] or max(_DELIMITERS, key=lambda each: _rate_rows(_split_rows(text[:_SNIFFED], each)))
        above, head, rows = _find_head(_split_rows(text, delimiter))
    except csv.Error:
        above, head, rows = [], [], []
    if not (head and rows):
        return read_text(data, charset)
    out = TextWriter()
    out.add_rows(above)
    out.add_rows(rows, head)
    return out.build_parsed()


def _split_rows(text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(LIMITS.text_max_chars)
    return list(csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))


def _find_width(rows: Iterable[Sequence[str]]) -> int:
    """Return the commonest number of cells above one, 0 if no row has several; of two the larger."""
    widths = Counter(len(row) for row in rows if len(row) > 1)
    return max(widths, key=lambda width: (widths[width], width), default=0)


def _rate_rows(rows: Sequence[Sequence[str]]) -> float:
    """Return how far the rows agree on a number of cells: the right delimiter makes the most alike."""
    width = _find_width(rows)
    return sum(len(row) == width for row in rows) / max(1, sum(any(row) for row in rows))


def _find_head(rows: list[list[str]]) -> tuple[list[list[str]], list[str], list[list[str]]]:
    """Return what stands above the table, its head, and its rows, each with a cell for each head; no head if none is.

    Empty cells at the end of a row say nothing: a head may have fewer of them than its rows.
    """
    width = _find_width(rows)
    ends = [max((at for at, cell in enumerate(row, start=1) if cell), default=0) for row in rows]
    least = _find_width(row[:end] for row, end in zip(rows, ends, strict=True))
    at = next((at for at, end in enumerate(ends) if 1 < least <= end), 0)
    above = [row for row in rows[:at] if any(row)]
    apart = not above or not ends[at - 1] or all(row[0].startswith("#") for row in above)
    if not (least and apart):
        return [], [], []
    found = [row[:end] + [""] * (width - end) for row, end in zip(rows[at:], ends[at:], strict=True) if end]
    return above, found[0], found[1:]
