"""Search: one question on its way through the index.

Knows how BM25, clauses, boosts, vectors and links are joined into one ranked list. Does not know hits or who asks.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from corrobora.policies import ranking
from corrobora.policies.clauses import clauses
from corrobora.policies.words import stems
from corrobora.storage import lexical, links

if TYPE_CHECKING:
    from corrobora.storage.database import Connection
    from corrobora.storage.lexical import Scorer
    from corrobora.storage.tokens import Tokenizer

# Rows of passages, with the texts of the likeliest; then the sources whose names the question may mention.
_FETCH = """
select p.id, p.source, p.title, s.url, s.publisher, s.published,
    case when p.id = any(%(likely)s::int4[]) then p.body end
  from passage p join source s on s.id = p.source where p.id = any(%(ids)s::int4[])
union all select null, a.source, a.alias, '', '', '', null
  from alias a join space x on x.id = a.space where x.name = any(%(spaces)s) and a.head = any(%(heads)s)
"""
_LIKELY = 20  # more texts than asked for are read with the rows: boosts may change the order


class Row(NamedTuple):
    """What ranking needs of a passage."""

    id: int
    source: int
    title: str
    url: str
    publisher: str
    published: str


class Found(NamedTuple):
    """One passage on its way to a hit."""

    row: Row
    score: float
    linked_from: str = ""


class Search:
    """One question on its way through the index."""

    def __init__(
        self, connection: Connection, spaces: Sequence[str], text: str, scorer: Scorer, tokenizer: Tokenizer
    ) -> None:
        self._connection = connection
        self._spaces = spaces
        self._text = text
        self._scorer = scorer
        self._tokenizer = tokenizer
        self._asked = ranking.Asked.of(text)
        self._bodies: dict[int, str] = {}
        self._bearers: dict[str, list[int]] = {}  # sources by the aliases that the question may mention
        self.near: Sequence[int] = ()  # passages nearest by vector, if there are vectors

    async def run(self, terms: Sequence[int], depth: int, limit: int) -> list[Found]:
        """Rank, boost, follow links; return the best `limit` of what was found among `depth` or more, best first."""
        postings = await lexical.read(self._connection, self._spaces, terms)
        scores = self._lexical(postings, depth)
        if self.near:
            by_words = [id_ for id_, _ in sorted(scores.items(), key=_by_score)]
            scores = ranking.fuse([(1.0, by_words), (ranking.DENSE_WEIGHT, self.near)])
        likely = heapq.nsmallest(limit + _LIKELY, scores.items(), key=_by_score)
        rows = await self._rows(list(scores), likely=[id_ for id_, _ in likely], heads=links.asked_heads(self._text))
        boosted = {id_: scores[id_] * self._asked.boost(row.publisher, row.published) for id_, row in rows.items()}
        ordered = sorted(boosted.items(), key=_by_score)
        final = ranking.spread(ordered, {id_: row.publisher for id_, row in rows.items()}, self._asked)
        found = sorted((Found(rows[id_], score) for id_, score in final.items()), key=_order)
        return (await self._hop(found))[:limit]

    def _lexical(self, postings: lexical.Postings, depth: int) -> dict[int, float]:
        """Rank the whole question and its clauses over the same postings; the last ranking is the whole one."""
        parts: list[tuple[float, list[tuple[int, float]]]] = []
        split = clauses(self._text)
        if len(split) > 1:
            frequencies = postings.frequencies
            for clause in split:
                own = set(self._tokenizer.query(clause))
                weight = sum(lexical.idf(postings.n_docs, frequencies[term]) for term in own if term in frequencies)
                parts.append((weight, self._scorer.rank(postings.only(own), limit=depth).pairs()))
        whole = self._scorer.rank(postings, limit=depth).pairs()
        return ranking.with_clauses(whole, parts) if whole else {}

    async def _rows(self, ids: Sequence[int], *, likely: Sequence[int], heads: Sequence[str] = ()) -> dict[int, Row]:
        """Fetch what ranking needs of passages, the dead ones drop out here; keep texts and names met on the way."""
        given = {
            "ids": lexical.array(ids),
            "likely": lexical.array(likely),
            "heads": list(heads),
            "spaces": list(self._spaces),
        }
        rows: dict[int, Row] = {}
        async with self._connection.cursor(binary=True) as cursor:
            await cursor.execute(_FETCH, given)
            for *row, body in await cursor.fetchall():
                if row[0] is None:
                    self._bearers.setdefault(row[2], []).append(row[1])
                    continue
                rows[row[0]] = Row(*row)
                if body is not None:
                    self._bodies[row[0]] = body
        return rows

    async def bodies(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of passages; those not read yet are fetched."""
        missing = [id_ for id_ in ids if id_ not in self._bodies]
        if missing:
            async with self._connection.cursor(binary=True) as cursor:
                await cursor.execute(
                    "select id, body from passage where id = any(%s::int4[])", (lexical.array(missing),)
                )
                self._bodies |= dict(await cursor.fetchall())
        return self._bodies

    async def _hop(self, found: list[Found]) -> list[Found]:
        """Follow one link from the best seeds and from the sources that the question names."""
        seeds = {each.row.id: each for each in found[: ranking.SEEDS]}
        sources = links.named_in(self._text, self._bearers)
        for each in found:
            if each.row.source in sources and each.row.id not in seeds:
                seeds[each.row.id] = each
                sources.discard(each.row.source)
        if not seeds:
            return found
        leaving = await links.from_passages(self._connection, list(seeds))
        if not leaving:
            return found
        targets = await self._entrances({link.source: link.passages for link in leaving})
        bodies = await self.bodies([row.id for row in targets.values()])
        best = {each.row.id: each for each in found}
        question = dict.fromkeys(stems(self._text), 1.0)
        for link in leaving:
            row = targets.get(link.source)
            seed = seeds[link.src]
            if row is None or row.source == seed.row.source:
                continue
            rest = _without(question, seed.row.title)
            score = ranking.hop_score(
                seed.score,
                ranking.share(rest, set(stems(link.sentence))),
                ranking.share(rest, set(stems(f"{row.title} {bodies.get(row.id, '')}"))),
            )
            old = best.get(row.id)
            if old is None or score > old.score:
                best[row.id] = Found(row, score, link.alias)
        return sorted(best.values(), key=_order)

    async def _entrances(self, sources: Mapping[int, Sequence[int]]) -> dict[int, Row]:
        """Return for each source the one of its passages that best fits the question, the first if none does."""
        best: list[int] = []
        for passages in sources.values():
            scores = self._scorer.score_of(passages)
            best += [passages[scores.index(max(scores))]] if passages else []
        rows = await self._rows(best, likely=best)
        return {row.source: row for row in rows.values()}


def _by_score(pair: tuple[int, float]) -> tuple[float, int]:
    return -pair[1], pair[0]


def _order(found: Found) -> tuple[float, int]:
    return -found.score, found.row.id


def _without(question: Mapping[str, float], title: str) -> dict[str, float]:
    gone = set(stems(title))
    return {word: weight for word, weight in question.items() if word not in gone}
