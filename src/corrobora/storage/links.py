"""Links: which passages mention the title of which source, kept true while documents come and go.

Knows aliases, mentions and the sentence of a mention, for one space at a time and in both directions.
Does not know ranking: the hop's weights live with the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from corrobora.policies import names
from corrobora.policies.names import AliasMention, alias_prefix, find_alias_mentions, group_by_prefix, make_alias
from corrobora.policies.sentences import split_sentences
from corrobora.policies.words import fold_text
from corrobora.storage import heads, holders
from corrobora.storage.kept import array_literal

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    from corrobora.storage.tokens import Tokenizer

    Connection = AsyncConnection[TupleRow]

SENTENCE_CHARS = 400
MAX_FAN = 4  # a name that more sources bear leads nowhere
# What leaves the passages that a select yields as `id`: links by names that at most %(fan)s bear, numbered in order.
LINKS_FROM_SEEDS: LiteralString = """
select l.src, l.alias, l.sent, l.source, row_number() over (order by l.src, l.alias, l.source)::int4 turn,
  array(select q.id from passage q where q.source = l.source and q.place < 200 order by q.place) passages
from (
  select m.src, m.alias, m.sent, a.source, count(*) over (partition by m.src, m.alias) fan
  from ({seeds}) x join mention m on m.src = x.id join alias a on a.space = m.space and a.alias = m.alias
) l where l.fan <= (select %(fan)s::int8)
"""
_OF_ARRAY = LINKS_FROM_SEEDS.format(seeds="select unnest((select %(ids)s::int4[])) id")
_FROM_PASSAGES = f"select src, alias, sent, source, passages from ({_OF_ARRAY}) l order by turn"  # noqa: S608


class Link(NamedTuple):
    """A mention that leads from a passage to a source."""

    src: int
    alias: str
    sentence: str
    source: int
    passages: tuple[int, ...] | list[int]  # the first ones of the source


async def add_links(
    connection: Connection, space: int, titles: Mapping[int, str], passages: Mapping[int, str], tokenizer: Tokenizer
) -> None:
    """Bring links up to date after new sources (id to title) and their passages (id to body), in one transaction.

    Old titles named by the new passages and new titles named by old passages are both found, so that adding documents
    one by one gives the same links as adding them together. Called before the new passages are indexed: they are at
    hand and need not be found.
    """
    fresh = await _add_aliases(connection, space, titles)
    affected = dict(passages)
    if fresh:
        old = await holders.find_phrase_matches(
            connection, space, dict(zip(fresh, tokenizer.query_terms_batch(fresh), strict=True))
        )
        bodies = await _read_bodies(connection, [each for each in old if each not in passages])
        affected |= {id_: body for id_, body in bodies.items() if may_mention(body, old[id_])}
    await refresh_mentions(connection, space, affected)


async def remove_links(connection: Connection, space: int, sources: Sequence[int]) -> None:
    """Forget the names of sources that go; passages that mention them are looked at again."""
    cursor = await connection.execute(
        "with lost as (delete from alias where source = any(%(sources)s) returning alias)"
        " select distinct m.src from mention m join lost l on m.alias = l.alias and m.space = %(space)s"
        " where not exists (select 1 from alias a where a.space = %(space)s and a.alias = l.alias"
        "                   and not a.source = any(%(sources)s))",
        {"space": space, "sources": list(sources)},
    )
    touched = [row[0] for row in await cursor.fetchall()]
    if touched:
        await refresh_mentions(connection, space, await _read_bodies(connection, touched))


async def _add_aliases(connection: Connection, space: int, titles: Mapping[int, str]) -> list[str]:
    """Insert the aliases of new sources; return those that no source of the space had before."""
    named = {source: alias for source, title in titles.items() if (alias := make_alias(title))}
    if not named:
        return []
    cursor = await connection.execute(
        "select distinct alias from alias where space = %s and alias = any(string_to_array(%s, E'\\n'))",
        (space, "\n".join(set(named.values()))),
    )
    known = {row[0] for row in await cursor.fetchall()}
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy alias (space, alias, head, source) from stdin (format binary)") as copy,
    ):
        copy.set_types(("int4", "text", "text", "int4"))
        for source, alias in named.items():
            await copy.write_row((space, alias, alias_prefix(alias), source))
    return sorted(set(named.values()) - known)


def may_mention(body: str, aliases: Sequence[str]) -> bool:
    """True if the first two words of one of `aliases` stand together in `body`: a cheap test before the true one."""
    folded = fold_text(body)
    return any(_occur_together(folded, *alias_prefix(alias).split(" ")) for alias in aliases)


def _occur_together(folded: str, first: str, second: str = "") -> bool:
    at = folded.find(first)
    while at >= 0:
        after = at + len(first)
        if not second or second in folded[after : after + len(second) + 5]:
            return True
        at = folded.find(first, after)
    return False


async def _read_bodies(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    if not ids:
        return {}
    cursor = await connection.execute("select id, body from passage where id = any(%s)", (list(ids),))
    return {row[0]: row[1] for row in await cursor.fetchall()}


async def refresh_mentions(connection: Connection, space: int, passages: Mapping[int, str]) -> None:
    """Find the mentions of some passages again and replace what was stored for them."""
    numbers = list(passages)
    found = heads.find_alias_prefixes(list(passages.values()))
    asked = set(found.heads)
    if not asked:
        return
    cursor = await connection.execute(
        "select distinct alias from alias where space = %s and head = any(string_to_array(%s, E'\\n'))",
        (space, "\n".join(asked)),
    )
    known = group_by_prefix(row[0] for row in await cursor.fetchall())
    await connection.execute("delete from mention where src = any(%s::int4[])", (array_literal(numbers),))
    if not known:
        return
    naming = sorted({at for at, head in zip(found.texts, found.heads, strict=True) if head in known})
    async with connection.cursor() as writer, writer.copy("copy mention (src, space, alias, sent) from stdin") as copy:
        for number in (numbers[at] for at in naming):
            body = passages[number]
            for alias, sentence in _first_mentions(body, find_alias_mentions(body, known)).items():
                await copy.write_row((number, space, alias, sentence))


def _first_mentions(body: str, found: Sequence[AliasMention]) -> dict[str, str]:
    """Return for each alias the sentence that mentions it first."""
    if not found:
        return {}
    spans = split_sentences(body)
    first: dict[str, str] = {}
    at = 0
    for mention in found:
        if mention.alias in first:
            continue
        while at + 1 < len(spans) and spans[at].end <= mention.start:
            at += 1
        first[mention.alias] = body[spans[at].start : spans[at].end][:SENTENCE_CHARS]
    return first


async def read_links(connection: Connection, passages: Sequence[int]) -> list[Link]:
    """Return the links that leave some passages by names that at most four sources bear, in a fixed order."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_FROM_PASSAGES, {"ids": array_literal(passages), "fan": MAX_FAN})
        return [Link(*row) for row in await cursor.fetchall()]


def question_prefixes(text: str) -> list[str]:
    """Return the heads by which the aliases that `text` may mention are looked up."""
    return sorted(names.list_alias_prefixes(text))


def sources_named_in(text: str, bearers: Mapping[str, Sequence[int]]) -> set[int]:
    """Return the sources that `text` names, given the aliases that it may mention with the sources that bear each."""
    named = {mention.alias for mention in find_alias_mentions(text, group_by_prefix(bearers))}
    return {source for alias in named if len(bearers[alias]) <= MAX_FAN for source in bearers[alias]}
