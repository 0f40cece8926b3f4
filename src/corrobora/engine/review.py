"""Review: what those who review and repair a draft are given, and what a review makes of it.

Knows findings, the reading set that derivations are checked against, what the check says of a draft, what stored texts
add to a report, the judge's scores, and which of two drafts is taken. Does not check anything itself.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, replace
from math import ceil

from corrobora.domain.evidence import Document, Fact, SourceId
from corrobora.domain.report import Critique, Draft, Findings, Judgement, Report, SentenceCheck, Support, iter_threads
from corrobora.engine.inputs import MAX_FACTS_WRITTEN, fit_length, report_input
from corrobora.engine.reading_set import count_documents
from corrobora.engine.session import Session
from corrobora.ports import Library
from corrobora.reporting.evidence import build_evidence
from corrobora.reporting.render import CitedSource, render_conflicts, render_gaps
from corrobora.reporting.repair import NumberedDraft, list_withheld
from corrobora.reporting.report_format import compile_labels
from corrobora.reporting.verify import RULED, CheckedDraft, check_draft
from corrobora.roles.forms import name_origin, name_place, select_best_facts
from corrobora.roles.review import Confirming, Doubt, Reviewing, Revising, confirm
from corrobora.text.claims import NAMED_NUMBER
from corrobora.text.derivations import split_absence
from corrobora.text.markdown import LEAD, MARKER, is_row, iter_cited_sentences, split_lines
from corrobora.text.measures import find_measures
from corrobora.text.notices import find_notice
from corrobora.text.operations import DerivationKind
from corrobora.text.phrases import TELLS_RESEARCH, format_count, is_written_by_code, list_frames
from corrobora.text.reading import is_stated_result
from corrobora.text.support import find_numbers, list_unshown_numbers
from corrobora.text.tokens import find_literals, split_words, stem_text, token_overlap

REVIEW_SECONDS = 10.0  # with less time than this left, reviewing is shed before the report is
MAX_NEAR_SHOWN = 4  # facts for a problem of a draft, or for a sentence that is to be repaired
MAX_LEFT_OUT_SHOWN = 12  # facts that a draft does not cite: to its critic, not to the judge of what it says
MAX_FAILING_SHOWN = 40  # sentences that a check did not pass
MAX_LEAD = 1_200  # characters before a quote that may say what it speaks of
LEAST_BEFORE, MAX_BEFORE = 40, 300  # of them: shown of any quote; of one sentence
MAX_RULED = 40  # sentences of one call, more or less by a half; each quote stands in it once
MAX_DOUBTS = 5 * MAX_RULED  # a report of 4,000 words has about 200 sentences
_NEAREST = 3  # quotes for a sentence that tells an absence
_TELLS_ABSENCE = "it says that this was not found; the quotes are those nearest to it"
_ABSENT = re.compile(r"the (?:name|word|letters of) (.{1,200}) stands? in none of its sources")
_NAME_WITH_DIGITS = re.compile(rf"{NAMED_NUMBER.pattern}|\b[^\W\d_]\w*\d\w*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")  # the label of an entry stands with its words


def list_failing(checked: CheckedDraft) -> tuple[str, ...]:
    """List the sentences that the check did not pass, each with its reason; those that are withheld first."""
    failing = [f"Withheld, because {each.withheld}: {each.sentence}" for each in checked.checks if each.withheld]
    doubted = (each for each in checked.checks if each.support in RULED and not each.withheld)
    failing += [f"{each.support.value}, because {'; '.join(each.reasons)}: {each.sentence}" for each in doubted]
    return tuple(failing[:MAX_FAILING_SHOWN])


async def confirm_input(
    checked: CheckedDraft, findings: Findings, run: Session, known: Sequence[SentenceCheck] = ()
) -> Confirming:
    """What a model rules on: the sentences that code doubts and that it has not ruled on yet, then the restatements.

    Of these code knows that their words stand in the quotes, not that they are said of the same thing. A quote comes
    with what stands before it. What it was asked about in a check before, all that is `known`, it is not asked again.
    """
    asked = (each for each in checked.checks if not each.withheld or TELLS_RESEARCH in each.reasons)
    closed = {*run.rulings, *(each.key for each in known)}
    open_checks = [each for each in asked if each.key not in closed]
    doubted = [each for each in open_checks if (each.support in RULED and each.facts) or _may_claim(each)]
    doubted = [*doubted, *filter(_is_restated, open_checks)][:MAX_DOUBTS]
    sources = _name_sources(findings.citable)
    facts = {str(fact.id): fact for fact in findings.citable}
    shown = [(each, each.facts or _find_nearest(each, findings.facts)) for each in doubted]
    shown.sort(key=lambda row: [(facts[name].source, facts[name].start) for name in row[1]])  # a call has a quote once
    said = {name: " ".join(f"{each.sentence} {each.row}" for each, names in shown if name in names) for name in facts}
    leads = {name: await _find_lead(fact, said[name], run) for name, fact in facts.items() if said[name]}
    quotes = {name: (sources[name], lead, facts[name].quote) for name, lead in leads.items()}
    doubts = (
        Doubt(
            each.sentence,
            tuple(quotes[name] for name in names),
            gather_reasons(each.reasons) or ((_TELLS_ABSENCE,) if each.follows == DerivationKind.ABSENCE else ()),
            each.key,
            each.row,
        )
        for each, names in shown
    )
    return Confirming("root/confirm", tuple(doubts))


async def _find_lead(fact: Fact, said: str, run: Session) -> str:
    """Return the sentence before a quote, and those that hold what its reader took from them and is `said` again.

    "This option doubles it" is one for a reader who named the option in the claim: the nearest sentence that does.
    """
    own, told, quoted = ({*stem_text(each), *find_literals(each)} for each in (fact.claim, said, fact.quote))
    words = own & told - quoted  # a name such as on_full is one of them, although the quote may speak of "full"
    _, text = await run.library.document(fact.source)
    start, found = max(0, fact.start - MAX_LEAD), list[str]()
    for sentence in filter(str.strip, reversed(_SENTENCE_END.split(text[start : fact.start])[1 if start else 0 :])):
        held = words.intersection((*stem_text(sentence), *find_literals(sentence)))
        words -= held
        found += [" ".join(sentence.split())[-MAX_BEFORE:]] if held or sum(map(len, found)) < LEAST_BEFORE else []
    return f"(… {' … '.join(reversed(found))} …)" if found else ""


def _find_nearest(check: SentenceCheck, facts: Sequence[Fact]) -> tuple[str, ...]:
    """Return the facts that are nearest to what a sentence tells of the research: one may say what was not found."""
    if check.follows != DerivationKind.ABSENCE and TELLS_RESEARCH not in check.reasons:
        return ()
    nearest = sorted(facts, key=lambda fact: -token_overlap(check.sentence, f"{fact.claim} {fact.quote}"))
    return tuple(str(fact.id) for fact in nearest[:_NEAREST])


def _may_claim(check: SentenceCheck) -> bool:
    """True for a sentence that cites nothing and names nothing else, if a writer wrote it: only a reader can tell."""
    uncited = check.support is Support.UNCITED or TELLS_RESEARCH in check.reasons
    return uncited and not is_written_by_code(check.sentence)


def _is_restated(check: SentenceCheck) -> bool:
    """True for other words than those of the quotes that code finds supported, and for a cell, whatever its words.

    So is a judgement or count of which nothing was computed.
    """
    restated = bool(check.row) or (check.follows != DerivationKind.QUOTE and not check.steps)
    return restated and check.support is Support.SUPPORTED and bool(check.facts)


def gather_reasons(reasons: Sequence[str]) -> tuple[str, ...]:
    """Tell in one line what stands in no source, each word once; other reasons stay as they are."""
    absent: list[str] = []
    others: list[str] = []
    for reason in reasons:
        found = _ABSENT.fullmatch(reason)
        if found is None:
            others.append(reason)
        elif not any(set(split_words(found[1])) <= set(split_words(known)) for known in absent):
            absent.append(found[1])
    others = [each for each in others if each.removesuffix(" stands in none of its sources") not in absent]
    return (*((f"in none of its sources: {', '.join(absent)}",) if absent else ()), *others)


async def ask_rulings(given: Confirming, run: Session) -> bool:
    """Ask a model about the doubts of a check and keep what it rules; False if there is none to ask, or nothing to."""
    if not given.doubts or not run.has_model:
        return False
    named = frozenset(name[0] for name in _NAME_WITH_DIGITS.finditer(run.brief.question))
    size = ceil(len(given.doubts) / max(1, round(len(given.doubts) / MAX_RULED)))  # each call is sent the rules
    asked = [replace(given, doubts=given.doubts[at : at + size]) for at in range(0, len(given.doubts), size)]
    for part, ruled in zip(asked, await asyncio.gather(*(run.call(confirm, part) for part in asked)), strict=True):
        pairs = zip(part.doubts, ruled.reasons, strict=True)
        run.rulings |= {
            doubt.key: None if not reason and _has_foreign_number(doubt, named) else reason
            for doubt, reason in pairs
            if reason is not None
        }
    return True


def _has_foreign_number(doubt: Doubt, named: Container[str]) -> bool:
    """True if a sentence has a number that stands neither in a quote shown with it nor in what is shown before one.

    What the question names, such as "s6" or "IPv6", is no number; what follows from two that both have is not foreign.
    """
    shown = "\n".join(" ".join(quote) for quote in doubt.quotes)
    claimed = (split_absence(doubt.sentence) or (doubt.sentence,))[0]  # code counts what was read
    said = _NAME_WITH_DIGITS.sub(lambda name: "" if name[0] in named else name[0], claimed)
    stated, known = find_measures(said), find_measures(shown)
    computed = (find_numbers(each.text) for each in stated if is_stated_result(each, stated, known))
    return bool(doubt.quotes) and not list_unshown_numbers(said, shown) <= frozenset[str]().union(*computed)


def _name_source(fact: Fact, place: str = "") -> str:
    """Return title, version, publisher and host of a fact's source, or its `place` if that tells more than the host."""
    named = f"{fact.title} {fact.version}".strip()
    publisher, host = name_origin(fact.publisher, fact.host)
    return ", ".join(filter(None, (named, publisher, place or host)))


