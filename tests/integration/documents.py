"""Documents of random text in every format that is read, for properties of readers and faces.

Knows how each format writes plain text, so that what is read is known. Does not know what is done with a document.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from hypothesis import strategies as st
from tests.unit.adapters.readers.test_pdf import made as make_pdf

SCRIPTS = (
    *("abcdefghijklmnopqrstuvwxyzABCDEFGHIKLMNOP", "éèüßøłžñçÅÉÖ", "жизньщэюяЖЫ", "αβγδλωΩΣ", "水木金土日本語字"),
    *("سلامكتابأ", "אבגדש", "e\u0301o\u0308n\u0303", "😀𝒳𠀀🇫🇷", "\u00a0\u200d\u00ad"),
)
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
OBEYED = "\x1b[31m \x9b \x07 \x00 \x7f \u202e \u2066 \u200f \ufeff \x85".split(" ")
TRAPS = (
    *("*.log", "<name>", "&amp;", "&#42;", "[1]", "[S1:C1]", "](x)", "`code`", "__init__", "snake_case", "**/x/**"),
    *("C:\\temp\\*", "~~no~~", "| a | b |", "3 < 4 > 2", "<!--", "http://a.example/?q=1&b=2", "$x_1$", "\\(", "{{x}}"),
    *("<b>", "![i](j)", "x^2^", "::", "..", "#1", "- -", "1.", "a*b*c", "_a_", "[^1]", "<script>x</script>", "€5"),
)
WORDS = st.one_of(
    st.sampled_from(SCRIPTS).flatmap(lambda letters: st.text(letters, min_size=1, max_size=8)),
    st.text(PUNCTUATION, min_size=1, max_size=4),
    st.sampled_from((*TRAPS, *OBEYED)),
)


@st.composite
def random_sentences(draw: st.DrawFn, *, words: st.SearchStrategy[str] = WORDS) -> list[str]:
    """Draw some sentences about cranes, each with an anchor of its own by which it is found."""
    found: list[str] = []
    for number in range(draw(st.integers(2, 5))):
        before, after = (" ".join(draw(st.lists(words, max_size=6))) for _ in range(2))
        found.append(f"{before} Crane {number} of Brenhaven lifts {number + 3} tonnes {after}.".strip())
    return found


def write_formats(folder: Path, sentences: Sequence[str]) -> None:
    """Write the same sentences as a file of each format."""
    title = "Cranes of Brenhaven"
    marked = "".join(f"<p>{escape(each)}</p>\n" for each in sentences)
    plain = "\n\n".join(sentences)
    texts = {
        "text.txt": plain,
        "page.html": f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{marked}</body></html>",
        "raw.html": f"<html><body><p>{plain}</p></body></html>",
        "notes.md": f"# {title}\n\n{plain}\n\n- {sentences[0]}\n\n| a | b |\n|---|---|\n| {sentences[-1]} | x |\n",
        "guide.rst": f"{title}\n{'=' * len(title)}\n\n{plain}\n",
        "table.csv": _write_csv(sentences),
    }
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode("utf-8", "replace"))
    (folder / "letter.docx").write_bytes(_write_docx(sentences))
    lines = (each.encode("ascii", "ignore").decode().translate(_PDF_ESCAPES) for each in sentences)
    (folder / "paper.pdf").write_bytes(make_pdf("\n".join(lines)))


_PDF_ESCAPES = {ord(sign): f"\\{sign}" for sign in "\\()"} | dict.fromkeys([*range(32), 127])


def _write_csv(sentences: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([["Number", "Statement"], *([n, each] for n, each in enumerate(sentences))])
    return out.getvalue()


def _write_docx(sentences: Sequence[str]) -> bytes:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    clean = ("".join(sign for sign in each if sign.isprintable() or sign == "\u200d") for each in sentences)
    body = "".join(f'<w:p><w:r><w:t xml:space="preserve">{escape(each)}</w:t></w:r></w:p>' for each in clean)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>")
    return out.getvalue()
