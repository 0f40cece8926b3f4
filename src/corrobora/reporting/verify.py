"""Checks of a draft: every sentence against the quotes that it cites, and every revision against the draft before it.

Knows markers, sentences, stored quotes and the rule that a revision may not lose most citations. Uses no model and no
network, so that a report can be checked again offline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact
from corrobora.domain.limits import LIMITS
from corrobora.domain.report import Draft, Findings, SentenceCheck, Support
from corrobora.reporting.report_format import SECRET, format_labels, mark_cell, print_sentence, strip_addresses
from corrobora.text import phrases
from corrobora.text.claims import CitedEvidence, check_read_support
from corrobora.text.derivations import Derivation, DerivationKind, ReadingSet, check_derivation
from corrobora.text.markdown import (
    LEAD,
    MARKER,
    describe_cell,
    drop_empty_sections,
    fold_quotes,
    is_heading,
    is_row,
    is_rule,
    iter_cell_statements,
    iter_cited_sentences,
    normalize_markers,
    split_cells,
    split_lines,
    strip_source_label,
)
from corrobora.text.mentions import describes_research, find_claim_words, is_statement
from corrobora.text.notices import drop_orders, find_order
from corrobora.text.support import Evidence, SupportCheck, check_support, find_numbers, list_unshown_numbers
from corrobora.text.tokens import GOES_ON, read_inline, token_overlap

_MOST_REPEATS = 3  # of a cited line: it may stand in a summary and in its section, a loop of a writer may not
_MOST_PLAIN = 20  # of a line without citation, which every part of a report may have
_CHIEF = re.compile(
    r"(?i)\b(?:findings?|summary|conclusions?|answer|overview|ergebniss?e?|zusammenfassung|fazit|antwort)\b"
)
_COUNTED = re.compile(rf"{phrases.COUNTED} \d{{1,6}} statements? of \d{{1,6}} sources?\.")
_MOST_WORDS_NAMED = 4  # in the note that stands in the place of a sentence
_CANDIDATES = 3  # facts that are compared with a statement whose writer cited none


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft after the checks, and what they withheld, with a note in its place, or removed."""

    draft: Draft
    checks: tuple[SentenceCheck, ...]
    removed_markers: int = 0
    removed_sentences: int = 0  # withheld, with a note in the place of each
    removed_urls: int = 0
    removed_secrets: int = 0
    repeated_lines: int = 0