def _name_sources(facts: Sequence[Fact]) -> Mapping[str, str]:
    """Name the source of each fact, with its section: a heading may say what a quote is of.

    Sources of the same name are distinguished by their paths.
    """
    plain = {fact.source: _name_source(fact) for fact in facts}
    shared = Counter(plain.values())
    found: dict[str, str] = {}
    for fact in facts:
        named, section = plain[fact.source], fact.heading.rpartition(" > ")[2]
        named = named if shared[named] == 1 else _name_source(fact, name_place(fact.url))
        found[str(fact.id)] = named if not section or section in named else f"{named}, under {section}"
    return found


def critique_input(
    checked: CheckedDraft, findings: Findings, run: Session, *, draft: Draft, left_out: int = MAX_LEFT_OUT_SHOWN
) -> Reviewing:
    """What the critic of a draft is given: the draft as written, with what the check says of it.

    All that it cites, both sides of each contradiction, and the best of what it leaves out.
    """
    sides = {side for each in findings.contradictions for side in (each.a, each.b)}
    shown = sum(fact.marker in draft.body or fact.id in sides for fact in findings.facts)
    most = min(MAX_FACTS_WRITTEN, shown + left_out)
    facts = select_best_facts(findings.facts, most, findings.contradictions, draft.body)
    it = fit_length(report_input(findings, run.brief.question, run.profile))  # as its writer was told
    given = Reviewing("root/critique", it.question, draft, facts, it.words_min, it.words_max, list_failing(checked))
    return replace(given, **count_documents(findings))


