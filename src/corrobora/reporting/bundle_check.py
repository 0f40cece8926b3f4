"""The checks of a bundle: its container, its evidence, and every sentence of its report again.

Knows the steps of `docs/reference/bundle.md` in their order. Uses the members of the bundle alone: no database, no
library and no network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NoReturn, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from corrobora.domain.evidence import Source, SourceId
from corrobora.reporting.bundle import MANIFEST, SNAPSHOT, BundleBroken, BundleProblem, read_bundle
from corrobora.reporting.html_reader import find_hiding, html_to_markdown
from corrobora.reporting.recheck import RecheckResult, recheck_report
from corrobora.reporting.references import Lookups, StoredSource
from corrobora.reporting.report_parser import Reference
from corrobora.reporting.seal import SealStatus, canonical_json, check_seal, find_seal, fold_layout, strip_seal

CRATE = "ro-crate-metadata.json"
_DROPPED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_Shape = TypeVar("_Shape")

_CELL_END = re.compile(r"(?<!\\)\|")  # a bar behind a backslash is text
_FULL_STOPS = re.compile(r"(?<=[.!?])\.+")
_NOTES, _PLOTS = '<section id="evidence">', re.compile(r'(?s)<details id="plots">.*?</details>')


class _Member(BaseModel, strict=True):
    """A part of a JSON member, as strict as its checks are: no number in quotes, no truth value for a number."""


class _About(_Member):
    """What a citation and its source both say."""

    title: str
    url: str
    snapshot: str
    version: str
    published: str


class _Citation(_About):
    number: int
    source: str
    passage: str
    quotes: list[str]


class _ReportFields(_Member):
    markdown: str
    citations: list[_Citation]


class _PassageRow(_Member):
    passage: str
    heading: str
    start: int
    end: int


class _SourceRow(_About):
    source: str
    publisher: str
    stored_at: str
    passages: list[_PassageRow]


class _ClaimRow(_Member):
    line: int
    text: str
    citations: list[int]
    support: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class BundleVerdict:
    """The result: the problem, None if there is none, the hash that stands for the whole, and counts."""

    problem: BundleProblem | None
    digest: str = ""
    run: str = ""
    members: int = 0
    quotes: int = 0
    statements: RecheckResult | None = None  # None where the container or the evidence is broken


def check_evidence(data: bytes) -> BundleVerdict:
    """Check the container and the evidence of a bundle, without reading the sentences of its report."""
    try:
        run, members = read_bundle(data)
        digest = sha256(members[MANIFEST]).hexdigest()
        return BundleVerdict(None, digest, run, len(members), _Evidence(run, members).check())
    except BundleBroken as broken:
        return BundleVerdict(broken.problem)


async def check_bundle(data: bytes) -> BundleVerdict:
    """Check the container, the evidence, and every sentence of the report against the texts of the bundle."""
    found = check_evidence(data)
    if found.problem is not None:
        return found
    _, members = read_bundle(data)
    result = await recheck_members(members)
    problem = None
    for name, sealed in _list_sealed(members):
        if check_seal(sealed, None)[0] is not SealStatus.UNKNOWN:  # without a stored run, a seal that fits is unknown
            problem = problem or BundleProblem(name, "seal")
    problem = problem or _find_page_problem(members)
    claims = json.loads(members["claims.json"])
    if problem is None and claims != json.loads(json.dumps(list_claims(result))):
        problem = BundleProblem("claims.json", "differs")
    return BundleVerdict(problem, found.digest, found.run, found.members, found.quotes, result)


def _find_page_problem(members: Mapping[str, bytes]) -> BundleProblem | None:
    """Return what the page shows differently from the report, which alone is checked sentence by sentence."""
    page, text = members["report.html"].decode("utf-8", "replace"), members["report.md"].decode()
    if find_hiding(page):
        return BundleProblem("report.html", "hiding")
    quoted = [body.decode("utf-8", "replace") for name, body in members.items() if SNAPSHOT.fullmatch(name)]
    if find_foreign_text(page, text, quoted):
        return BundleProblem("report.html", "text")
    fields = cast("dict[str, object]", json.loads(members["report.json"]))
    if fold_layout(str(fields.get("title"))) != fold_layout(text.partition("\n")[0]):
        return BundleProblem("report.json", "title")
    return None if _agrees_with_decisions(fields, members) else BundleProblem("report.json", "decisions")


def find_foreign_text(page: str, markdown: str, quoted: Sequence[str]) -> str:
    """Return a piece of our page that neither its Markdown nor its sources hold, or that the page lacks; "" if none.

    Pictures and the labels of the notes, which follow the report, are not compared.
    """
    head, _, tail = _PLOTS.sub("", page, count=1).partition(_NOTES)
    report, shown = _squeeze(strip_seal(markdown)), strip_seal(html_to_markdown(head))
    texts = [report, *map(_squeeze, quoted)]
    for piece in shown.split("\n"):
        if any(_squeeze(part) not in report for part in _CELL_END.split(piece)):
            return piece
    for quote in re.findall(r"(?s)<blockquote\b.*?</blockquote>", tail):
        plain = _squeeze(html_to_markdown(quote)).strip("….")
        if not any(plain in text for text in texts):
            return quote
    missing = (line for line in strip_seal(markdown).split("\n") if _squeeze(line) not in _squeeze(shown))
    return next(missing, "")


def _squeeze(text: str) -> str:
    """Fold layout and white space, and the full stop that only one of two forms has after a title that ends in one."""
    return _FULL_STOPS.sub("", "".join(fold_layout(text).split())).lstrip(".")


def _agrees_with_decisions(fields: Mapping[str, object], members: Mapping[str, bytes]) -> bool:
    """True if the report has the outcome that the run ended with, and a question that the run or the page names."""
    events = cast("list[dict[str, object]]", json.loads(members["decisions.json"]))
    ends = [cast("dict[str, object]", each.get("data")) for each in events if each.get("type") == "run.finished"]
    texts = [json.dumps(json.loads(members[name]), ensure_ascii=False) for name in ("decisions.json", "plan.json")]
    asked = json.dumps(fields.get("question"), ensure_ascii=False).strip('"?.! ')
    named = any(asked in each for each in (*texts, members["report.md"].decode()))
    return named and all(ends[-1].get(name) == fields.get(name) for name in ("outcome", "reason") if ends)


def _list_sealed(members: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Return the texts that the seals of the three reports cover."""
    fields = cast("dict[str, object]", json.loads(members["report.json"]))
    html, json_text = html_to_markdown(members["report.html"].decode("utf-8", "replace")), canonical_json(fields)
    return [
        ("report.md", members["report.md"].decode()),
        ("report.html", html),
        ("report.json", f"{json_text}\n\n{fields.get('seal', '')}"),
    ]


