"""PDF: pages as paragraphs, with the words that lines cut, and headings told by the height of their letters.

Knows pdfium, a limit of pages, the page on which each passage begins, and the ways in which a PDF has nothing to read.
Does not run scripts or open attachments. Runs in the parser's process, because hostile files may end it.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING

from corrobora.adapters.readers import TextWriter, fold_spaces
from corrobora.adapters.readers.contents import drop_contents
from corrobora.adapters.readers.paging import drop_running_lines
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS
from corrobora.ports import ParsedDocument
from corrobora.text.authors import read_byline
from corrobora.text.letterheads import find_full_date
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import CODE_GAP, sanitize_text, split_words

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

_PAGE = "\x01"  # begins each page while lines are joined; no page holds one
_HYPHEN = re.compile(r"(-?\b[^\W\d_]+)(?:\ufffe\n?|[-\u2010\u00ad]\n)(?=\x01?([^\W\d_]+))")
_JOINED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SERIES = frozenset(("and", "or", "und", "oder"))  # "pre- and postwar"
_LINE_ENDS = re.compile(r"\r\n?")
# TeX's fonts of before 1990 have ligatures in places of control characters, a carriage return among them.
_OLD_TEX = re.compile(r"[a-z][\x0b\x0c\x0e\x0f][a-z]")
_LIGATURES = {"\x0b": "ff", "\x0c": "fi", "\r": "fl", "\x0e": "ffi", "\x0f": "ffl"}
_LIGATURE = re.compile(r"[\x0b-\x0f](?=[a-z])|(?<=[a-z])[\x0b-\x0f]")
_TEX_QUOTED = re.compile(r'(?<![\w\\])\\(?=[\w-])([^\\"\n]{1,120})"')
_TEX_RANGE = re.compile(r"(?<=\w)\{(?=\w)")
_CUT = re.compile(r"\ufffe\n?")  # a hyphen at a line end before a capital or a digit stays a hyphen
_NOT_TEXT = re.compile("[\uffff\u00ad]")
_ACCENT = re.compile(  # before its letter, as TeX draws it; "it\u00b4s" has an apostrophe
    r"((?<=[^\W\d_])[\u00a8\u00b4\u02c7\u02da](?!s\b)|(?<!\S)\u00a8)([^\W\d_])"
)
_COMBINING = {"\u00a8": "\u0308", "\u00b4": "\u0301", "\u02c7": "\u030c", "\u02da": "\u030a"}
_NOTE_NUMBER = re.compile(r"\d{1,2}(?=[A-Z][a-z])")
_PUBLISHED = re.compile(
    r"(?is)\bpublished\b[^\u00a9]{0,200}\u00a9\s*((?:19|20)\d\d)\b|\bpublished(?: online)?:?\s([^\n]{8,30})"
)
_DATE_WORDS = 6  # of a line that says when a work was written
_NUMBER = re.compile(r"[-−+]?[\d.,%]*\d[\d.,%]*")
_FEW_NUMBERS, _NUMBER_SHARE = 3, 0.6  # of a row of a table, or of the axis of a figure
_ROWS = 6
_STOPS = re.compile(r"[.!?:;](?:\s|\Z)")
_HEADER_BYTES = 1024
_SHORT_LINE = 0.6
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_RAISED = 2  # characters of a line that may be a mark above or below the others
_MEASURED, _MEASURED_DRAWN, _HIGH = 3, 12, 0.8  # letters of a line
_FILE_NAME = re.compile(r"\S+\.[A-Za-z]\w{1,3}")
_WORD = re.compile(r"[^\W\d_]{3,}")
_OTHER_SIZE = 1.1  # times the height of the letters before; the sizes of one font in one paragraph differ less
_BOLD = re.compile(rb"(?i)bold|black|heavy|(?<![a-z])cmb")  # in the name of a font
_FONT_BYTES = 200  # of its name
_BOLD_SIZE = 1.15  # times their height
_TITLE_SIZE = 1.3  # times the height of most lines of the first page
_TITLE_LETTERS, _TITLE_CHARS = 5, 150  # at least, and at most
_LETTERS = re.compile(r"[A-Z\u00c0-\u00de]*[a-z\u00df-\u024f\u0370-\u04ff]*")  # a capital inside begins a word
_GLUED_WORD = 22  # letters; a longer word is nearly always several
_BEGINS, _ENDS = re.compile("\\b[םןץףךةى](?=\\w)"), re.compile("(?<=\\w)[םןץףךةى]\\b")
_FEW_LETTERS = 3
_GLUED_SHARE = 0.1  # of all letters


def read_pdf(data: bytes, charset: str = "", *, max_pages: int = LIMITS.pdf_max_pages) -> ParsedDocument:
    """Return the text of at most `max_pages` pages; `truncated` says that there were more.

    The headings are the pages ("p. 12"), each at the first sentence that begins on it.

    Raises:
        ReadError: `broken`, `encrypted`, `too_large` for what unpacks without end, `empty` for scans without text,
            `not_content` for text whose words cannot be told apart.
    """
    del charset
    if b"%PDF" not in data[:_HEADER_BYTES]:
        raise ReadError(ReadOutcome.BROKEN, "It does not begin like a PDF file.")
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 - paid by those who read PDF

    try:
        document = PdfDocument(data, password="")
        total = len(document)
        pages, largest = _read_pages(document, min(total, max_pages))
        title, made, authors = _read_metadata(document)
        published = find_work_date(pages[0] if pages else "") or made
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise ReadError(
                ReadOutcome.ENCRYPTED, "It is encrypted.", next_step="Save a copy without the password."
            ) from error
        raise ReadError(ReadOutcome.BROKEN, "The PDF is damaged.") from error
    writer = TextWriter()
    pages = drop_contents(drop_running_lines(pages))
    write_pages(pages, writer)
    text = writer.build_parsed().text
    _check_text(text)
    parsed = writer.build_parsed(
        title,
        published=published,
        truncated=total > max_pages,
        note=f"only the first {max_pages} of {total} pages were read" if total > max_pages else "",
        authors=authors,
    )
    shown = largest or _read_first_block(text)  # no number of a page
    words, first = split_words(title), set(split_words(pages[0]))
    stated = words and 2 * sum(word in first for word in words) >= len(words)  # it may name a font or nothing
    stated = stated and _FILE_NAME.fullmatch(title) is None
    return replace(parsed, title=parsed.title if stated or (title and not shown) else shown)


def _check_text(text: str) -> None:
    """Raise `ReadError` for no text, and for text whose words cannot be told apart or read."""
    if not any(letter.isalnum() for letter in text):
        raise ReadError(
            ReadOutcome.EMPTY, "The PDF has no text; it may be a scan.", next_step="Run text recognition (OCR) on it."
        )
    if (share := measure_glue(text)) > _GLUED_SHARE:
        raise ReadError(
            ReadOutcome.NOT_CONTENT,
            f"Its text is poor: {share:.0%} of the letters stand in words of {_GLUED_WORD} or more letters.",
            next_step="Run text recognition (OCR) on it.",
        )
    if _is_reversed(text):
        raise ReadError(
            ReadOutcome.NOT_CONTENT,
            "Its text is poor: the letters of its words stand in reverse order.",
            next_step="Run text recognition (OCR) on it.",
        )


def _read_old_tex(line: str) -> str:
    """Return a line with the letters, quotation marks and dashes that TeX's old fonts keep in other places."""
    line = _LIGATURE.sub(lambda match: _LIGATURES[match[0]], line)
    return _TEX_RANGE.sub("–", _TEX_QUOTED.sub("“\\1”", line.replace("\x0f", "•")))