def judge_input(final: CheckedDraft, findings: Findings, run: Session) -> Reviewing:
    """What the judge of a report is given: what a reader will see, with what the check says of it."""
    seen = add_code_sections(final.draft, findings)
    return replace(critique_input(final, findings, run, draft=seen, left_out=0), path="root/judge")


def has_review_time(run: Session) -> bool:
    """True if there is time to review what is written."""
    return run.budget.until_deadline > REVIEW_SECONDS


def revise_input(reviewed: Reviewing, critic: Critique, checked: CheckedDraft, findings: Findings) -> Revising:
    """What the reviser is given: the draft with ids, the critic's word, what is withheld, and the facts concerned.

    All facts tell where sentences end, not only those that are shown: so the ids are those that are edited.
    """
    numbered = NumberedDraft.read(reviewed.draft, findings.facts)
    withheld = list_withheld(numbered, checked.checks, MAX_FAILING_SHOWN)
    found = (*critic.problems, *(f"{{{name}}} is withheld, because {why}" for name, (why, _) in withheld))
    shown, it = replace(reviewed.draft, body=numbered.show_ids()), reviewed
    said = (*critic.problems, *(text for _, (_, text) in withheld))
    facts = _select_concerned(it.facts, said, checked)
    given = Revising("root/revise", it.question, shown, replace(critic, problems=found), facts)
    given = replace(given, words_min=it.words_min, words_max=it.words_max, places=numbered.places)
    return replace(given, **count_documents(findings))


