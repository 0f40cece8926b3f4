"""Facts kept across runs: with source, span, confidence and grade, near-duplicates merged.

Knows when two facts say the same in the same origin, and which stored facts speak to a question.
Does not know how facts are extracted or graded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from corrobora.domain.evidence import Fact, FactId, Grade, PassageId, SourceId
from corrobora.policies.words import words

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    from corrobora.storage.tokens import Tokenizer

    Connection = AsyncConnection[TupleRow]

SAME = 0.7  # share of common word pairs above which two claims are one
_GRADES = [grade.value for grade in (Grade.UNVERIFIED, Grade.PLAUSIBLE, Grade.VERIFIED)]
_CANDIDATES = 500

_COLUMNS = (
    "f.id, f.claim, f.quote, f.source, f.passage, f.starts, f.ends, f.confidence, f.grade, f.answers, f.subjects,"
    " s.title, s.url, s.origin, s.version, s.published, f.heading, s.official, f.score, f.terms"
)


async def remember(connection: Connection, tokenizer: Tokenizer, facts: Sequence[Fact], *, run: str) -> int:
    """Insert facts; the same quote of a source, or nearly the same claim of the same origin, is merged.

    Merging keeps the higher confidence and grade. Facts of different origins stay apart: they are two witnesses.
    """
    new = 0
    async with connection.transaction():
        # Parallel parts of a run remember facts of the same pages: without an order they would wait for each other for
        # ever, and without a lock neither would see the other's twin.
        await connection.execute(
            "select pg_advisory_xact_lock(key) from (select distinct hashtextextended(origin, 0) as key from source"
            " where id = any(%s) order by key) each",
            ([int(fact.source[1:]) for fact in facts],),
        )
        for fact in facts:
            terms = sorted(set(tokenizer.query(fact.claim)))
            twin = await _twin(connection, fact, terms)
            if twin is None:
                new += await _insert(connection, fact, terms, run)
            else:
                await connection.execute(
                    "update fact set seen = seen + 1, confidence = greatest(confidence, %(confidence)s),"
                    " grade = case when array_position(%(grades)s::text[], %(grade)s)"
                    " > array_position(%(grades)s::text[], grade) then %(grade)s else grade end"
                    " where id = %(id)s and source = %(source)s",
                    {
                        "confidence": fact.confidence,
                        "grade": fact.grade.value,
                        "grades": _GRADES,
                        "id": twin[0],
                        "source": twin[1],
                    },
                )
    return new


async def _insert(connection: Connection, fact: Fact, terms: list[int], run: str) -> int:
    cursor = await connection.execute(
        "insert into fact (id, source, passage, starts, ends, claim, quote, confidence, grade, score, heading,"
        " answers, subjects, terms, run) select %s, s.id, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s"
        " from source s where s.id = %s on conflict do nothing",
        (
            *(fact.id, fact.passage, fact.start, fact.end, fact.claim, fact.quote, fact.confidence, fact.grade.value),
            *(fact.score, fact.heading, list(fact.answers), list(fact.subjects), terms, run, int(fact.source[1:])),
        ),
    )
    return cursor.rowcount


async def _twin(connection: Connection, fact: Fact, terms: list[int]) -> tuple[str, int] | None:
    """Return the stored fact of the same origin that says the same, if there is one."""
    cursor = await connection.execute(
        "select f.id, f.source, f.claim from fact f join source s on s.id = f.source"
        " where s.origin = (select origin from source where id = %s) and f.terms && %s::int4[]"
        " order by f.source, f.id limit %s",
        (int(fact.source[1:]), terms, _CANDIDATES),
    )
    wanted = pairs(fact.claim)
    for id_, source, claim in await cursor.fetchall():
        if id_ == fact.id or same(wanted, pairs(claim)):
            return id_, source
    return None


def pairs(claim: str) -> frozenset[str]:
    """Return the word pairs of a claim, and apart its numbers and negations: where these differ, claims do."""
    found = words(claim)
    return frozenset(f"{a} {b}" for a, b in pairwise(found)) | frozenset(
        f"={word}" for word in found if word in _NEGATIONS or any(letter.isdigit() for letter in word)
    )


_NEGATIONS = frozenset("no not never none neither nor without cannot".split())


def same(a: frozenset[str], b: frozenset[str]) -> bool:
    """True if two claims share most word pairs and all numbers and negations."""
    if {each for each in a if each[0] == "="} != {each for each in b if each[0] == "="}:
        return False
    both = len(a & b)
    return both >= SAME * len(a | b) and bool(both)


async def recall(
    connection: Connection, tokenizer: Tokenizer, spaces: Sequence[int], text: str, *, limit: int
) -> list[Fact]:
    """Return facts that share words with `text`, ranked by the rarity of the words they share, then by confidence."""
    terms = tokenizer.query(text)
    if not terms or not spaces:
        return []
    cursor = await connection.execute(
        f"select {_COLUMNS} from fact f join source s on s.id = f.source"  # noqa: S608
        " where s.space = any(%s) and f.terms && %s::int4[] order by f.added desc, f.id limit 5000",
        (list(spaces), terms),
    )
    rows = await cursor.fetchall()
    holders = {term: sum(term in row[19] for row in rows) for term in terms}
    weight = {term: math.log(1 + (len(rows) + 0.5) / (n + 0.5)) for term, n in holders.items()}

    def score(row: TupleRow) -> float:
        return sum(weight[term] for term in terms if term in row[19]) / (1 + 0.02 * len(row[19]))

    ranked = sorted(rows, key=lambda row: (-score(row), -row[7], row[0]))[:limit]
    return [_fact(row, score(row)) for row in ranked]


def _fact(row: TupleRow, score: float) -> Fact:
    return Fact(
        id=FactId(row[0]),
        claim=row[1],
        quote=row[2],
        source=SourceId(f"S{row[3]}"),
        passage=PassageId(row[4]),
        start=row[5],
        end=row[6],
        confidence=row[7],
        grade=Grade(row[8]),
        answers=tuple(row[9]),
        subjects=tuple(row[10]),
        title=row[11],
        url=row[12],
        origin=row[13],
        version=row[14],
        published=row[15],
        heading=row[16],
        primary=row[17],
        score=score,
    )
