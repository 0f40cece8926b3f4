"""Round files: what S3 keeps of each round, in the seed's own shape.

Knows the seed's `Finding` (round, queries, results, reasoning, gaps, metadata) and its state. Does not write files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corrobora.domain.report import Findings, iter_threads
from corrobora.domain.thread import Round


def build_round_finding(done: Round) -> Mapping[str, object]:
    """Return one round as the seed's Finding (S3, state schema): field names are the seed's, letter by letter."""
    decision = done.decision
    results = {hit.url if hit.passage is None else f"{hit.url}#{hit.passage}": hit for hit in done.hits}
    reasoning = done.intent.reasoning or done.intent.goal
    learned = decision.proposal.reasoning or decision.proposal.summary if decision else ""
    return {
        "round": done.number,
        "queries": [query.text for query in done.intent.queries],
        "results": [
            {
                "title": hit.title,
                "url": hit.url,
                "content": hit.snippet,
                "score": hit.score,
                "publishedDate": hit.published,
                "provider": hit.provider,
            }
            for hit in results.values()
        ],
        "reasoning": f"{reasoning} {learned}".strip(),
        "gaps": [gap.text for gap in decision.proposal.gaps] if decision else [],
        "metadata": {
            "queriesGenerated": len(done.intent.queries),
            "sourcesFound": len(results),
            "providersUsed": list(done.providers),
        },
    }


def build_research_state(rounds: Sequence[Round], *, iterative_complete: bool, complete: bool) -> Mapping[str, object]:
    """Return the seed's state of a thread (S3, state schemas of phases 1 and 3): names are the seed's, to the letter.

    `iterative_complete` once the last round is done, `complete` once the report is written.
    """
    found = [build_round_finding(done) for done in rounds]
    sources = {hit.url: hit for done in rounds for hit in done.hits}
    return {
        "currentRound": rounds[-1].number if rounds else 1,
        "researchComplete": complete,
        "research": {
            "queries": [query.text for done in rounds for query in done.intent.queries],
            "finalSources": list(sources) if complete else [],
            "rounds": [
                {
                    "round": each["round"],
                    "queries": each["queries"],
                    "sourcesFound": len({hit.url for hit in done.hits}),
                    "reasoning": each["reasoning"],
                    "gaps": each["gaps"],
                }
                for each, done in zip(found, rounds, strict=True)
            ],
            "iterativeComplete": iterative_complete,
        },
    }


def name_findings_file(path: str) -> str:
    """Name of the file of a thread's findings: `rounds.json`; of one leaf among several, with its place."""
    return f"rounds{_place_suffix(path)}.json"


def name_state_file(path: str) -> str:
    """Name of the file of a thread's state: `research_state.json`; of one leaf among several, with its place."""
    return f"research_state{_place_suffix(path)}.json"


def _place_suffix(path: str) -> str:
    place = path.removeprefix("root").strip("/").replace("/", "-")
    return f"-{place}" if place else ""


def get_synthesis_badge(findings: Findings) -> int:
    """Return the badge of the synthesis: one more than the last round of any thread."""
    return 1 + max((done.number for leaf in iter_threads(findings) for done in leaf.rounds), default=0)