def _read_pages(document: PdfDocument, count: int) -> tuple[list[str], str]:
    """Return the text of the first pages, lines ended by line feeds, and the largest lines of the first page."""
    pages: list[str] = []
    size, largest, old = 0, "", False
    for number in range(count):
        page = document[number]
        letters = page.get_textpage()
        said = letters.get_text_range(errors="ignore")
        size += len(said)
        if size > LIMITS.text_max_chars:
            raise ReadError(ReadOutcome.TOO_LARGE, "It unpacks to more than is read of a PDF.")
        old = old or _OLD_TEX.search(said) is not None
        lines = (said.replace("\r\n", "\n") if old else _LINE_ENDS.sub("\n", said)).split("\n")
        whole = said.count("\r\n") == said.count("\n") == len(lines) - 1
        heights = _measure_lines(letters, lines) if whole and (old or "\r" not in said.replace("\r\n", "")) else ()
        lines = [_read_old_tex(line) for line in lines] if old else lines
        page.close()
        pages.append(join_accents(_part_sizes(lines, heights)))
        largest = _find_largest(lines, heights) if number == 0 else largest
    return pages, largest


def _measure_lines(letters: PdfTextPage, lines: Sequence[str]) -> list[float]:
    """Return how high the letters of each line are, in points, from a few of them; 0.0 is unknown.

    Bold letters count as larger ones: a heading may have the size of the text.
    """
    found: list[float] = []
    start = 0
    for line in lines:
        heights, drawn = _measure_letters(letters, line, start, _MEASURED)
        if drawn:  # each box is as high as its letter: high ones tell the size, but a "j" is the highest
            heights = sorted((*heights, *_measure_letters(letters, line, start, _MEASURED_DRAWN)[0]))
            heights = [heights[int(_HIGH * len(heights))]]
        found.append(median(heights) if heights else 0.0)
        start += len(line.encode("utf-16-le", "surrogatepass")) // 2 + len("\r\n")
    return found