def _select_concerned(facts: Sequence[Fact], said: Sequence[str], checked: CheckedDraft) -> tuple[Fact, ...]:
    """Return the facts that a revision concerns: of sentences that did not pass, named in a problem, or nearest to it.

    What else the draft says was compared with its facts, and stays as it is.
    """
    concerned = {name for each in checked.checks if each.withheld or each.support in RULED for name in each.facts}
    for text in said:
        nearest = sorted(facts, key=lambda fact: -token_overlap(text, f"{fact.claim} {fact.quote}"))
        concerned |= {fact.id for fact in (*nearest[:MAX_NEAR_SHOWN], *(fact for fact in facts if fact.marker in text))}
    return tuple(fact for fact in facts if fact.id in concerned)


async def read_cited_sources(library: Library, sources: Sequence[SourceId]) -> dict[str, CitedSource]:
    """Return the content hashes of stored sources, what each says about its own standing, and their authors."""
    found: dict[str, CitedSource] = {}
    for each in dict.fromkeys(sources):
        source, text = await library.document(each)
        found[each] = CitedSource(source.snapshot, find_notice(source.title, text), source.authors)
    return found


def describe_notices(cited: Mapping[str, CitedSource]) -> list[str]:
    """Say which of the cited sources carry a notice about themselves; an empty list if none does."""
    standing = [each.notice for each in cited.values() if each.notice]
    sources = format_count(len(standing), "source")
    note = f"Notices that {sources} of the report carry about themselves: {'; '.join(standing)}"
    return [note] if standing else []


def list_read_sources(report: Report) -> frozenset[SourceId]:
    """Return the ids of all sources that a run has read."""
    rounds = (done for leaf in iter_threads(report.findings) for done in leaf.rounds)
    read = (reading.source for done in rounds for reading in done.readings if reading.source is not None)
    return frozenset((*read, *(fact.source for fact in report.findings.facts)))


