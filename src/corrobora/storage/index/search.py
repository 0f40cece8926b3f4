"""Search: ranks the passages of the index for one question.

Knows how BM25, clauses, agreed names, boosts, vectors and links are joined into one list. Does not know hits, or who
asks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from corrobora.storage.index import links
from corrobora.storage.index.bm25 import QueryPostings, idf
from corrobora.storage.index.terms import term_id
from corrobora.storage.index.vectors import Neighbours, read_cosines
from corrobora.storage.postgres import array_literal
from corrobora.text import ranking
from corrobora.text.mentions import list_alias_prefixes
from corrobora.text.ranking import split_clauses
from corrobora.text.tokens import stem_text

if TYPE_CHECKING:
    from corrobora.storage.index.bm25 import Scorer
    from corrobora.storage.index.posting_cache import PostingCache, PublisherNames
    from corrobora.storage.index.terms import Tokenizer
    from corrobora.storage.postgres import Connection

_DEEPER = 5  # times as many candidates where a release, section or code is named, whose parts are common words
# Rows of passages, with the texts of the likeliest; the candidates from sources that the question names; the links from
# those and from the first. The planner does not look at an array in a subselect, so one plan serves all questions.
_ROW: LiteralString = """select p.id, p.source, p.title, s.url, s.publisher, s.published, p.heading, {body}, 0,
  null::int4[] from passage p join source s on s.id = p.source where {which}"""
_GIVEN: LiteralString = "p.id = any((select %(ids)s::int4[])::int4[])"
_LIKELY: LiteralString = "case when p.id = any((select %(likely)s::int4[])::int4[]) then p.body end"
_NAMED: LiteralString = """p.source = any((select %(sources)s::int4[])::int4[])
  and p.id = any((select %(candidates)s::int4[])::int4[])"""
_SEEDS: LiteralString = """select unnest((select %(first)s::int4[])) id
  union select p.id from passage p where {named}"""
_LINKS = links.LINKS_FROM_SEEDS.format(seeds=_SEEDS.format(named=_NAMED))
_FETCH = " union all ".join(
    (
        _ROW.format(body=_LIKELY, which=_GIVEN),
        _ROW.format(body="null", which=_NAMED),
        f"select l.src, l.source, l.alias, '', '', '', '', l.sent, l.turn, l.passages from ({_LINKS}) l",  # noqa: S608
    )
)
_TARGETS = _ROW.format(body="p.body", which=_GIVEN)
_COMPARED = 20  # passages whose beginning is compared with the question
_MORE = 20  # more texts than asked for are read with the rows: boosts may change the order

Ranking = list[tuple[int, float]]  # passage numbers with scores, best first
Scores = Mapping[int, float]  # of the candidates
Fitting = Mapping[int, frozenset[int]]  # passages that fit clauses best, with the numbers of the clauses


class Row(NamedTuple):
    """The columns of a passage that ranking needs."""

    id: int
    source: int
    title: str
    url: str
    publisher: str
    published: str
    heading: str


class FoundPassage(NamedTuple):
    """A passage that was found, with its score."""

    row: Row
    score: float
    linked_from: str = ""


class Search:
    """The search for one question. Make one for each question."""

    def __init__(
        self, connection: Connection, kept: PostingCache, text: str, scorer: Scorer, tokenizer: Tokenizer
    ) -> None:
        self._connection = connection
        self._text = text
        self._scorer = scorer
        self._tokenizer = tokenizer
        self._kept = kept
        self._asked = ranking.SourceHints.from_question(text)
        self._named: set[int] = set()  # the sources that the question names
        self._bodies: dict[int, str] = {}
        self._links: list[links.Link] = []
        self._followed: set[int] = set()  # the passages whose links were read
        self._best = 0.0  # score of the best passage by the words of the whole question
        self.near: Neighbours | None = None  # by their vectors, if there are any

    async def find_passages(self, terms: Sequence[int], depth: int, limit: int) -> list[FoundPassage]:
        """Rank, boost, follow links; return the best `limit` of what was found among `depth` or more, best first."""
        read = await self._kept.read(self._connection, terms, sorted(list_alias_prefixes(self._text)))
        self._named = links.sources_named_in(self._text, read.bearers)
        deeper = _DEEPER if self._asked.names_parts else 1
        scores, parts = self.rank_by_words(read.postings, depth * deeper)
        fitting = ranking.select_feedback_passages(scores, parts) if len(parts) >= ranking.MIN_FEEDBACK_CLAUSES else {}
        if self.near is not None:
            scores = ranking.join_meaning(await self.compare_meaning(self.near, scores, read.postings, terms))
        if self._may_boost(read.publishers):
            found, scores = await self._rank_boosted(scores, limit, fitting)
        else:
            found, scores = await self._rank_first(scores, max(limit, _COMPARED), fitting)
        seeds = {each.row.id for each in found[: ranking.LINK_SEEDS]}  # their links were read with them
        if self.near is None:  # with vectors, meaning tells what a passage is about
            found = self._raise_leading(found, read.postings)
        return (await self._follow_links(found, seeds, scores))[:limit]

    def _raise_leading(self, found: list[FoundPassage], postings: QueryPostings) -> list[FoundPassage]:
        """Raise those of the first passages, as far as their texts were read, that begin with what is asked."""
        frequencies = postings.frequencies
        asked = {stem: frequencies.get(term_id(stem), 0) for stem in stem_text(self._text)}
        weights = {stem: idf(postings.n_docs, frequency) for stem, frequency in asked.items() if frequency}
        whole = ranking.LEAD_WEIGHT * max((each.score for each in found), default=0.0)
        shares = ranking.measure_leads([self._bodies.get(each.row.id, "") for each in found[:_COMPARED]], weights)
        raised = [each._replace(score=each.score + whole * share) for each, share in zip(found, shares, strict=False)]
        return sorted((*raised, *found[_COMPARED:]), key=_found_order)

    async def compare_meaning(
        self, near: Neighbours, scores: Scores, postings: QueryPostings, terms: Sequence[int]
    ) -> ranking.Candidates:
        """Return how the candidates stand by words and by meaning; call it right after `rank_by_words` of the terms."""
        unknown = [id_ for id_ in scores if id_ not in near.cosines]
        cosines = {**near.cosines, **await read_cosines(self._connection, near, unknown)}
        others = [id_ for id_ in near.cosines if id_ not in scores]
        best = self._best or 1.0
        words = {
            **scores,
            **{id_: held / best for id_, held in zip(others, self._scorer.last_scores(others), strict=True)},
        }
        frequencies = postings.frequencies
        asked = sum(idf(postings.n_docs, frequencies.get(term, 0)) for term in set(terms))
        return ranking.Candidates(
            words,
            {id_: near.measure_nearness(cosine) for id_, cosine in cosines.items()},
            held=self._best / asked if asked else 0.0,
            asked=asked,
        )

    def _may_boost(self, publishers: PublisherNames | None) -> bool:
        """True if a candidate may be boosted: the question names a date, release, section, code or publisher."""
        return (
            bool(self._asked.dates or self._asked.names_parts)
            or publishers is None
            or publishers.any_in(self._asked.joined)
        )

    async def _rank_boosted(self, scores: Scores, limit: int, fitting: Fitting) -> tuple[list[FoundPassage], Scores]:
        """Return all candidates that still exist, boosted, best first; and the scores before boosts."""
        ids = _ids_by_score(scores)
        rows = await self._fetch_rows(ids, ids, likely=(*ids[: limit + _MORE], *fitting))
        scores = await self._apply_feedback(scores, fitting, rows)
        boost, found = self._asked.boost_factor, ((id_, rows[id_]) for id_ in ids if id_ in rows)
        boosted = {
            id_: scores[id_] * boost(row.publisher, row.published, row.heading, self._bodies.get(id_, ""))
            for id_, row in found
        }
        ordered = sorted(boosted.items(), key=_by_score)
        final = ranking.damp_repeated_sources(ordered, {id_: row.publisher for id_, row in rows.items()}, self._asked)
        return sorted((FoundPassage(rows[id_], score) for id_, score in final.items()), key=_found_order), scores

    async def _rank_first(self, scores: Scores, limit: int, fitting: Fitting) -> tuple[list[FoundPassage], Scores]:
        """Return the first `limit` existing candidates and those from sources that the question names, best first.

        No boost can change their order, so the others are not read. Also returns the scores of all candidates.
        """
        rows: dict[int, Row] = {}
        ids = _ids_by_score(scores)
        await self._fetch_live(ids, limit, rows, ids, fitting)
        if fitting:
            scores = await self._apply_feedback(scores, fitting, rows)
            ids = _ids_by_score(scores)
            await self._fetch_live(ids, limit, rows)
        return [FoundPassage(rows[id_], scores[id_]) for id_ in ids if id_ in rows], scores

    async def _fetch_live(
        self,
        ids: Sequence[int],
        limit: int,
        rows: dict[int, Row],
        candidates: Sequence[int] = (),
        also: Collection[int] = (),
    ) -> None:
        """Add rows until they hold the first `limit` existing ones of `ids`; `also` are fetched with the first."""
        for start in range(0, len(ids), limit):  # a second time only if passages were deleted since the last merge
            wanted = [id_ for id_ in ids[start : start + limit] if id_ not in rows]
            if not start:
                wanted += [id_ for id_ in also if id_ not in wanted]
            if wanted:
                rows |= await self._fetch_rows(wanted, () if start else candidates, likely=wanted)
            if sum(id_ in rows for id_ in ids[: start + limit]) >= limit:
                break

    async def _fetch_rows(
        self, ids: Sequence[int], candidates: Sequence[int], *, likely: Collection[int]
    ) -> dict[int, Row]:
        """Fetch the rows of `ids` and of the candidates from named sources; deleted passages drop out here.

        Keeps the texts of the `likely` ones, and the links of the candidates and of the first of `ids`.
        """
        first = ids[: ranking.LINK_SEEDS] if candidates else ()
        given = {
            "ids": array_literal(ids),
            "likely": array_literal(likely),
            "candidates": array_literal(candidates if self._named else ()),
            "sources": array_literal(self._named),
            "first": array_literal(first),
            "fan": links.MAX_FAN,
        }
        rows: dict[int, Row] = {}
        found: list[tuple[int, links.Link]] = []
        async with self._connection.cursor(binary=True) as cursor:
            await cursor.execute(_FETCH, given)
            for id_, source, title, url, publisher, published, heading, text, turn, passages in await cursor.fetchall():
                if turn:
                    found.append((turn, links.Link(id_, title, text, source, passages)))
                    continue
                rows[id_] = Row(id_, source, title, url, publisher, published, heading)
                if text is not None:
                    self._bodies[id_] = text
        self._links += [link for _, link in sorted(found)]
        self._followed.update(first, (row.id for row in rows.values() if row.source in self._named and candidates))
        return rows

    def rank_by_words(self, postings: QueryPostings, depth: int) -> tuple[dict[int, float], list[Ranking]]:
        """Rank the whole question and its clauses over the same postings; the last ranking is the whole one."""
        parts: list[tuple[float, Ranking]] = []
        split = split_clauses(self._text)
        if len(split) > 1:
            frequencies = postings.frequencies
            for clause in split:
                own = set(self._tokenizer.query_terms(clause))
                weight = sum(idf(postings.n_docs, frequencies[term]) for term in own if term in frequencies)
                parts.append((weight, self._scorer.rank(postings.keep_terms(own), limit=max(1, depth // 2)).as_pairs()))
        whole = self._scorer.rank(postings, limit=depth).as_pairs()
        self._best = whole[0][1] if whole else 0.0
        scores = ranking.add_clause_scores(whole, parts) if whole else {}
        return scores, [ranked for _, ranked in parts]

    async def _apply_feedback(self, scores: Scores, fitting: Fitting, rows: Mapping[int, Row]) -> Scores:
        """Raise the candidates that contain the names on which the best passages of the clauses agree."""
        seen = [
            ranking.ScoredPassage(
                rows[id_].title or f"S{rows[id_].source}",
                fitting[id_],
                scores[id_],
                f"{rows[id_].title}. {self._bodies.get(id_, '')}",
            )
            for id_ in sorted(fitting)
            if id_ in rows
        ]
        names = {term_id(name): weight for name, weight in ranking.find_agreed_names(seen, self._text).items()}
        if not names:
            return scores
        postings = await self._kept.read_more(self._connection, list(names))
        ids = list(scores)
        return ranking.apply_feedback(
            scores, dict(zip(ids, self._scorer.weighted_sums(postings, names, ids), strict=True))
        )

    async def read_bodies(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of passages; those not read yet are fetched."""
        missing = [id_ for id_ in ids if id_ not in self._bodies]
        if missing:
            async with self._connection.cursor(binary=True) as cursor:
                await cursor.execute(
                    "select id, body from passage where id = any(%s::int4[])", (array_literal(missing),)
                )
                self._bodies |= dict(await cursor.fetchall())
        return self._bodies

    async def _follow_links(
        self, found: list[FoundPassage], first: Collection[int], scores: Mapping[int, float]
    ) -> list[FoundPassage]:
        """Follow one link from the `first` passages and from the sources that the question names.

        `scores` also has the candidates that were not read.
        """
        seeds = {each.row.id: each for each in found if each.row.id in first}
        sources = set(self._named)
        for each in found:
            if each.row.source in sources and each.row.id not in seeds:
                seeds[each.row.id] = each
                sources.discard(each.row.source)
        leaving = await self._links_from(seeds)
        if not leaving:
            return found
        targets = await self._entry_passages({link.source: link.passages for link in leaving})
        bodies = await self.read_bodies([row.id for row in targets.values()])
        best = {each.row.id: each for each in found}
        question = dict.fromkeys(stem_text(self._text), 1.0)
        for link in leaving:
            row = targets.get(link.source)
            seed = seeds[link.src]
            if row is None or row.source == seed.row.source:
                continue
            rest = _drop_title_words(question, seed.row.title)
            score = ranking.score_linked_passage(
                seed.score,
                ranking.weighted_share(rest, set(stem_text(link.sentence))),
                ranking.weighted_share(rest, set(stem_text(f"{row.title} {bodies.get(row.id, '')}"))),
            )
            old = best[row.id].score if row.id in best else scores.get(row.id)
            if old is None or score > old:
                best[row.id] = FoundPassage(row, score, link.alias)
        return sorted(best.values(), key=_found_order)

    async def _links_from(self, seeds: Collection[int]) -> Sequence[links.Link]:
        if not self._followed.issuperset(seeds):
            return await links.read_links(self._connection, list(seeds))
        return [link for link in self._links if link.src in seeds]

    async def _entry_passages(self, sources: Mapping[int, Sequence[int]]) -> dict[int, Row]:
        """Return for each source the one of its passages that best fits the question, the first if none does."""
        best: list[int] = []
        for passages in sources.values():
            scores = self._scorer.last_scores(passages)
            best += [passages[scores.index(max(scores))]] if passages else []
        async with self._connection.cursor(binary=True) as cursor:
            await cursor.execute(_TARGETS, {"ids": array_literal(best)})
            rows = await cursor.fetchall()
        self._bodies |= {row[0]: row[7] for row in rows}
        return {row[1]: Row(*row[:7]) for row in rows}


def _ids_by_score(scores: Scores) -> list[int]:
    return [id_ for id_, _ in sorted(scores.items(), key=_by_score)]


def _by_score(pair: tuple[int, float]) -> tuple[float, int]:
    return -pair[1], pair[0]


def _found_order(found: FoundPassage) -> tuple[float, int]:
    return -found.score, found.row.id


def _drop_title_words(question: Mapping[str, float], title: str) -> dict[str, float]:
    gone = set(stem_text(title))
    return {word: weight for word, weight in question.items() if word not in gone}
