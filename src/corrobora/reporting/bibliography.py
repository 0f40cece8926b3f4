"""The cited sources as references: in a report, and for reference managers as CSL-JSON, BibTeX and RIS.

Knows what is stored of a source (title, address, edition, date, publisher, when it was stored), and finds DOI, arXiv
number and PMID in edition and address. Authors are persons ("Family, Given") or other names, which stay as they are.
Knows what reports write between a source and its quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, unquote

from corrobora.domain.report import Citation
from corrobora.roles.forms import name_section, shorten_title
from corrobora.text import phrases
from corrobora.text.authors import clean_authors, join_authors, split_name
from corrobora.text.phrases import ENGLISH, Frame
from corrobora.text.quantities import find_dates
from corrobora.text.tokens import sanitize_text

_DOI = re.compile(r"(?i)(?:\bdoi:\s*|doi\.org/)(10\.\d{4,9}/\S+)")
_ARXIV = re.compile(
    r"(?i)(?:\barxiv:\s*|arxiv\.org/(?:abs|pdf|html)/)((?:[a-z-]+(?:\.[a-z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)"
)
_PMID = re.compile(r"(?i)(?:\bpmid:?\s*|pubmed\.ncbi\.nlm\.nih\.gov/)(\d{1,9})\b")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_LATEX = {
    "\\": "\\textbackslash{}",
    "{": "\\lbrace{}",
    "}": "\\rbrace{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}
_LIGATURE = re.compile(r"(?<=[-'`<>,?!])(?=[-'`<>,])")  # two signs that LaTeX would print as one
_CSL_TYPES = {"journal": "article-journal", "preprint": "article", "web": "webpage", "file": "document"}
_RIS_TYPES = {"journal": "JOUR", "preprint": "UNPB", "web": "ELEC", "file": "GEN"}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


@dataclass(frozen=True, slots=True)
class CitedWork:
    """One cited source with all that is known of it; "" is unknown."""

    key: str  # "S42"
    title: str
    url: str = ""
    version: str = ""
    published: str = ""  # an ISO date, or a year, or what the source says
    publisher: str = ""
    accessed: str = ""  # the ISO date on which its text was stored
    authors: tuple[str, ...] = ()  # as `text.authors` writes names

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> CitedWork:
        """Return the work of a record as `sources.json` of a bundle has it; each value on one line."""
        names = {"key": "source", "accessed": "stored_at"}
        values = {
            name: " ".join(sanitize_text(str(record.get(names.get(name, name), ""))).split())
            for name in ("key", "title", "url", "version", "published", "publisher", "accessed")
        }
        named = record.get("authors")  # a bundle of an earlier version has none
        authors = clean_authors(map(str, cast("list[object]", named))) if isinstance(named, list) else ()
        return cls(**{**values, "accessed": values["accessed"][:10]}, authors=authors)

    @property
    def doi(self) -> str:
        """The DOI without the address of a resolver and signs around it; its own may be brackets and semicolons."""
        found = unquote(self._find(_DOI)).rstrip(".,;")
        while found.endswith(")") and found.count(")") > found.count("("):
            found = found[:-1].rstrip(".,;")
        return found

    @property
    def arxiv(self) -> str:
        """The number of an arXiv paper, with its version if known."""
        return self._find(_ARXIV)

    @property
    def pmid(self) -> str:
        return self._find(_PMID)

    @property
    def edition(self) -> str:
        """The version without the numbers that have fields of their own."""
        return _name_edition(self.version)

    @property
    def kind(self) -> str:
        """What it is, as far as its numbers and its address tell: a name in the tables of the formats."""
        if self.doi or self.pmid:
            return "journal"
        if self.arxiv:
            return "preprint"
        return "web" if self.is_web else "file"

    @property
    def is_web(self) -> bool:
        """True for a web address; else it is the path of a file, which says nothing elsewhere."""
        return self.url.startswith(("http://", "https://"))

    def _find(self, pattern: re.Pattern[str]) -> str:
        found = pattern.search(self.version) or pattern.search(self.url)
        return found.group(1) if found else ""


_TITLE_CHARS, _EDITION_CHARS, _HEADING_CHARS = 200, 120, 160


def list_source_notes(citation: Citation, frame: Frame = ENGLISH) -> list[tuple[str, str]]:
    """Return what stands between a source and its quotes, each with its label."""
    notes = (
        (phrases.AUTHORS, join_authors(citation.authors)),
        (phrases.NOTICE, citation.notice),
        (phrases.ORDER_QUOTED, f"“{citation.order}”" if citation.order else ""),
    )
    return [(frame.translate(label), text) for label, text in notes if text]


def format_source_head(citation: Citation) -> str:
    """Return what a reference says of its source as plain text: title, edition and date, heading."""
    return f"{cut_title(citation.title)}{format_source_details(citation)}"


def name_side(title: str, version: str, published: str) -> str:
    """Return how one side of a contradiction is named: by its edition, unless that is a bare number, else its title."""
    edition = _name_edition(version)
    if any(map(str.isalpha, edition)):
        return edition
    return ", ".join(filter(None, (title.rstrip(" .:"), edition or published)))


def _name_edition(version: str) -> str:
    """Return a version without the numbers of the work: a DOI, an arXiv number or a PMID names no edition."""
    numbered = (_DOI, _ARXIV, _PMID)
    return "; ".join(part for part in version.split("; ") if not any(each.match(part) for each in numbered))


def cut_title(title: str) -> str:
    """Return a title as references show it."""
    return shorten_title(title, _TITLE_CHARS - 2) if len(title) > _TITLE_CHARS else title


def format_source_details(citation: Citation, write: Callable[[str], str] = str) -> str:
    """Return what follows the title: " (edition, date), heading". `write` escapes for a format."""
    edition = ", ".join(part for part in (citation.version, citation.published) if part)[:_EDITION_CHARS]
    details = f" ({write(edition)})" if edition else ""
    place = shorten_title(name_section(citation.title, citation.heading), _HEADING_CHARS)
    return details + (f", {write(place)}" if place else "")


def write_csl(works: Sequence[CitedWork]) -> str:
    """Return the works as CSL-JSON 1.0.2."""
    return json.dumps([_make_csl(work) for work in works], ensure_ascii=False, indent=1) + "\n"


def _make_csl(work: CitedWork) -> dict[str, object]:
    texts = {
        "title": work.title,
        "URL": work.url if work.is_web else "",
        "DOI": work.doi,
        "PMID": work.pmid,
        "number": f"arXiv:{work.arxiv}" if work.arxiv else "",
        "publisher": work.publisher,
        "version": work.edition,
        "note": "" if work.is_web else work.url,
    }
    dates = {"issued": _make_csl_date(work.published), "accessed": _make_csl_date(work.accessed)}
    authors = {"author": [_make_csl_name(each) for each in work.authors]}
    known = {name: value for name, value in {**texts, **authors, **dates}.items() if value}
    return {"id": work.key, "type": _CSL_TYPES[work.kind], **known}


def _make_csl_name(name: str) -> dict[str, str]:
    family, given = split_name(name)
    return {"family": family, "given": given} if given else {"literal": name}


def _make_csl_date(text: str) -> dict[str, object]:
    if parts := _split_date(text):
        return {"date-parts": [parts]}
    return {"literal": text} if text else {}


def _split_date(text: str) -> list[int]:
    """Return year, month and day as far as a text begins with them or is them; an impossible month ends the date."""
    found = _DATE.match(text)
    parts = [int(part) for part in found.groups() if part] if found else []
    if not found and (dates := find_dates(text)[0]) and dates[0].text == text and dates[0].year:  # "March 2020"
        parts = [part for part in dates[0][:3] if part]
    limits = (9999, 12, 31)
    good = next((n for n, part in enumerate(parts) if not 1 <= part <= limits[n]), len(parts))
    return parts[:good]


def write_bibtex(works: Sequence[CitedWork]) -> str:
    """Return the works as BibTeX in UTF-8; braces, backslashes and the special characters of LaTeX are escaped."""
    return "\n".join(map(_make_bibtex, works))


def _make_bibtex(work: CitedWork) -> str:
    date = _split_date(work.published)
    fields = {
        "author": " and ".join(map(_make_bibtex_name, work.authors)),
        "title": f"{{{_escape_latex(work.title)}}}",
        "year": str(date[0]) if date else _escape_latex(work.published),
        "month": _MONTHS[date[1] - 1] if len(date) > 1 else "",
        "day": str(date[2]) if len(date) > 2 else "",  # noqa: PLR2004 - year, month, day
        "publisher": _escape_latex(work.publisher),
        "version": _escape_latex(work.edition),
        "doi": _escape_latex(work.doi),
        "eprint": work.arxiv,
        "archiveprefix": "arXiv" if work.arxiv else "",
        "pmid": work.pmid,
        "url": _escape_address(work.url) if work.is_web else "",
        "urldate": work.accessed,
        "note": "" if work.is_web else _escape_latex(work.url),
    }
    kind = "article" if work.kind == "journal" else "misc"
    written = {name: value if name == "month" else f"{{{value}}}" for name, value in fields.items() if value}
    rows = "".join(f",\n  {name} = {value}" for name, value in written.items())  # months are names that BibTeX knows
    return f"@{kind}{{{work.key}{rows}\n}}\n"


def _make_bibtex_name(name: str) -> str:
    """Return a name as BibTeX reads it; what is no person's stands in braces, because BibTeX would take it apart."""
    family, given = split_name(name)
    names = [_escape_latex(each) for each in (family, given) if each]
    if given and " and " not in f" {name} ":
        return ", ".join(f"{{{each}}}" if "," in each else each for each in names)
    return f"{{{', '.join(names)}}}"


