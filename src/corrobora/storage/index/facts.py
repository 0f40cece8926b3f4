"""Facts and insights kept across runs, near-duplicates merged.

Knows when two facts say the same in the same origin, the table of insights (questions, gaps and links that a document
mentions beside what was asked, TREE-32), and which of both share words with a text. Does not know how they are
extracted, graded or used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

from psycopg.types.json import Jsonb

from corrobora.domain.evidence import Fact, Grade, Insight, InsightKind, SourceId
from corrobora.policies.grading import claim_pairs, is_same_claim

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

    from corrobora.storage.index.terms import Tokenizer
    from corrobora.storage.postgres import Connection


_GRADES = [grade.value for grade in (Grade.UNVERIFIED, Grade.PLAUSIBLE, Grade.VERIFIED)]
_CANDIDATES = 500

FactRow = dict[str, Any]  # a fact as the columns of its table


class _StoredClaim(NamedTuple):
    """The fields by which two facts are compared."""

    source: int
    id: str
    claim: str


_STORED = (  # the fields of a fact in the order of the columns
    "id claim quote source passage start end confidence grade answers subjects title url origin version published"
    " heading primary"
).split()
_COLUMNS = (
    "f.id, f.claim, f.quote, f.source, f.passage, f.starts, f.ends, f.confidence, f.grade, f.answers, f.subjects,"
    " s.title, s.url, s.origin, s.version, s.published, f.heading, s.official, f.score, f.terms"
)


# Several facts in one statement, as JSON: a round trip for each of them was most of the cost of storing them.
_FIND_CANDIDATES: LiteralString = """
select w.n, f.source, f.id, f.claim
from jsonb_to_recordset(%s::jsonb) as w (n int4, source int4, origin text, terms int4[])
cross join lateral (
  select f.source, f.id, f.claim from fact f join source s on s.id = f.source
  where s.origin = w.origin and s.space = (select space from source where id = w.source)
  and f.terms && w.terms order by f.source, f.id limit %s
) f
"""
_INSERT: LiteralString = """
insert into fact (id, source, passage, starts, ends, claim, quote, confidence, grade, score, heading, answers, subjects,
  terms, run)
select id, source, passage, starts, ends, claim, quote, confidence, grade, score, heading, answers, subjects, terms, %s
from jsonb_to_recordset(%s::jsonb) as w (id text, source int4, passage text, starts int4, ends int4, claim text,
  quote text, confidence float8, grade text, score float8, heading text, answers text[], subjects text[], terms int4[])
on conflict do nothing
"""
_MERGE: LiteralString = """
update fact f set seen = f.seen + w.seen, confidence = greatest(f.confidence, w.confidence),
  grade = case when array_position(%(grades)s::text[], w.grade) > array_position(%(grades)s::text[], f.grade)
    then w.grade else f.grade end