def mark_previous(
    numbers: Mapping[str, int], run: str, previous: Report | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return which numbers lead to sources that the previous run had read, and the note that says so."""
    if previous is None or not numbers:
        return (), ()
    known = list_read_sources(previous)
    ours = tuple(number for marker, number in numbers.items() if SourceId(marker[1:].partition(":")[0]) in known)
    # In square brackets the numbers would be citations, and nothing supports a note.
    named = f" ({', '.join(map(str, ours))})" if ours else ""
    if len(ours) == len(numbers):
        where = f"every cited passage{named} stands in a source that it had read"
    elif ours:
        where = f"of {len(numbers)} cited passages, {len(ours)}{named} from sources that it had read, the others new"
    else:
        where = "no cited passage stands in a source that it had read"
    return ours, (f"Follows run {run}: {where}.",)


async def add_evidence(report: Report, library: Library) -> Report:
    """Return a report with the evidence of every `[n]` of its text, from the stored texts of its sources.

    Raises:
        ReadError: a cited source is not stored.
    """
    sources = dict.fromkeys(each.source for each in report.citations)
    stored = {
        each: Document(*await library.document(SourceId(each)), tuple(await library.source_passages(SourceId(each))))
        for each in sources
    }
    evidence, passages = build_evidence(report, stored)
    return replace(report, evidence=evidence, passages=passages)


MIN_KEPT_CITATIONS = 0.5  # a revision must keep at least this share of the draft's distinct citations


def drop_unproven(found: Findings, run: Session) -> Findings:
    """Return a thread's findings with what a model wrote of it, without what its facts refute and what cites none.

    Whoever writes the report takes it for found. A summary that cites nothing tells what was done, and stays.
    """
    if not run.has_model or not any(fact.marker in found.summary for fact in found.facts):
        return found
    kept: list[str] = []
    body = check_draft(Draft("", found.summary), found.facts).draft.body
    for line in split_lines(compile_labels(*list_frames()).sub("", body)):
        lead = line[: len(line) - len(LEAD.sub("", line, count=1))]
        cited = [f"{said} {''.join(dict.fromkeys(m))}" for said, m in iter_cited_sentences(line[len(lead) :]) if m]
        whole = not line.strip() or line.startswith("#") or is_row(line)
        kept += [line] if whole else [lead + " ".join(cited)] if cited else []
    return replace(found, summary="\n".join(kept).strip())


def add_code_sections(draft: Draft, findings: Findings) -> Draft:
    """The draft with the sections on contradictions and gaps that code adds: the judge sees what a reader will see."""
    facts = {fact.id: fact for fact in findings.facts}
    sections = (
        draft.body.strip(),
        render_conflicts(findings.contradictions, facts, lambda fact: fact.marker, draft.body),
        render_gaps(findings, ()),
    )
    return replace(draft, body="\n\n".join(section for section in sections if section) + "\n")


def build_verification(final: CheckedDraft, judged: Judgement, threshold: float) -> dict[str, object]:
    """Build `verification.json`: the five scores, whether they pass, and the token overlap beside (ANGLES-31).

    Without a verdict `failed` says why there is none.
    """
    verdict = judged.verdict
    return {
        "judge": asdict(verdict) if verdict else None,
        "overall": round(verdict.overall, 3) if verdict else None,
        "threshold": threshold,
        "passed": verdict is not None and verdict.overall >= threshold,
        "flagged": verdict.suspicious if verdict else "",
        "failed": "" if verdict else judged.why,
        "token_overlap": score_overlap(final),
        "sentences_checked": len(final.checks),
    }


def score_overlap(final: CheckedDraft) -> float | None:
    """The token-overlap score (ANGLES-31): the mean over cited sentences; a floor that is shown, never a verdict."""
    scores = [check.overlap for check in final.checks if check.support is not Support.UNCITED]
    return round(sum(scores) / len(scores), 3) if scores else None


def choose_revision(before: Draft, after: Draft, findings: Findings) -> Draft:
    """Take a revision only if it is no loss: not empty, and most of the citations that held still there.

    Requirement: bad-input M31.
    """
    kept, new = find_cited_markers(before, findings), find_cited_markers(after, findings)
    if not after.body.strip() or len(new) < MIN_KEPT_CITATIONS * len(kept):
        return before
    return after


def find_cited_markers(draft: Draft, findings: Findings) -> frozenset[str]:
    """Distinct markers of a draft that resolve."""
    known = {fact.marker for fact in findings.citable}
    return frozenset(match.group() for match in MARKER.finditer(draft.body)) & known