def _escape_latex(text: str) -> str:
    """Escape a text; braces that stand in pairs as every program reads them, others in words, as BibTeX counts them."""
    level, paired = 0, True
    for letter in text:
        level += (letter == "{") - (letter == "}")
        paired = paired and level >= 0
    table = {**_LATEX, "{": "\\{", "}": "\\}"} if paired and level == 0 else _LATEX
    return _LIGATURE.sub("{}", "".join(table.get(letter, letter) for letter in text))


def _escape_address(url: str) -> str:
    """Return an address without characters that end a field; they are written as percent codes."""
    return "".join(quote(letter) if letter in '\\{}^`|<>"' or letter.isspace() else letter for letter in url)


def write_ris(works: Sequence[CitedWork]) -> str:
    """Return the works as RIS; each line ends with CR LF, as the format asks."""
    return "".join(f"{tag}  - {value}\r\n" for work in works for tag, value in (*_list_ris(work), ("ER", "")))


def _list_ris(work: CitedWork) -> Iterable[tuple[str, str]]:
    date = _split_date(work.published)
    numbers = [f"PMID {work.pmid}" if work.pmid else "", f"arXiv:{work.arxiv}" if work.arxiv else ""]
    rows = [
        ("TY", _RIS_TYPES[work.kind]),
        ("ID", work.key),
        *(("AU", ", ".join(filter(None, split_name(name)))) for name in work.authors),
        ("TI", work.title),
        ("PY", str(date[0]) if date else ""),
        ("DA", _make_ris_date(work.published)),
        ("PB", work.publisher),
        ("ET", work.edition),
        ("DO", work.doi),
        ("AN", "; ".join(filter(None, numbers))),
        ("UR", work.url.replace(";", "%3B") if work.is_web else ""),  # readers part addresses there
        ("N1", "" if work.is_web else work.url),
        ("Y2", _make_ris_date(work.accessed)),
    ]
    return [(tag, value) for tag, value in rows if value]


def _make_ris_date(text: str) -> str:
    """Return YYYY/MM/DD/ with what is known of it, or the text itself behind the slashes."""
    parts = _split_date(text)
    if not parts:
        return f"///{text}" if text else ""
    return "/".join([f"{parts[0]:04}", *(f"{part:02}" for part in parts[1:]), *([""] * (4 - len(parts)))])