from (
  select id, source, count(*) as seen, max(confidence) as confidence,
    (%(grades)s::text[])[max(array_position(%(grades)s::text[], grade))] as grade
  from jsonb_to_recordset(%(facts)s::jsonb) as m (id text, source int4, confidence float8, grade text)
  group by id, source
) w
where f.id = w.id and f.source = w.source
"""

_NUMBERED: tuple[tuple[LiteralString, LiteralString, LiteralString], ...] = (  # table, key, text
    ("fact", "id, source", "claim"),
    ("insight", "source, kind, digest", "text || ' ' || why"),
)


async def insert_facts(connection: Connection, tokenizer: Tokenizer, facts: Sequence[Fact], *, run: str) -> int:
    """Insert facts; the same quote of a source, or nearly the same claim of the same origin, is merged.

    Merging keeps the higher confidence and grade. Facts of different origins are not merged: they are two witnesses. A
    fact whose source was removed is left out. Returns how many were new.
    """
    async with connection.transaction():
        origins = await _lock_origins(connection, facts)
        rows = [_fact_columns(fact, tokenizer) for fact in facts if int(fact.source[1:]) in origins]
        known = await _find_candidates(connection, rows, origins)
        new: list[FactRow] = []
        merged: list[FactRow] = []
        for row, held in zip(rows, known, strict=True):
            near = (
                *held,
                *(_StoredClaim(n["source"], n["id"], n["claim"]) for n in new if _may_duplicate(n, row, origins)),
            )
            duplicate = _find_duplicate(row, near)
            if duplicate is None:
                new.append(row)
            else:
                merged.append({**row, "id": duplicate.id, "source": duplicate.source})
        inserted = 0
        if new:
            inserted = (await connection.execute(_INSERT, (run, json.dumps(new)))).rowcount
        if merged:
            await connection.execute(_MERGE, {"grades": _GRADES, "facts": json.dumps(merged)})
    return inserted


async def _lock_origins(connection: Connection, facts: Sequence[Fact]) -> dict[int, str]:
    """Return the origin of each stored source, and lock these origins until the end of the transaction.

    Parallel threads of a run store facts of the same pages. Locking in a fixed order prevents a deadlock, and without
    the lock neither thread would see the duplicate of the other.
    """
    sources = sorted({int(fact.source[1:]) for fact in facts})
    await connection.execute(
        "select pg_advisory_xact_lock(key) from (select distinct hashtextextended(origin, 0) as key from source"
        " where id = any(%s) order by key) each",
        (sources,),
    )
    cursor = await connection.execute("select id, origin from source where id = any(%s)", (sources,))
    return dict(await cursor.fetchall())


def _fact_columns(fact: Fact, tokenizer: Tokenizer) -> FactRow:
    return {
        "id": fact.id,
        "source": int(fact.source[1:]),
        "passage": fact.passage,
        "starts": fact.start,
        "ends": fact.end,
        "claim": fact.claim,
        "quote": fact.quote,
        "confidence": fact.confidence,
        "grade": fact.grade.value,
        "score": fact.score,
        "heading": fact.heading,
        "answers": list(fact.answers),
        "subjects": list(fact.subjects),
        "terms": sorted(set(tokenizer.query_terms(fact.claim))),
    }


async def _find_candidates(
    connection: Connection, rows: Sequence[FactRow], origins: Mapping[int, str]
) -> list[list[_StoredClaim]]:
    """Return the stored facts of the same origin and library that share a word with each row.

    A twin in another library stays: a run that opens only one of the two could not use it (TREE-31).
    """
    wanted = [
        {"n": n, "source": row["source"], "origin": origins[row["source"]], "terms": row["terms"]}
        for n, row in enumerate(rows)
    ]
    cursor = await connection.execute(_FIND_CANDIDATES, (json.dumps(wanted), _CANDIDATES))
    found: list[list[_StoredClaim]] = [[] for _ in range(len(rows))]
    for n, source, id_, claim in await cursor.fetchall():
        found[int(n)].append(_StoredClaim(source, id_, claim))
    return found


def _may_duplicate(new: FactRow, row: FactRow, origins: Mapping[int, str]) -> bool:
    same_origin = origins[new["source"]] == origins[row["source"]]
    return same_origin and not set(row["terms"]).isdisjoint(new["terms"])


def _find_duplicate(row: FactRow, held: Sequence[_StoredClaim]) -> _StoredClaim | None:
    """Return the fact among `held` that makes the same claim, the oldest source first."""
    wanted = claim_pairs(row["claim"])
    for each in sorted(held):
        if each.id == row["id"] or is_same_claim(wanted, claim_pairs(each.claim)):
            return each
    return None


async def query_facts(
    connection: Connection, tokenizer: Tokenizer, spaces: Sequence[int], text: str, *, limit: int
) -> list[Fact]:
    """Return facts that share words with `text`, ranked by the rarity of the words they share, then by confidence."""
    terms = tokenizer.query_terms(text)
    if not terms or not spaces:
        return []
    cursor = await connection.execute(
        f"select {_COLUMNS} from fact f join source s on s.id = f.source"  # noqa: S608
        " where s.space = any(%s) and f.terms && %s::int4[] order by f.added desc, f.id limit 5000",
        (list(spaces), terms),
    )
    rows = await cursor.fetchall()
    weigh = _rarity_weight(terms, [row[19] for row in rows])

    def shared_weight(row: TupleRow) -> float:
        return weigh(row[19]) / (1 + 0.02 * len(row[19]))

    ranked = sorted(rows, key=lambda row: (-shared_weight(row), -row[7], row[0]))[:limit]
    return [_fact_from_row(row, shared_weight(row)) for row in ranked]


def _rarity_weight(terms: Sequence[int], rows: Sequence[Sequence[int]]) -> Callable[[Sequence[int]], float]:
    """Return a function that adds up how rare the terms are, among `rows`, that a row shares with the question."""
    holders = {term: sum(term in row for row in rows) for term in terms}
    weight = {term: math.log(1 + (len(rows) + 0.5) / (n + 0.5)) for term, n in holders.items()}
    return lambda row: sum(weight[term] for term in terms if term in row)


def _fact_from_row(row: TupleRow, score: float) -> Fact:
    stored: dict[str, Any] = dict(zip(_STORED, row, strict=False))
    stored |= {name: tuple(stored[name]) for name in ("answers", "subjects")}
    stored |= {"source": SourceId(f"S{row[3]}"), "grade": Grade(row[8]), "score": score}
    return Fact(**stored)


_MAX_RECENT = 5_000  # of the newest that share a word


async def insert_insights(
    connection: Connection, tokenizer: Tokenizer, insights: Sequence[Insight], *, run: str
) -> int:
    """Insert insights; a repeated insight of a source is counted, and the higher confidence is kept.

    Insights of a source that is not stored are left out: they could not be cited.
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
    weigh = _rarity_weight(terms, [row[6] for row in rows])
    ranked = sorted(rows, key=lambda row: (-weigh(row[6]), -row[4], row[2], row[0], row[1]))[:limit]
    return [
        Insight(InsightKind(kind), text_, SourceId(f"S{source}"), why, confidence, title)
        for kind, text_, source, why, confidence, title, _ in ranked
    ]


async def renumber_terms(connection: Connection, tokenizer: Tokenizer) -> None:
    """Number the words of all facts and insights anew, for another tokenizer."""
    for table, key, text in _NUMBERED:
        cursor = await connection.execute(f"select jsonb_build_array({key}), {text} from {table}")  # noqa: S608
        rows = await cursor.fetchall()
        given = [[key_, sorted(tokenizer.query_terms(words))] for key_, words in rows]
        await connection.execute(
            f"update {table} set terms = array(select jsonb_array_elements_text(g.row -> 1)::int4)"  # noqa: S608
            f" from jsonb_array_elements(%s) as g(row) where jsonb_build_array({key}) = g.row -> 0",
            [Jsonb(given)],
        )