def _measure_letters(letters: PdfTextPage, line: str, start: int, count: int) -> tuple[list[float], bool]:
    """Return how high some letters of a line are, and whether they are drawn, in a font without a name."""
    from pypdfium2 import PdfiumError, raw  # noqa: PLC0415 - paid by those who read PDF

    heights: list[float] = []
    named = False
    name = ctypes.create_string_buffer(_FONT_BYTES)
    for at in range(0, len(line), max(1, len(line) // count)):
        if line[at].isalpha():
            with contextlib.suppress(PdfiumError):
                index = raw.FPDFText_GetCharIndexFromTextIndex(letters, start + at)
                _, low, _, high = letters.get_charbox(index, loose=True)
                raw.FPDFText_GetFontInfo(letters, index, name, len(name), None)
                named = named or bool(name.value)
                heights.append((high - low) * (_BOLD_SIZE if _BOLD.search(name.value) else 1.0))
    return heights, bool(heights) and not named


def _part_sizes(lines: Sequence[str], heights: Sequence[float]) -> str:
    """Return the lines, with a blank one where letters of another height begin: a heading, a note, a caption.

    A line that goes on in small letters after no end of a sentence is of the same paragraph, whatever it is set in.
    """
    if not heights:
        return "\n".join(lines)
    parted: list[str] = []
    before, above = "", 0.0
    for line, height in zip(lines, heights, strict=True):
        differs = min(above, height) > 0 and max(above, height) > _OTHER_SIZE * min(above, height)
        goes_on = _goes_on(before, line)
        if differs and not goes_on:
            parted += ["", _NOTE_NUMBER.sub("", line, count=1) if height < above and _NOTE_NUMBER.match(line) else line]
        else:
            parted.append(line)
        if len(line.strip()) > _RAISED:
            before, above = line, height
    return "\n".join(parted)


def _goes_on(before: str, line: str) -> bool:
    """True for a line in small letters, or a raised number before such, below one that ends no sentence."""
    raised = len(line.strip()) <= _RAISED or (line[0].isdigit() and line[1:].lstrip()[:1].islower())
    return (raised or line[:1].islower()) and before.rstrip()[-1:] not in ".!?:;"


def join_accents(text: str) -> str:
    """Return a text whose letters have the accents that stand before them, as TeX draws them: "Gr\u00b4egoire"."""
    return _ACCENT.sub(_join_accent, text)


def _join_accent(match: re.Match[str]) -> str:
    joined = unicodedata.normalize("NFC", match[2] + _COMBINING[match[1]])
    return joined if len(joined) == 1 else match[0]


def _find_largest(lines: Sequence[str], heights: Sequence[float]) -> str:
    """Return the first lines that are set in the largest letters of a page, "" if none stand out."""
    sizes = [(height, line.strip()) for height, line in zip(heights, lines, strict=False) if height > 0]
    words = [height for height, line in sizes if sum(map(len, _WORD.findall(line))) >= _TITLE_LETTERS]  # no formula
    if not words or max(words) < _TITLE_SIZE * median(words):
        return ""
    largest = next(at for at, (height, _) in enumerate(sizes) if height == max(words))

    def last(lines: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
        return list(takewhile(lambda each: each[0] * _OTHER_SIZE >= max(words), lines))

    lasting = [*last(sizes[:largest][::-1])[::-1], *last(sizes[largest:])]
    title = " ".join(line for _, line in lasting)
    return title if len(title) <= _TITLE_CHARS and _CUT.search(title) is None else ""


def _read_first_block(text: str) -> str:
    """Return the first block of a text if it can be a title: a few words that are no sentence and no page number."""
    first = text.lstrip().split("\n", 1)[0]
    named = len(first) <= _TITLE_CHARS and not first.endswith((".", ",", ";", ":"))
    return first if named and sum(map(str.isalpha, first)) >= _TITLE_LETTERS else ""


def _read_metadata(document: PdfDocument) -> tuple[str, str, list[str]]:
    """Return title, date and authors that the file states of itself."""
    about = document.get_metadata_dict()
    title = about.get("Title", "").strip()
    stated = _DATE.match(about.get("CreationDate", ""))
    published = "-".join(part for part in stated.groups() if part) if stated else ""
    return title, published, read_byline(about.get("Author", ""))


def find_work_date(first: str) -> str:
    """Return when the first page says that a work was published or written; "" if it does not.

    The file may have been made much later: its own date is that of its making.
    """
    stated = _PUBLISHED.search(first)
    if stated and (stated[1] or find_full_date(stated[2])):
        return stated[1] or find_full_date(stated[2])
    dates = (find_full_date(line) for line in first.split("\n") if len(line.split()) <= _DATE_WORDS)
    return next((date for date in dates if date), "")


def join_cut_words(text: str) -> str:
    """Return a text whose lines end in whole words: with or without the hyphen, as the text writes the word elsewhere.

    A word that stands nowhere else loses the hyphen, unless a capital follows it or there is another hyphen before it.

    Example:
        >>> join_cut_words(f"A LINK-{chr(10)}AGE map by LINKAGE")
        'A LINKAGE map by LINKAGE'
    """
    cut = [(match[1].lower().removeprefix("-"), match[2].lower()) for match in _HYPHEN.finditer(text)]
    wanted = {form for one, other in cut for form in (f"{one}{other}", f"{one}-{other}")}
    said = (match[0].lower() for match in _JOINED.finditer(_HYPHEN.sub(r"\1 ", text) if wanted else ""))
    counts = Counter(word for word in said if word in wanted)

    def join(match: re.Match[str]) -> str:
        before, after = match[1], match[2]
        one, other = before.lower().removeprefix("-"), after.lower()
        joined, apart = counts[f"{one}{other}"], counts[f"{one}-{other}"]
        if not joined and other in _SERIES:
            return f"{before}- "
        unknown = not joined and (after[0].isupper() or before[0] == "-")
        return f"{before}-" if apart > joined or unknown else before

    return _HYPHEN.sub(join, text)


def write_pages(pages: list[str], writer: TextWriter) -> None:
    """Write the paragraphs, and note each page at the first sentence that begins on it."""
    whole = "\n".join(
        f"{_PAGE}{sanitize_text(_NOT_TEXT.sub('', page)).replace(CODE_GAP, ' ').strip()}" for page in pages
    )
    number = 0
    waiting = False  # a page has begun whose first sentence has not
    for block in join_paragraphs(_CUT.sub("-", join_cut_words(whole))):
        text, *begun = fold_spaces(block).split(_PAGE)
        borders: list[int] = []
        for part in begun:
            borders.append(len(text))
            text += part if text else part.lstrip()
        start = writer.add_block(text)
        if start < 0:
            number, waiting = number + len(borders), waiting or bool(borders)
            continue
        if waiting:
            writer.note_page(start, number)
        waiting = False
        begins = [span.start for span in split_sentences(text)] if borders else []
        for border in borders:
            number += 1
            first = next((begin for begin in begins if begin >= border), None)
            waiting = first is None
            if first is not None:
                writer.note_page(start + first, number)


def measure_glue(text: str) -> float:
    """Return the share of letters that stand in words of 22 or more letters: words that have lost their spaces."""
    lengths = [len(word) for word in _LETTERS.findall(text)]
    return sum(length for length in lengths if length >= _GLUED_WORD) / max(1, sum(lengths))


def _is_reversed(text: str) -> bool:
    """True if letters that only end words of Hebrew and Arabic begin them more often: it was stored as it is drawn."""
    begins, ends = (len(form.findall(text)) for form in (_BEGINS, _ENDS))
    return begins >= _FEW_LETTERS and begins > ends


def join_paragraphs(text: str) -> list[str]:
    """Join lines into paragraphs: a blank line, a list mark, or a short line before a capital ends a paragraph.

    A row of numbers is a paragraph of its own, and so is each line of a table.
    """
    lines = [line.strip() for line in text.split("\n")]
    lengths = [len(line) for line in lines if line]
    typical = sum(length**2 for length in lengths) / max(1, sum(lengths))  # of the line a letter stands in
    found: list[list[str]] = [[]]
    for line in lines:
        said = line.removeprefix(_PAGE)
        if not said:
            found.append([line] if line else [])
            continue
        last = found[-1][-1] if found[-1] else ""
        item = said[0] in "•‣◦▪–" and said[1:2] == " "
        short = bool(last.strip(_PAGE)) and len(last) < _SHORT_LINE * typical
        apart = _is_of_numbers(line) or _is_of_numbers(last)
        if item or apart or (short and not said[0].islower() and last[-1] != "," and not _goes_on(last, said)):
            found.append([])
        found[-1].append(line)
    parts = ([[line] for line in block] if _is_table(block) else [block] for block in found if block)
    return [" ".join(part) for each in parts for part in each]


def _is_table(block: Sequence[str]) -> bool:
    """True for several lines in which no sentence ends: rows, as text that goes on so long has a stop somewhere."""
    return len(block) >= _ROWS and not any(map(_STOPS.search, block))


def _is_of_numbers(line: str) -> bool:
    words = line.removeprefix(_PAGE).split()
    numbers = sum(_NUMBER.fullmatch(word) is not None for word in words)
    return numbers >= _FEW_NUMBERS and numbers >= _NUMBER_SHARE * len(words)
