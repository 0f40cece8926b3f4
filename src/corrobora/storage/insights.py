"""Insights kept across runs: questions, gaps and linked sources that a document told beside what was asked (S0).

Knows the table `insight` and which insights share words with a text. Does not know when an insight counts: the
engine's triggers do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from corrobora.domain.evidence import Insight, InsightKind, SourceId

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    from corrobora.storage.tokens import Tokenizer

    Connection = AsyncConnection[TupleRow]

_MAX_RECENT = 5_000  # of the newest that share a word


async def insert_insights(
    connection: Connection, tokenizer: Tokenizer, insights: Sequence[Insight], *, run: str
) -> int:
    """Insert insights; the same of one source is counted once more, and the surer confidence stays.

    Insights of a source that is not stored are left out: without a citation they are worth nothing.
    """
    rows = {(int(each.source[1:]), each.kind.value, each.text): each for each in insights if each.text.strip()}
    if not rows:
        return 0
    given = [
        {
            "source": source,
            "kind": kind,
            "text": text,
            "why": each.why,
            "confidence": each.confidence,
            "terms": sorted(set(tokenizer.query_terms(f"{text} {each.why}"))),
        }
        for (source, kind, text), each in sorted(rows.items())
    ]
    cursor = await connection.execute(
        "insert into insight as kept (source, kind, digest, text, why, confidence, terms, run)"
        " select g.source, g.kind, md5(g.text), g.text, g.why, g.confidence,"
        " array(select jsonb_array_elements_text(g.terms)::int4), %s"
        " from jsonb_to_recordset(%s) as g(source int4, kind text, text text, why text, confidence float8, terms jsonb)"
        " join source s on s.id = g.source"
        " on conflict (source, kind, digest) do update set seen = kept.seen + 1,"
        " confidence = greatest(kept.confidence, excluded.confidence)"
        " returning seen",
        [run, Jsonb(given)],
    )
    return sum(seen == 1 for (seen,) in await cursor.fetchall())


async def query_insights(
    connection: Connection, tokenizer: Tokenizer, spaces: Sequence[int], text: str, *, limit: int
) -> list[Insight]:
    """Return insights that share words with `text`, the rarest shared words first."""
    terms = tokenizer.query_terms(text)
    if not terms or not spaces:
        return []
    cursor = await connection.execute(
        "select i.kind, i.text, i.source, i.why, i.confidence, s.title, i.terms"
        " from insight i join source s on s.id = i.source"
        " where s.space = any(%s) and i.terms && %s::int4[] order by i.added desc, i.source, i.kind, i.digest limit %s",
        (list(spaces), terms, _MAX_RECENT),
    )
    rows = await cursor.fetchall()
    holders = {term: sum(term in row[6] for row in rows) for term in terms}
    weight = {term: math.log(1 + (len(rows) + 0.5) / (n + 0.5)) for term, n in holders.items()}

    def shared_weight(row: TupleRow) -> float:
        return sum(weight[term] for term in terms if term in row[6])

    ranked = sorted(rows, key=lambda row: (-shared_weight(row), -row[4], row[2], row[0], row[1]))[:limit]
    return [
        Insight(InsightKind(kind), told, SourceId(f"S{source}"), why, confidence, title)
        for kind, told, source, why, confidence, title, _ in ranked
    ]
