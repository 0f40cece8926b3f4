"""What a run may send outside while private documents are searched: words and addresses by their origin.

Knows which words the person, the plan and the web itself have used, and what the analysts of the run were shown. A
query keeps only words of these origins and common words of the language; an address is requested only if one of these
origins named it. Holds whatever an analyst writes, and in a resumed run as before. Does not know providers, and bounds
words, not what may be read from the choice of common words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corrobora.domain.evidence import Document, Hit, Query
from corrobora.domain.plan import Plan, walk_nodes
from corrobora.domain.run import DEMO, Request, RequestOption
from corrobora.engine.session.journal import FAILED, decode, hash_parts, iter_entries
from corrobora.policies.queries import LIBRARY_PROVIDER
from corrobora.ports import WordFinder
from corrobora.text.phrases import format_count
from corrobora.text.tokens import split_words, stem_word
from corrobora.text.vocabulary import is_common, read_all_function_words

if TYPE_CHECKING:
    from corrobora.domain.thread import Round, ThreadState
    from corrobora.engine.session import Session

PUBLIC_LIBRARIES = frozenset({DEMO})
RUN_SPACE = "run:"  # begins the name of the space in which a run stores its pages
_MIN_LETTERS = 3  # of a common word: one or two letters may spell out another word
_SPAN = 12  # words in a row that are joined to look for a name that was taken apart
_JOINED_LETTERS = 4  # of such a name, at least
_TOP_LEVEL = frozenset(  # ends of the names of hosts; other ends must be words that may be sent
    "com org net edu gov mil int info eu ac co at au be br ca ch cn cz de dk es fi fr gr hu ie in it jp kr lu mx nl no "
    "nz pl pt ro se uk us za".split()
)
_ENOUGH = 2  # content words that a query must keep to be worth sending
_ADDRESS = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]()]{3,2000}")
_PLAIN = re.compile(r"[^\w\"]*(\"?)[^\w\"]*(\w+(?:[-–'’./&@:,+]\w+)*[%+#]{0,2})[^\w\"]*(\"?)[^\w\"]*\Z")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][^\W_]+(?:[ '-][A-Z][^\W_]+)*")  # a capital that begins no sentence
_SMALL = re.compile(r"(?<![^\W_])[a-z]{3,}(?![^\W_])")
_NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion "
    "dozen half double triple".split()
)


@dataclass(frozen=True, slots=True)
class Cleared:
    """A query as it may be sent, "" if nothing worth sending is left, and the number of words that stay here."""

    text: str
    site: str = ""
    withheld: int = 0


@dataclass(slots=True)
class Egress:
    """The words and addresses of one run. Without private documents, or opted out, nothing is held back."""

    guarded: bool = False
    cleared: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])  # texts and sites that may be sent
    _stems: set[str] = field(default_factory=set[str])
    _beside: set[int] = field(default_factory=set[int])  # hashes of pairs of neighbours, one of which is short
    _texts: set[str] = field(default_factory=set[str])  # whole texts of the person
    _pages: set[str] = field(default_factory=set[str])
    _hosts: set[str] = field(default_factory=set[str])
    _capital: set[str] = field(default_factory=set[str])  # words that were shown with a capital inside a sentence
    _small: set[str] = field(default_factory=set[str])  # words that stored documents write without one
    _shown: set[str] = field(default_factory=set[str])

    @classmethod
    def from_request(cls, request: Request, readers: Sized | None = None) -> Egress:
        """Begin with what the person has said and named.

        With one of the `readers`, that of the library, nothing leaves the machine and nothing is noted.
        """
        opted_in = bool(request.get_option(RequestOption.ALLOW_EGRESS))
        stays = readers is not None and len(readers) <= 1
        found = cls(has_private_libraries(request) and not (opted_in or stays))
        found._texts.add(_fold_spaces(request.question))
        found.open_texts(request.question, *request.sources, request.thread_file, *request.plans)
        return found

    def open_texts(self, *texts: str) -> None:
        """Let the words and addresses of these texts be sent."""
        if not self.guarded:
            return
        for text in texts:
            words = split_words(text)
            self._stems.update(map(stem_word, words))
            self.open_pairs(words)
            self._open_addresses(match.group().rstrip(".,;:!?") for match in _ADDRESS.finditer(text))

    def open_pairs(self, words: Sequence[str]) -> None:
        """Let short words be sent beside their neighbours in these words, if both may be sent."""
        self._beside.update(_iter_pairs(words))

    def open_hits(self, hits: Iterable[Hit]) -> None:
        """Let words and addresses of results of the web be sent."""
        for hit in hits:
            self.open_texts(hit.title, hit.snippet, hit.url)
            self._open_addresses([hit.url])

    def open_document(self, document: Document) -> None:
        """Let words and addresses of a page that was read be sent; of a stored document note what is no name in it."""
        texts = [each.text for each in document.passages] if self.guarded else []
        if document.source.kind == "web":
            self.open_texts(document.source.title, document.source.url, *texts)
        else:
            self._small.update(word for text in texts for word in _SMALL.findall(text))

    def _open_addresses(self, urls: Iterable[str]) -> None:
        for host, page in map(_split_address, urls if self.guarded else ()):
            self._pages.add(page)
            self._hosts.add(host)

    def note_shown(self, text: str) -> None:
        """Note what an analyst is shown: names made of common words, and words that a query may take apart."""
        if not self.guarded:
            return
        self._capital.update(word for match in _NAME.finditer(text) for word in split_words(match.group()))
        self._shown.update(word for word in split_words(text) if len(word) >= _JOINED_LETTERS)

    def may_request(self, url: str) -> bool:
        """True for an address that the person, a result or a page of the web named."""
        if not self.guarded:
            return True
        page = _split_address(url.removesuffix("*"))[1]
        return "://" not in url or (bool(page) and page in self._pages)

    def may_send(self, word: str) -> bool:
        """True for a folded word of an open origin, in any form, or a common word that was not shown as a name."""
        if self.is_open(word):
            return True
        plain = len(word) >= _MIN_LETTERS and word.isascii() and word.isalpha() and word not in _NUMBERS
        return plain and is_common(stem_word(word)) and not (word in self._capital and word not in self._small)

    def is_open(self, word: str) -> bool:
        """True for a function word, and for a word that an open origin used in any form."""
        return _is_function_word(word) or stem_word(word) in self._stems

    def clear(self, query: Query) -> Cleared:
        """Return a query without the words that may not be sent."""
        if not self.guarded or _fold_spaces(query.text) in self._texts:
            return Cleared(query.text, query.site)
        tokens = [(token, words) for token in query.text.split() if (words := split_words(token))]
        site = query.site.lower().removeprefix("site:").removeprefix("www.")
        labels = split_words(site)
        own = [each for each in labels if each not in _TOP_LEVEL]
        apart = self._find_spelled_out([*(words for _, words in tokens), own])
        kept = [
            (plain, words)
            for at, (token, words) in enumerate(tokens)
            if at not in apart and (plain := _write_plainly(token)) and all(map(self.may_send, words))
        ]
        content = sum(any(stem_word(word) for word in words) for _, words in kept)
        withheld = len(tokens) - len(kept)
        text = " ".join(token for token, _ in kept)
        text = text.replace('"', "") if text.count('"') % 2 else text
        text = text if content >= _ENOUGH or not withheld else ""
        named = bool(labels) and len(tokens) not in apart and all(map(self.may_send, own))
        return Cleared(text, query.site if named or site in self._hosts else "", withheld)

    def _find_spelled_out(self, tokens: Sequence[Sequence[str]]) -> set[int]:
        """Return the places of tokens that may spell out a word that must stay: "blue heron", "d a n a"."""
        words = [(word, at) for at, own in enumerate(tokens) for word in own]
        return self._find_lone_pieces(words) | self._find_joined(words)

    def _find_lone_pieces(self, words: Sequence[tuple[str, int]]) -> set[int]:
        """Return the places of short words, which may be pieces of anything, without a neighbour of an open text."""
        known = [pair in self._beside for pair in _iter_pairs([word for word, _ in words], whole=True)]
        return {
            at
            for (word, at), before, after in zip(words, (False, *known), (*known, False), strict=False)
            if _is_short(word) and not _is_function_word(word) and not (before or after)
        }

    def _find_joined(self, words: Sequence[tuple[str, int]]) -> set[int]:
        """Return the places of neighbours that make, joined, a word that an analyst was shown and that must stay."""
        found: set[int] = set()
        for first, length in product(range(len(words)), range(2, _SPAN + 1)):
            span = words[first : first + length]
            joined = "".join(word for word, _ in span)
            hidden = joined in self._shown and not self.may_send(joined)
            if hidden and any(_is_short(word) or not self.is_open(word) for word, _ in span):
                found.update(at for _, at in span)
        return found


def _is_function_word(word: str) -> bool:
    """True for a function word of any language; a number in words or a letter other than "a" may spell something."""
    return (len(word) > 1 or word == "a") and word not in _NUMBERS and word in read_all_function_words()


def _is_short(word: str) -> bool:
    return len(word) < _MIN_LETTERS


def _iter_pairs(words: Sequence[str], *, whole: bool = False) -> Iterator[int]:
    """Yield a hash of each pair of neighbours of which one is short, in either order; with `whole` of all pairs."""
    for one, other in pairwise(words):
        if whole or _is_short(one) or _is_short(other):
            yield hash((one, other) if one < other else (other, one))


def _write_plainly(token: str) -> str:
    """Return a token as anybody writes it, "" for what nobody does: marks around a word and odd capitals are a code."""
    found = _PLAIN.match(token)
    if found is None:
        return ""
    opening, word, closing = found.groups()
    usual = all(part.islower() or part.isupper() or part[1:].islower() for part in re.findall(r"[^\W\d_]+", word))
    return f"{opening}{word if usual else word.lower()}{closing}"


def has_private_libraries(request: Request) -> bool:
    """True if a run searches documents beside those that ship with the package and its own pages."""
    return any(name not in PUBLIC_LIBRARIES and not name.startswith(RUN_SPACE) for name in request.libraries)


def _fold_spaces(text: str) -> str:
    return " ".join(text.split())


def _split_address(url: str) -> tuple[str, str]:
    """Return the host of an address, and what two spellings of one page share; nothing for what is no address."""
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").removeprefix("www.").rstrip(".")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return "", ""
    if not host or "@" in parts.netloc:
        return "", ""
    return host, f"{host}{port}{parts.path.removesuffix('/')}{f'?{parts.query}' if parts.query else ''}"


STAYS = "no result, page, plan or person named this address, and private documents are searched: it was not requested"
STAYED = "every word that is worth sending stands only in private documents: this query stays here"


async def clear_query(query: Query, provider: str, run: Session) -> Query | None:
    """Return the query as it may be sent to a provider, None if nothing worth sending is left.

    Stored documents are asked in all words. What was decided once in a run is journaled, so that it is sent only once.
    """
    if provider == LIBRARY_PROVIDER or not run.egress.guarded:
        return query

    async def clear() -> Cleared:
        return run.egress.clear(query)

    cleared = await run.record_value(f"egress#{hash_parts(query.text, query.site)}", Cleared, clear)
    run.egress.cleared.add((cleared.text, cleared.site))
    return replace(query, text=cleared.text, site=cleared.site, intent="") if cleared.text else None


async def show_queries(queries: Iterable[tuple[Query, str]], thread: ThreadState, run: Session) -> None:
    """Show a person what is about to be sent and wait for a yes, where the request asks for it. Raises `NeedsHuman`."""
    if not run.request.get_option(RequestOption.SHOW_QUERIES):
        return
    shown = [f"{name}: {query.text}{f' (site {query.site})' if query.site else ''}" for query, name in queries]
    if not shown:
        return
    key = f"{thread.round_path}/shown"
    if run.journal.get(key) is None:
        await run.journal.flush()
    await run.record_text(key, partial(run.outside.human.before_searches, thread.path, thread.number + 1, shown))


async def open_plan(plan: Plan, run: Session) -> None:
    """Let the words and addresses of plan and method be sent, but for what stands in the private documents.

    The planner is asked before anything private is shown, and a profile may be a stranger's: both can only guess such a
    word. Where a library cannot tell its words, none is added to those of the question.
    """
    egress = run.egress
    if not egress.guarded:
        return
    texts = _list_plan_texts(plan, run)
    forms = {word for text in texts for token in text.split() for word in _list_forms(token)}
    unsure = sorted(word for word in forms if not egress.is_open(word))  # a common word may be a name there

    async def find_words() -> tuple[str, ...]:
        library = run.library
        private = await library.find_words(unsure) if isinstance(library, WordFinder) else frozenset(unsure)
        return tuple(sorted(private))

    private = frozenset(await run.record_value(f"egress/plan#{hash_parts(*unsure)}", tuple[str, ...], find_words))
    plain = [token for text in texts for token in text.split() if token.isascii() and not _is_scrambled(token)]
    egress.open_texts(" ".join(token for token in plain if not private.intersection(_list_forms(token))))
    common = [
        token for token in plain if all(word not in private or egress.may_send(word) for word in _list_forms(token))
    ]
    egress.open_pairs(split_words(" ".join(common)))


def _list_plan_texts(plan: Plan, run: Session) -> list[str]:
    brief = run.brief
    texts = [brief.question, *brief.disambiguation, *(each.text for each in brief.sub_questions)]
    texts += [name for each in brief.subjects for name in (each.name, *each.aliases)]
    texts += [text for phase in run.profile.phases for text in (phase.goal, *phase.query_hints)]
    for node in walk_nodes(plan.root):
        texts += [node.title, node.objective, *node.queries, *node.sources]
        texts += [each.text for each in node.sub_questions]
        texts += [name for each in node.subjects for name in (each.name, *each.aliases)]
    return texts


def _list_forms(token: str) -> list[str]:
    """Return the words of a token, and the one word that they make together."""
    words = split_words(token)
    return [*words, "".join(words)] if len(words) > 1 else words


def _is_scrambled(token: str) -> bool:
    """True for a token that mixes cases or digits as no word does, or spells in single letters."""
    letters = "".join(filter(str.isalpha, token))
    plain = letters.islower() or letters.isupper() or letters[1:].islower()
    return "://" not in token and (len(letters) < 2 or not plain) and not token.strip(".,;:!?").isdigit()  # noqa: PLR2004


def list_shared(rounds: Sequence[Round], run: Session) -> tuple[str, ...]:
    """Say what was shared with whom: the recipients, and how much each search provider and site was sent."""
    if not run.outside.recipients:
        return ()
    searches = Counter(
        key.split("/", 1)[1].partition("#")[0]
        for key in dict.fromkeys(each.removesuffix(FAILED) for each in run.journal.keys("search/"))
    )
    lines = [
        f"{format_count(count, 'query', 'queries')} sent to {name}"
        for name, count in searches.items()
        if name not in (LIBRARY_PROVIDER, "site")
    ]
    hosts = Counter(urlsplit(url).netloc for url in dict.fromkeys(_iter_requested(rounds)))
    if hosts:
        named = ", ".join(list(hosts)[:_HOSTS_NAMED]) + (", ..." if len(hosts) > _HOSTS_NAMED else "")
        pages = format_count(hosts.total(), "page")
        lines.append(f"{pages} requested from {format_count(len(hosts), 'host')} ({named})")
    return (*lines, *_describe_withheld(run), *run.outside.recipients)


_HOSTS_NAMED = 8


def _iter_requested(rounds: Sequence[Round]) -> Iterable[str]:
    hits: Iterable[Hit] = (reading.hit for done in rounds for reading in done.readings if reading.note != STAYS)
    return (hit.url for hit in hits if hit.source is None and "://" in hit.url)


def _describe_withheld(run: Session) -> list[str]:
    if not run.egress.guarded:
        return []
    kept = [decode(Cleared, entry.out, key=entry.key) for entry in iter_entries(run.journal, "egress#")]
    words, whole = sum(each.withheld for each in kept), sum(not each.text for each in kept)
    counted = f"{format_count(words, 'word')} of queries and {format_count(whole, 'whole query', 'whole queries')}"
    return [f"{counted} stayed here: nobody but private documents or a model used them"]