RULED = (Support.PARTLY, Support.UNCLEAR, Support.UNSUPPORTED)  # what code doubts, and a model may rule on
# sentence and facts: "" if carried, else what is not; None if a model takes a number that was not shown to it
Rulings = Mapping[tuple[str, tuple[str, ...]], str | None]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What a draft may say: its facts by marker, texts about the report itself, and what was read."""

    facts: Sequence[Fact]
    by_marker: Mapping[str, list[Fact]]
    known: tuple[str, ...]
    reading: ReadingSet | None
    told: str  # all quotes, as `fold_quotes` gives them
    rulings: Rulings
    chief: bool = True  # where a reader looks for the answer: the opening, key findings, conclusions


def _gather_evidence(
    facts: Sequence[Fact], known: Sequence[str], reading: ReadingSet | None, rulings: Rulings
) -> _Evidence:
    by_marker: dict[str, list[Fact]] = {}
    for fact in facts:
        by_marker.setdefault(fact.marker, []).append(fact)
    labels = {label for fact in facts for label in (fact.version, fact.published, fact.title, fact.heading) if label}
    quoted = fold_quotes(fact.quote for fact in facts)
    return _Evidence(facts, by_marker, (*known, *sorted(labels)), reading, quoted, rulings)


def check_draft(
    draft: Draft,
    facts: Sequence[Fact],
    known: Sequence[str] = (),
    *,
    reading: ReadingSet | None = None,
    rulings: Rulings | None = None,
) -> CheckedDraft:
    """Check every sentence; nothing is cut in silence (TRUTH-2, TRUTH-3).

    A sentence that code knows to be false, whose citations all lead nowhere, or that claims something without a source,
    is withheld: a note with the reason stands in its place. A statement without a citation that a fact carries gets
    that citation. What cannot be confirmed stays, with a label. Headings, rules and connecting prose stay. `known` are
    texts about the report itself, such as its questions, which claim nothing.
    """
    evidence = _gather_evidence(facts, known, reading, rulings or {})
    plain, secrets = SECRET.subn("[removed]", draft.body)  # bad-input M34
    marked = normalize_markers(plain, {fact.marker: fact.title for fact in facts})
    body, urls = strip_addresses(marked, [fact.quote for fact in facts])
    lines, checks, header = list[str](), list[SentenceCheck](), list[str]()
    markers, repeated, times = 0, 0, Counter[str]()
    blocks = split_lines(body)
    for line, after in zip(blocks, [*blocks[1:], ""], strict=True):
        block = line.split("\n") if "\n" in line else ()  # of code
        if not block and _is_repeated(line.strip(), times):
            repeated += 1
            continue
        if is_row(line) and is_rule(after):
            header = list(split_cells(line))
            lines.append(line)
            continue
        header = header if is_row(line) else []
        if line.startswith("##") and not block:
            evidence = replace(evidence, chief=_CHIEF.search(line) is not None)
        kept, found, lost = _check_block(block, evidence) if block else _check_line(line, header, evidence)
        checks += found
        markers += lost
        if kept.strip() or not line.strip():
            lines.append(kept)
    return CheckedDraft(
        Draft(draft.title if _is_told(draft.title, evidence) else "", drop_empty_sections(lines)),
        tuple(checks),
        markers,
        sum(bool(check.withheld) for check in checks),
        urls,
        secrets,
        repeated,
    )


def check_written_draft(
    draft: Draft, findings: Findings, reading: ReadingSet | None = None, rulings: Rulings | None = None
) -> CheckedDraft:
    """Check a draft against the findings it was written from; counts and absences need what was read.

    `rulings` are those of a model on sentences that code cannot decide.
    """
    asked = [each.text for each in (*findings.sub_questions, *findings.gaps)]
    names = (name for subject in findings.subjects for name in (subject.name, *subject.aliases))
    known = filter(None, (findings.title, *asked, *names, *(each.title for each in findings.children)))
    return check_draft(draft, findings.citable, tuple(known), reading=reading, rulings=rulings)


def _is_repeated(line: str, times: Counter[str]) -> bool:
    """Count a line and say whether it was written too often (bad-input M30); headings and tables may come again."""
    if is_heading(line) or line.startswith(("|", "```")) or not any(letter.isalpha() for letter in line):
        return False
    times[line] += 1
    return times[line] > (_MOST_REPEATS if MARKER.search(line) else _MOST_PLAIN)


def _check_line(line: str, header: Sequence[str], evidence: _Evidence) -> tuple[str, list[SentenceCheck], int]:
    """Check one line; return what is printed of it, its checks, and how many markers went."""
    stripped = line.strip()
    proven_heading = is_heading(stripped) and _is_told(stripped, evidence)
    if not stripped or proven_heading or set(stripped) <= set("|-: `"):
        return line, [], 0
    if is_row(line):
        return _check_row(line, header, evidence)
    printed, checks, lost = list[str](), list[SentenceCheck](), 0
    lead = item.group() if (item := LEAD.match(line)) else ""
    for text, markers in iter_cited_sentences(line[len(lead) :], evidence.told):
        cited = list(dict.fromkeys(markers))  # one passage may carry several clauses
        known = [marker for marker in cited if marker in evidence.by_marker][: LIMITS.citations_per_sentence]
        lost += len(cited) - len(known)
        check, carrying = _check_sentence(read_inline(text), cited, known, evidence)
        check = _apply_ruling(check, evidence.rulings, _list_quotes(known, evidence))
        checks.append(check := _withhold_order(check, evidence))
        printed.append(print_sentence(text, check, carrying))
    return lead + " ".join(printed) if printed else "", checks, lost


def _withhold_order(check: SentenceCheck, evidence: _Evidence) -> SentenceCheck:
    """Withhold an order to the tool that reads it where a reader looks for the answer, and one that cites nothing."""
    allowed = (check.facts and not evidence.chief) or any(check.sentence in each for each in evidence.known)
    if check.withheld or allowed or not find_order(check.sentence):
        return check
    return replace(check, support=Support.UNSUPPORTED, withheld=f"it is {phrases.ORDER}")


def _check_block(block: Sequence[str], evidence: _Evidence) -> tuple[str, list[SentenceCheck], int]:
    """Check a block of code, line by line if no quote has all of it.

    Below it stand the citations of what quotes have, and what is withheld.
    """
    kept: list[str] = []
    checks: list[SentenceCheck] = []
    below: dict[str, None] = {}
    lines = [MARKER.sub("", line).rstrip() for line in block[1 : -1 if block[-1].strip() == "```" else None]]
    whole = _check_code("\n".join(lines), evidence)
    if whole is not None and not _withhold_order(whole[0], evidence).withheld:
        return "\n".join([block[0], *lines, "```", "", whole[1]]), [whole[0]], 0
    for code in lines:
        said = " ".join(code.split())
        held = _check_code(code, evidence)
        check = _withhold_order(held[0], evidence) if held else _check_uncited(said, evidence)[0]
        below |= {held[1]: None} if held and not check.withheld else {}
        checks += [check] if said else []
        if check.withheld:
            below[print_sentence(said, check, ())] = None
        else:
            kept.append(code)
    shown = [block[0], *kept, "```"] if any(kept) else []
    return "\n".join([*shown, *(["", " ".join(below)] if below else [])]), checks, 0


def _check_code(code: str, evidence: _Evidence) -> tuple[SentenceCheck, str] | None:
    """Return the check of code that a quote has as it stands, with its marker, and what tells that the code goes on."""
    said, copied = " ".join(code.split()), str(DerivationKind.QUOTE)
    held = next((fact for fact in evidence.facts if said and is_copied(said, [fact.quote])), None)
    if held is None:
        return None
    sign = f"{GOES_ON} " if held.claim.endswith(f"{said} {GOES_ON}") else ""
    return SentenceCheck(said, (held.id,), Support.SUPPORTED, 1.0, follows=copied), f"{sign}{held.marker}"


def _check_sentence(
    text: str, cited: Sequence[str], known: Sequence[str], evidence: _Evidence
) -> tuple[SentenceCheck, Sequence[str]]:
    """Check one sentence; return the result and the markers to print, which code may have found itself."""
    held = [fact for marker in known for fact in evidence.by_marker[marker]]
    if cited and not known:
        return SentenceCheck(text, (), Support.UNSUPPORTED, 0.0, withheld="its citation leads to no source"), ()
    pieces = [CitedEvidence(make_evidence(fact), fact.source, urlsplit(fact.url).netloc) for fact in held]
    derived = check_derivation(text, pieces, evidence.reading)
    if derived.holds is None and not cited:
        return _check_uncited(text, evidence, derived)
    claims, quotes, said = [each.claim for each in held], [each.evidence for each in pieces], derived.said or text
    result = derived.limit_support(check_read_support(said, quotes, claims, evidence.known))
    ids, overlap = tuple(fact.id for fact in held), round(result.overlap, 3)
    if derived.holds is None or (not derived.holds and result.withholds and not derived.withholds):
        return _record_check(text, ids, result, held, derived.kind), known
    if derived.holds:
        return SentenceCheck(text, ids, Support.SUPPORTED, overlap, (), derived.kind, derived.steps), known
    status = Support.CONTRADICTED if derived.withholds else Support.UNCLEAR
    reasons = (derived.reason, *result.reasons)
    why = _tidy_reason(derived.reason) or "its derivation does not come out" if derived.withholds else ""
    return SentenceCheck(text, ids, status, overlap, reasons, derived.kind, derived.steps, why), known


def _apply_ruling(check: SentenceCheck, rulings: Rulings, quotes: Sequence[str]) -> SentenceCheck:
    """Take a model's word on a sentence that code doubts; what code knows to be false stays withheld.

    What both doubt is withheld, and a claim without a citation in which code saw none; what may tell of the research is
    printed. No model confirms a number that it was shown neither in a quote nor before one: that stays unclear.
    """
    if check.key not in rulings:
        return check
    ruled = rulings[check.key]
    if check.withheld:
        released = not ruled and phrases.TELLS_RESEARCH in check.reasons
        return replace(check, support=Support.UNCITED, reasons=(), withheld="") if released else check
    if check.support is Support.UNCITED and ruled:
        why = _tidy_reason(f"{phrases.CLAIMS_UNCITED}: {ruled}")
        return replace(check, support=Support.UNSUPPORTED, reasons=(why,), withheld=why)
    if ruled and check.support in (*RULED, Support.SUPPORTED):
        said = phrases.NOT_CONFIRMED if check.support in RULED else phrases.REFUSED
        why = _tidy_reason(f"{said}: {ruled}")
        return replace(check, support=Support.UNSUPPORTED, reasons=(why, *check.reasons), withheld=why)
    if check.support not in RULED:
        return check
    if ruled is None and list_unshown_numbers(check.sentence, "\n".join(quotes)):
        return replace(check, support=Support.UNCLEAR)
    return replace(check, support=Support.SUPPORTED, reasons=(phrases.CONFIRMED,))


def _record_check(
    text: str, ids: tuple[str, ...], result: SupportCheck, held: Sequence[Fact], kind: str = DerivationKind.QUOTE
) -> SentenceCheck:
    why = ""
    if result.withholds or result.support is Support.CONTRADICTED:
        why = _tidy_reason("; ".join(result.reasons)) or "its source says otherwise"
    if kind not in (DerivationKind.ABSENCE, DerivationKind.COUNT, DerivationKind.JUDGEMENT):  # nothing was computed
        kind = DerivationKind.QUOTE if is_copied(text, [fact.quote for fact in held]) else DerivationKind.RESTATEMENT
    return SentenceCheck(text, ids, result.support, round(result.overlap, 3), result.reasons, kind, withheld=why)


def is_copied(sentence: str, quotes: Sequence[str]) -> bool:
    """True if a sentence stands in a quote character by character, white space and the final stop apart."""
    said = " ".join(sentence.split()).rstrip(".")
    return bool(said) and any(said in " ".join(quote.split()) for quote in quotes)


def _list_quotes(markers: Sequence[str], evidence: _Evidence) -> list[str]:
    """Return the quotes behind some markers, with what their sources say about themselves."""
    held = [fact for marker in markers for fact in evidence.by_marker.get(marker, ())]
    return [f"{fact.quote}\n{make_evidence(fact).context}" for fact in held]


def _tidy_reason(reason: str) -> str:
    """Return a reason for a note: one line without marks that end it or cite something."""
    return re.sub(r"[.!?]+(?=\s)", ";", re.sub(r"[\[\]*|]", "", " ".join(reason.split()))).rstrip(". ")[:300]


def _check_uncited(
    text: str, evidence: _Evidence, derived: Derivation | None = None
) -> tuple[SentenceCheck, Sequence[str]]:
    """Check a sentence without a citation: prose stays, and so does an absence that what was read does not refute.

    A claim gets the fact that carries it, or is withheld.
    """
    if derived is not None and derived.kind is DerivationKind.ABSENCE and derived.steps:
        return SentenceCheck(text, (), Support.UNCITED, 0.0, (), derived.kind, derived.steps), ()
    words = _find_uncited_claims(text, evidence)
    if not words:
        return SentenceCheck(text, (), Support.UNCITED, 0.0), ()
    nearest = sorted(evidence.facts, key=lambda fact: token_overlap(text, fact.quote), reverse=True)[:_CANDIDATES]
    for fact in nearest:
        result = check_support(text, [make_evidence(fact)])
        if result.support is Support.SUPPORTED and not result.withholds:
            return _record_check(text, (fact.id,), result, [fact]), (fact.marker,)
    named = ", ".join(words[:_MOST_WORDS_NAMED])
    why = _tidy_reason(f"it states {named} without a source")
    reasons = (phrases.TELLS_RESEARCH,) if describes_research(text, words, evidence.known) else ()
    return SentenceCheck(text, (), Support.UNSUPPORTED, 0.0, (*reasons, why), withheld=why), ()


def _find_uncited_claims(text: str, evidence: _Evidence) -> tuple[str, ...]:
    """Return what an uncited sentence claims; a fixed wording may name only what the run itself knows."""
    words = find_claim_words(text, evidence.known)
    if not words or not phrases.is_written_by_code(text):
        return words
    known = "\n".join((*evidence.known, *(fact.quote for fact in evidence.facts)))
    return () if _COUNTED.fullmatch(text.strip()) else tuple(word for word in words if word not in known)


def _is_told(line: str, evidence: _Evidence) -> bool:
    """True unless a title or heading states what stands neither in a quote nor in a question."""
    if find_order(line) and not any(line.strip("# ") in each for each in evidence.known):
        return False
    said = read_inline(line)
    asked = [each for each in evidence.known if (each[-1] in "?？؟" and each in said) or not is_statement(each)]
    words = find_claim_words(line) if is_statement(line, asked) else ()
    known = words and "\n".join((fold_quotes(drop_orders(fact.quote) for fact in evidence.facts), *asked)).casefold()
    return all(word.casefold() in known for word in words)


def _check_row(line: str, header: Sequence[str], evidence: _Evidence) -> tuple[str, list[SentenceCheck], int]:
    """Check a row cell by cell, each against its own citations; a note stands in the place of a cell that is false."""
    unknown = [match.group() for match in MARKER.finditer(line) if match.group() not in evidence.by_marker]
    checks: list[SentenceCheck] = []
    places: list[int] = []
    for text, cited, place in iter_cell_statements(line, MARKER):
        held = [fact for marker in cited for fact in evidence.by_marker.get(marker, ())]
        ids = tuple(fact.id for fact in held)
        labels = [label for fact in held for label in (fact.title, fact.version, fact.published)]
        said = strip_source_label(read_inline(text), labels)
        if held:
            check = _record_check(said, ids, check_support(said, list(map(make_evidence, held))), held)
        else:
            check = SentenceCheck(text, (), Support.UNSUPPORTED, 0.0, withheld="its citation leads to no source")
        checks.append(replace(check, sentence=text, row=describe_cell(header, line, place, MARKER)))
        places.append(place)
    known = [match.group() for match in MARKER.finditer(line)]
    checks += _check_bare_cells(line, checks, known, evidence) if checks else _check_uncited_row(line, evidence)
    checks = [_apply_ruling(check, evidence.rulings, _list_quotes(known, evidence)) for check in checks]
    for check, place in zip(checks, [*places, *(-1 for _ in checks[len(places) :])], strict=True):
        if check.withheld or format_labels(check):
            line = mark_cell(line, check, place)
    for marker in unknown:
        line = line.replace(marker, "")
    return line, checks, len(unknown)


def _check_uncited_row(line: str, evidence: _Evidence) -> list[SentenceCheck]:
    cells = split_cells(line)
    if any(cell in evidence.known for cell in cells if cell):
        return []
    check = _check_uncited(" ".join(cell for cell in cells if cell), evidence)[0]
    return [check] if check.withheld else []


def _check_bare_cells(
    line: str, checks: Sequence[SentenceCheck], marks: Sequence[str], evidence: _Evidence
) -> list[SentenceCheck]:
    """Check the cells without a citation beside cited ones, the first of a row apart: a number needs a source."""
    held = find_numbers("\n".join(_list_quotes(marks, evidence)))
    bare = (read_inline(cell) for cell in split_cells(line)[1:] if cell and not MARKER.search(cell))
    foreign = (cell for cell in bare if not find_numbers(cell) <= held)
    found = (_check_uncited(cell, evidence)[0] for cell in foreign if not any(cell in each.sentence for each in checks))
    return [check for check in found if check.withheld]


def make_evidence(fact: Fact) -> Evidence:
    """Return a fact's quote with what its source says about itself."""
    return Evidence(fact.quote, fact.title, fact.version, fact.published, fact.heading)