async def recheck_members(members: Mapping[str, bytes]) -> RecheckResult:
    """Check every sentence of `report.md` against the snapshots and sources among these members."""
    sources = {str(row["source"]): row for row in json.loads(members["sources.json"])}

    async def read_text(digest: str) -> str | None:
        found = members.get(f"snapshots/{digest}.txt")
        return None if found is None else found.decode("utf-8", "surrogatepass")

    async def read_page(_: Reference) -> None:
        return None

    async def read_sources(reference: Reference, _: Sequence[tuple[int, int]]) -> Sequence[StoredSource]:
        row = sources.get(reference.source)
        if row is None:
            return ()
        source = Source(
            SourceId(reference.source),
            row["title"],
            row["url"],
            row["snapshot"],
            version=row["version"],
            published=row["published"],
            authors=tuple(map(str, row.get("authors") or ())),
        )
        named = {str(each["passage"]): str(each["heading"]) for each in row["passages"]}
        return (StoredSource(source, named.get(reference.passage), reference.passage),)

    return await recheck_report(members["report.md"].decode(), Lookups(read_text, read_page, read_sources))


def list_claims(result: RecheckResult) -> list[dict[str, object]]:
    """Return the statements of a checked report as `claims.json` has them."""
    return [
        {
            "line": each.line,
            "text": each.text,
            "citations": [int(number) for number in each.cited if number.isdigit()],
            "support": each.support.value,
            "reasons": list(each.reasons),
        }
        for each in result.statements
    ]


def fold_text(text: str) -> str:
    """Return a text without characters that are not seen, white space folded."""
    return " ".join(_DROPPED.sub("", text).split())


