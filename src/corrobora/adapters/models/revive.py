"""Revive: from what a model filled in to the role's output, with everything that code decides.

Knows which ids were shown, and assigns paths, numbers and addresses itself. Does not parse and does not ask.
What cannot be used raises `Unusable`, whose message goes into the one repair call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from corrobora.adapters.models import wire
from corrobora.adapters.models.planning import Unusable, revive_plan
from corrobora.domain.evidence import Contradiction, FactId, FollowUp, LinkedSource, Query, Relation, Severity
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Subject, SubQuestion, collect_leaves
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.domain.thread import Gap, Intent, Proposal, ScopeInput
from corrobora.roles.clarify import Asking, Scoping
from corrobora.roles.extract import Excerpt, Extraction, Quote
from corrobora.roles.plan import Refinement, Shortfall
from corrobora.roles.quoting import literal
from corrobora.roles.reflect import Learned
from corrobora.roles.scout import Shortlist, Shortlisted, Sweep
from corrobora.roles.synthesize import Material

_URL = re.compile(r"https?://[^\s<>\"'\])}]{1,2000}")
_CITED = re.compile(r"\b(S\d{1,9})\s{0,2}[:：,]?\s{0,2}(C\d{1,9})\b", re.IGNORECASE)
_WEAK = 0.5  # below this, evidence for a key claim counts as weak (TREE-30)


def scoping(given: Asking, filled: wire.WireScoping) -> Scoping:
    """Number the sub-questions through all queries; what the brief brought along is kept."""
    if not filled.feasible:
        if not (filled.reasons or filled.narrower or filled.questions):
            raise Unusable(
                "`feasible` is false, so `reasons` must say why and `narrower` must offer narrower questions."
            )
        return Scoping(
            feasible=False,
            queries=(),
            reasons=_texts(filled.reasons),
            narrower=_texts(filled.narrower),
            questions=_texts(filled.questions),
            complexity_hint=filled.complexity,
        )
    queries = [query for query in filled.queries if query.question.strip()]
    if not queries:
        raise Unusable("`feasible` is true, so `queries` must hold at least one query.")
    briefs: list[Brief] = []
    number = 0
    for query in queries:
        made = _brief(given, query, number, alone=len(queries) == 1)
        number += len(made.sub_questions)
        briefs.append(made)
    return Scoping(feasible=True, queries=tuple(briefs), complexity_hint=filled.complexity)


def _brief(given: Asking, query: wire.WireQuery, number: int, *, alone: bool) -> Brief:
    asked = given.brief
    texts = _texts(query.sub_questions)[: given.max_sub_questions] or (query.question.strip(),)
    new = tuple(SubQuestion(f"sq-{number + at}", text) for at, text in enumerate(texts, start=1))
    kept = asked.sub_questions if alone else ()
    subjects = tuple(Subject(s.name.strip(), _texts(s.aliases)) for s in query.subjects if s.name.strip())
    return replace(
        asked,
        question=query.question.strip(),
        sub_questions=kept or new,
        subjects=(asked.subjects if alone else ()) or subjects,
        disambiguation=_unique((*asked.disambiguation, *_texts(query.disambiguation))),
        suggested_plan=asked.suggested_plan if alone else "",
    )


def refinement(given: Shortfall, filled: wire.WireRefinement) -> Refinement:
    """Accept changes to leaves that exist, and sources that were listed."""
    known = {leaf.path for leaf in collect_leaves(given.node)}
    wrong = [change.task for change in filled.changes if change.task not in known]
    if wrong:
        raise Unusable(f"There is no task {wrong[0]!r}. The tasks are: {', '.join(sorted(known))}.")
    links = {f"L{number}": link.reference for number, link in enumerate(given.linked, start=1)}
    queries = tuple((c.task, _unique(_texts(c.queries))) for c in filled.changes if _texts(c.queries))
    sources = [(c.task, _unique(links[label] for label in c.sources if label in links)) for c in filled.changes]
    return Refinement(queries, tuple(pair for pair in sources if pair[1]), filled.why)


def intent(given: ScopeInput, filled: wire.WireIntent) -> Intent:
    """Keep as many queries as the phase allows, each once; ids and names must have been shown."""
    phase = given.phase
    hints = {hint.strip(): hint.strip() for hint in phase.query_hints}
    hints |= {hint.removeprefix("site:"): hint for hint in hints if hint.startswith("site:")}
    queries: dict[str, Query] = {}
    for search in filled.queries:
        text = " ".join(_URL.sub(" ", search.text).split())[: LIMITS.query_max_chars]
        if text:
            queries.setdefault(text.casefold(), Query(text, hints.get(search.site.strip(), ""), filled.goal))
    if len(queries) < max(1, phase.min_queries):
        raise Unusable(f"This phase needs {phase.min_queries} to {phase.max_queries} different queries.")
    ids = {question.id for question in given.open_questions}
    subjects = _named(filled.subjects, given.uncovered)
    forced = given.forced_subject
    return Intent(
        goal=filled.goal,
        queries=tuple(queries.values())[: max(1, phase.max_queries)],
        targets=tuple(each for each in _unique(filled.targets) if each in ids),
        subjects=_unique((forced, *subjects)) if forced else subjects,
        reasoning=filled.reasoning,
        forced=f"subject {forced} has had no round" if forced else "",
    )


def shortlist(given: Sweep, filled: wire.WireShortlist) -> Shortlist:
    """Put references back where labels stand; unknown labels and doubles are dropped."""
    known = {f"K{number}": candidate for number, candidate in enumerate(given.candidates, start=1)}
    chosen: dict[str, Shortlisted] = {}
    for choice in filled.sources:
        candidate = known.get(choice.candidate.strip())
        if candidate is not None:
            made = Shortlisted(
                candidate.reference,
                candidate.title,
                choice.authority,
                choice.recency,
                choice.coverage,
                choice.diversity,
                choice.rationale,
                _texts(choice.balance),
            )
            chosen.setdefault(candidate.reference, made)
    if filled.sources and not chosen:
        raise Unusable(f"`candidate` must be one of the labels K1 to K{len(known)}.")
    out = [(known[e.candidate.strip()].reference, e.reason) for e in filled.excluded if e.candidate.strip() in known]
    return Shortlist(tuple(chosen.values())[: given.limit], tuple(out), filled.balance)


def extraction(given: Excerpt, filled: wire.WireExtraction) -> Extraction:
    """Give each quote the exact characters of its passage; insights only as TREE-30 allows them."""
    passages = {passage.id: passage for passage in given.passages}
    ids = {question.id for question in given.sub_questions}
    quotes: list[Quote] = []
    for found in filled.quotes:
        passage, text = _placed(found, passages)
        quotes.append(
            Quote(
                passage=passage,
                quote=text,
                claim=" ".join(found.claim.split()),
                confidence=found.confidence,
                answers=tuple(each for each in _unique(found.answers) if each in ids),
                subjects=_named(found.subjects, given.subjects),
            )
        )
    triggered = _triggered(given, filled)
    return Extraction(
        quotes=tuple(quotes),
        summary=filled.summary,
        relevant=filled.relevant and bool(quotes),
        follow_ups=tuple(FollowUp(f.question, f.confidence, f.rationale) for f in filled.follow_ups if triggered),
        gaps=_texts(filled.gaps) if triggered else (),
        linked=tuple(LinkedSource(x.reference, x.context, x.priority) for x in filled.linked if triggered),
        contradicts_known=_texts(filled.contradicts_known),
        terms=_unique(_texts(filled.terms)),
    )


def _placed(found: wire.WireQuote, passages: dict[Any, Any]) -> tuple[str, str]:
    """Find the quote in its passage, else in another that was shown; one that is nowhere goes on, to be counted."""
    named = found.passage.strip().strip("[]").rpartition(":")[2]
    order = sorted(passages, key=lambda each: each != named)
    for each in order:
        text = literal(found.quote, passages[each].text)
        if text is not None:
            return each, text
    return named, found.quote


def _triggered(given: Excerpt, filled: wire.WireExtraction) -> bool:
    """Say whether one of the conditions of TREE-30 holds: weak evidence, admitted limits, contradictions, discovery."""
    weak = not filled.quotes or max(quote.confidence for quote in filled.quotes) < _WEAK
    return weak or bool(filled.gaps) or bool(filled.contradicts_known) or given.discovery_intense


def proposal(given: Learned, filled: wire.WireProposal) -> Proposal:
    """Keep ids that were shown, and an address only if it stands in the question."""
    ids = {question.id for question in given.sub_questions}
    facts = {fact.id for fact in given.facts}
    contradictions = tuple(
        Contradiction(
            claim=c.claim,
            a=FactId(c.a),
            b=FactId(c.b),
            relation=Relation(c.relation),
            severity=Severity(c.severity),
            resolved=c.resolved,
            difference=c.difference,
            scope=c.scope,
        )
        for c in filled.contradictions
        if c.a in facts and c.b in facts and c.a != c.b
    )
    return Proposal(
        summary=filled.summary,
        gaps=tuple(Gap(gap.text.strip(), gap.target.strip()) for gap in filled.gaps if gap.text.strip()),
        done=filled.done,
        next_topic=" ".join(_URL.sub(" ", filled.next_topic).split())[: LIMITS.query_max_chars],
        url=filled.url.strip() if filled.url.strip() and filled.url.strip() in given.question else "",
        should_continue=filled.should_continue,
        reasoning=filled.reasoning,
        contradictions=contradictions,
        answered=tuple(each for each in _unique(filled.answered) if each in ids),
        new_sub_questions=_unique(_texts(filled.new_sub_questions)),
        terms=_unique(_texts(filled.terms)),
    )


def draft(_given: object, filled: wire.WireDraft) -> Draft:
    """Take title and body; a title repeated as the first heading of the body is dropped."""
    title = " ".join(filled.title.split()).lstrip("# ").strip()
    body = filled.body.strip()
    first, _, rest = body.partition("\n")
    if first.startswith("# ") and first[2:].strip().casefold() == title.casefold():
        body = rest.strip()
    if not title or not body:
        raise Unusable("`title` and `body` must not be empty.")
    return Draft(title, body)


def report(given: Material, filled: wire.WireDraft) -> Draft:
    """Take a draft; one that cites none of the facts it was given is no report, however well it reads."""
    made = draft(given, filled)
    known = {(fact.source.upper(), fact.passage.upper()) for part in given.parts for fact in part.facts}
    cited = {(source.upper(), passage.upper()) for source, passage in _CITED.findall(made.body)}
    if given.purpose == "report" and known and not known & cited:
        raise Unusable("No sentence of `body` cites a fact: its marker, such as [S1:C2], follows each sentence.")
    return made


def verdict(_given: object, filled: wire.WireVerdict) -> Verdict:
    """Take the scores as they are; whether they pass is computed elsewhere."""
    return Verdict(
        filled.factual_accuracy,
        filled.citation_accuracy,
        filled.completeness,
        filled.source_quality,
        filled.source_diversity,
        filled.rationale,
    )


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for value in values if (text := " ".join(value.split())))


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _named(names: Iterable[str], subjects: Sequence[Subject]) -> tuple[str, ...]:
    """Give subjects their own names, whatever alias or case the model used; unknown names are dropped."""
    known = {alias.casefold(): s.name for s in reversed(subjects) for alias in (*s.aliases, s.name)}
    return _unique(known[name.strip().casefold()] for name in names if name.strip().casefold() in known)


REVIVE: dict[str, Callable[[Any, Any], Any]] = {
    "clarify": scoping,
    "plan": revive_plan,
    "refine": refinement,
    "scope": intent,
    "scout": shortlist,
    "extract": extraction,
    "reflect": proposal,
    "synthesize": report,
    "summarize": draft,
    "critique": lambda _given, filled: Critique(_texts(filled.problems), filled.summary),
    "revise": draft,
    "judge": verdict,
}