class _Evidence:
    """The steps of the second part, in order; each ends the check where something is wrong."""

    def __init__(self, run: str, members: Mapping[str, bytes]) -> None:
        self._run = run
        self._members = members
        self._json: dict[str, object] = {}
        self._texts: dict[str, str] = {}
        self._folded: dict[str, str] = {}

    def check(self) -> int:
        """Go through all steps; return the number of quotes that stand in their sources."""
        for name in self._members:
            self._read_member(name)
        for name, content in self._members.items():
            stored = SNAPSHOT.fullmatch(name)
            if stored and stored.group(1) != sha256(content).hexdigest():
                _fail(name, "snapshot")
        citations = self._check_report()
        quotes = self._check_citations(citations)
        self._check_sources(citations)
        self._check_claims({each.number for each in citations})
        self._check_seal()
        self._check_crate()
        return quotes

    def _read_member(self, name: str) -> None:
        content = self._members[name]
        try:
            if name.endswith(".json"):
                self._json[name] = json.loads(content.decode(), parse_constant=_refuse_constant)
            elif name == "report.md" or SNAPSHOT.fullmatch(name):
                self._texts[name] = content.decode()
        except (ValueError, RecursionError):
            _fail(name, "json" if name.endswith(".json") else "text")

    def _check_report(self) -> list[_Citation]:
        """Check the form of the report; return its citations."""
        report = _read_shape(_ReportFields, self._json["report.json"], "report.json", "shape")
        if report.markdown != self._texts["report.md"]:
            _fail("report.md", "markdown")
        numbers = [each.number for each in report.citations]
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            _fail("report.json", "numbers")
        return report.citations

    def _check_citations(self, citations: Sequence[_Citation]) -> int:
        lines = self._texts["report.md"].split("\n")
        count = 0
        for each in citations:
            name = f"snapshots/{each.snapshot}.txt"
            if name not in self._texts:
                _fail("report.json", "uncovered")
            if name not in self._folded:
                self._folded[name] = fold_text(self._texts[name])
            quotes = [fold_text(quote) for quote in each.quotes]
            if not quotes or not all(quote and quote in self._folded[name] for quote in quotes):
                _fail("report.json", "quote")
            count += len(quotes)
            begin, end = f"[{each.number}] ", f"`{each.source}:{each.passage}` `sha256:{each.snapshot}`"
            if not any(line.startswith(begin) and line.endswith(end) for line in lines):
                _fail("report.md", "reference")
        for name in self._members:
            if SNAPSHOT.fullmatch(name) and name not in self._folded:
                _fail(name, "uncited")
        return count

    def _check_sources(self, citations: Sequence[_Citation]) -> None:
        rows = _read_shape(list[_SourceRow], self._json["sources.json"], "sources.json", "source")
        if [row.source for row in rows] != list(dict.fromkeys(each.source for each in citations)):
            _fail("sources.json", "source")
        by_id = {row.source: row for row in rows}
        for each in citations:
            row = by_id[each.source]
            named = {passage.passage for passage in row.passages}
            if (
                any(getattr(row, name) != getattr(each, name) for name in _About.model_fields)
                or each.passage not in named
            ):
                _fail("sources.json", "source")
        for row in rows:
            size = len(self._texts[f"snapshots/{row.snapshot}.txt"])
            if not all(0 <= passage.start < passage.end <= size for passage in row.passages):
                _fail("sources.json", "source")

    def _check_claims(self, numbers: set[int]) -> None:
        lines = self._texts["report.md"].split("\n")
        for each in _read_shape(list[_ClaimRow], self._json["claims.json"], "claims.json", "claim"):
            if not 1 <= each.line <= len(lines):
                _fail("claims.json", "claim")
            said = lines[each.line - 1]
            if not all(number in numbers and f"[{number}]" in said for number in each.citations):
                _fail("claims.json", "claim")

    def _check_seal(self) -> None:
        text = self._texts["report.md"]
        seal = find_seal(text)
        if seal is None or seal.run != self._run or check_seal(text, None)[0] is not SealStatus.UNKNOWN:
            _fail("report.md", "seal")

    def _check_crate(self) -> None:
        graph = _read_object(self._json[CRATE]).get("@graph")
        entities = [_read_object(each) for each in cast("list[object]", graph)] if isinstance(graph, list) else []
        parts = next((each.get("hasPart") for each in entities if each.get("@id") == "./"), None)
        if parts != [{"@id": name} for name in self._members if name not in (MANIFEST, CRATE)]:
            _fail(CRATE, "crate")


def _fail(member: str, code: str) -> NoReturn:
    raise BundleBroken(member, code)


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _read_object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _read_shape(shape: type[_Shape], value: object, member: str, code: str) -> _Shape:
    """Return a member of this shape; one of any other is broken."""
    try:
        return TypeAdapter(shape).validate_python(value)
    except ValidationError:
        _fail(member, code)
