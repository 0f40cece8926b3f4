"""Tokens: the terms of a text that search and analysis share, and its signs: list items, citations, Markdown, controls.

Knows case and accent folding, stop words, the Porter stem, British and American spellings, irregular verbs, the stems
and vowel signs of other scripts, and scripts without spaces; one version number stamps it all. Knows which characters
CommonMark and citation markers give a meaning, and which a terminal obeys: readers, storage, reports and the terminal
call it at their borders. Does not know any index and does not translate: the same text always gives the same terms.
"""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

import Stemmer

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

TOKENIZER_VERSION = 6
_LETTERS = string.ascii_lowercase + string.digits
_START = 2  # letters of a word that its stem keeps; a stem of no more letters keeps the first: "eying", "ei"

STOP_WORDS = frozenset(
    "a about above after again against all also am an and any are aren as at be because been before being below "
    "between both but by can cannot could couldn did didn do does doesn doing don down during each either else ever "
    "few for from further had hadn has hasn have haven having he her here hers herself him himself his how i if in "
    "into is isn it its itself just let ll me might more most must mustn my myself neither no nor not of off on once "
    "only or other our ours ourselves out over own per same shan she should shouldn so some such than that the their "
    "theirs them themselves then there these they this those through to too under until up upon ve very via was wasn "
    "we were weren what when where whether which while who whom whose why will with within without won would wouldn "
    "you your yours yourself yourselves".split()
)

# Accents, and the vowel points of Hebrew and Arabic; the breve of a Russian letter makes it another one.
_MARKS = re.compile("[\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]+")
_BREVE = re.compile("(?<![\u0418\u0438])\u0306")
WORD = re.compile(r"([^\W_]+)(?:['’ʼ](?:s|t|d|m|re|ve|ll)(?![^\W_]))?")
_PLAIN_WORDS = bytes(ord(chr(at).lower() if chr(at).isalnum() else " ") for at in range(128)).ljust(256)  # ASCII
# letters that stems of one family share at least, and letters in which they may differ
FAMILY_LETTERS, _ENDING_LETTERS = 5, 3
_ENDING = re.compile(r"(?<=[a-z0-9])'(?:s|t|d|m|re|ve|ll)(?![a-z0-9])")
_TWO_ENDINGS = re.compile(r"'(?:s|t|d|m|re|ve|ll)'")
_FOREIGN = re.compile(r"[^\W_\x00-\x7f]")  # a letter or digit that folding does not make ASCII
_UNSPACED_LETTERS = (  # of Thai, Lao, Burmese, Khmer, Chinese, Japanese, and Korean, whose words take endings
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_UNSPACED = re.compile(f"[{_UNSPACED_LETTERS}]")
_RUNS = re.compile(f"[{_UNSPACED_LETTERS}]+|[^{_UNSPACED_LETTERS}]+")
_VOWELS = "".join(chr(at) for at in range(0x0900, 0x1B00) if unicodedata.category(chr(at)).startswith("M"))
_VOWEL = re.compile(f"[{_VOWELS}]")  # a vowel of an Indic script, Thai or Burmese, that is written as part of a letter
_SIGNED_WORD = re.compile(rf"(?:[^\W_]|[{_VOWELS}])+")
LAST_LATIN = "\u036f"
_STEMMERS = {  # by the first word of the Unicode names of the letters of a script
    "ARABIC": "arabic",
    "ARMENIAN": "armenian",
    "CYRILLIC": "russian",
    "DEVANAGARI": "hindi",
    "GREEK": "greek",
    "TAMIL": "tamil",
}
_stemmer = Stemmer.Stemmer("porter", 0)  # without a cache of its own: `stem_word` has one


@cache
def tokenizer_fingerprint() -> str:
    """Identify the tokenizer: indexes with different fingerprints must never be mixed."""
    parts = (*sorted(STOP_WORDS), *(f"{stem} {other}" for stem, other in sorted(_read_spellings().items())))
    words = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]
    return f"porter-{TOKENIZER_VERSION}-{words}"


def fold_whitespace(text: str) -> str:
    """Return the text on one line: every run of white space as one space, no other character changed."""
    return " ".join(text.split())


def fold_text(text: str) -> str:
    """Convert to lower case and drop accents, so that `Müller` and `muller` are equal."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text.replace("™", "")))
    if "\u0306" in plain:
        plain = _BREVE.sub("", plain)
    return unicodedata.normalize("NFC", plain).lower()


def split_words(text: str) -> list[str]:
    """Return the folded words of `text` in order, stop words included, without the possessive "s".

    Scripts without spaces between words give overlapping pairs of characters.
    """
    ready = _fold_to_ascii(text)
    if ready is not None:
        return ready.encode().translate(_PLAIN_WORDS).decode().split()
    plain = fold_text(text)
    found: list[str] = (WORD if _VOWEL.search(plain) is None else _SIGNED_WORD).findall(plain)
    if _UNSPACED.search(plain) is None:
        return found
    return [part for word in found for run in _RUNS.findall(word) for part in _character_pairs(run)]


def _fold_to_ascii(text: str) -> str | None:
    """Return an ASCII text whose runs of letters and digits are the words of a text; None if it has other letters."""
    folded = fold_text(text)
    if not folded.isascii():
        if _FOREIGN.search(folded) is not None:
            return None
        folded = folded.replace("’", "'").encode("ascii", "replace").decode("ascii")
    if "'" not in folded:
        return folded
    return None if _TWO_ENDINGS.search(folded) is not None else _ENDING.sub(" ", folded)


def _character_pairs(run: str) -> list[str]:
    if len(run) == 1 or _UNSPACED.match(run) is None:
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]


@lru_cache(maxsize=200_000)
def stem_word(word: str) -> str:
    """Return the stem of a folded word by the script of its first letter, or "" for a stop word.

    It is Porter's, that of the American spelling or of the verb of which the word is an irregular form, if there is
    one; and Snowball's for the language that most people write in another script.
    """
    if word in STOP_WORDS:
        return ""
    if word[0] > LAST_LATIN:
        name = _STEMMERS.get(find_script(word[0]))
        return word if name is None else _load_stemmer(name).stemWord(word)
    stem = _stemmer.stemWord(word)
    return _read_spellings().get(stem, stem)


@lru_cache(maxsize=2_000)
def find_script(letter: str) -> str:
    """Return the first word of a letter's name in Unicode, which names its script; "" for plain Latin."""
    return unicodedata.name(letter, "").partition(" ")[0] if letter > LAST_LATIN else ""


@cache
def _load_stemmer(name: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(name, 0)


@cache
def _read_spellings() -> dict[str, str]:
    """Return the stems of British spellings and of irregular forms with those of what they stand for."""
    lines = resources.files("corrobora.data").joinpath("spellings.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    found = {_stemmer.stemWord(one): _stemmer.stemWord(other) for one, other in pairs}
    return {one: other for one, other in found.items() if one != other}


@cache
def _read_other_starts() -> dict[str, frozenset[str]]:
    """Return how other spellings and forms of a stem begin."""
    found: dict[str, frozenset[str]] = {}
    for one, other in _read_spellings().items():
        found[other] = found.get(other, frozenset()) | {one[:_START]}
    return found


@lru_cache(maxsize=4_000)  # one sentence is read for several sub-questions, checks and rounds
def stem_text(text: str) -> tuple[str, ...]:
    """Return the stems of `text` in order, without stop words."""
    return tuple(filter(None, map(stem_word, split_words(text))))


def find_stems(texts: Sequence[str], wanted: Collection[str]) -> list[set[str]]:
    """Return those stems of each text that are among those wanted; see `_list_starts` for which words are stemmed."""
    starts = _list_starts(wanted)
    return [
        {
            stem
            for word in split_words(text)
            if (word[:_START] in starts or word > LAST_LATIN) and (stem := stem_word(word)) in wanted
        }
        for text in texts
    ]


def count_stems(texts: Sequence[str], wanted: Collection[str]) -> list[Counter[str]]:
    """Count the stems of each text that are among those wanted."""
    words, starts = [Counter(split_words(text)) for text in texts], _list_starts(wanted)
    likely = (word for word in set[str]().union(*words) if word[:_START] in starts or word > LAST_LATIN)
    forms = {word: stem for word in likely if (stem := stem_word(word)) in wanted}
    found = [Counter[str]() for _ in words]
    for counts, each in zip(found, words, strict=True):
        for word in forms.keys() & each.keys():
            counts[forms[word]] += each[word]
    return found


def _list_starts(wanted: Collection[str]) -> set[str]:
    """Return how words begin whose stem is wanted, by two letters of it or of another spelling, of short stems by one.

    In other scripts than Latin, stemming may change how a word begins.
    """
    starts = {stem[:_START] for stem in wanted}
    starts |= {start for stem in wanted for start in _read_other_starts().get(stem, ())}
    return starts | {stem[0] + letter for stem in wanted if 0 < len(stem) <= _START for letter in _LETTERS}


def is_same_family(one: str, other: str) -> bool:
    """True if two stems belong to one word family: "direct" and "director", "nation" and "national"."""
    if one == other:
        return True
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return long.startswith(short) and len(short) >= FAMILY_LETTERS and len(long) - len(short) <= _ENDING_LETTERS


def token_overlap(sentence: str, evidence: str) -> float:
    """Return the share of a sentence's content words that occur in the evidence (ANGLES-31)."""
    wanted = frozenset(stem_text(sentence))
    return len(wanted & frozenset(stem_text(evidence))) / len(wanted) if wanted else 0.0


_SIGNS = re.compile(r"[\W_]")
_COMPOUND = re.compile(r"--[a-z][\w-]*\w|\d+(?:\.\d+)+|[^\W_]+(?:(?:_+|::)[^\W_]+)+")
_COMPOUNDED = re.compile(r"_|--|::|\d\.\d")


def join_identifier(name: str) -> str:
    """Return an identifier as one word: "mailcheck" for `mail_check`, other ones for `--mail-check` and for 1.21.5."""
    return f"{'option' if name[0] == '-' else ''}{_SIGNS.sub('', name.replace('.', 'x')).lower()}"


_EDGES = "\"'`“”‘’«»()[]{},;:!?"
_CODE = re.compile(  # an option; a file; a standard with its number; a letter alone; what holds a sign of code
    r"--?[A-Za-z]\w*(?:-\w+)*|[A-Za-z_-]{2,}\.[a-z]\w*|[A-Z]\w*-\d\w*|[b-zB-HJ-Z]"
    r"|(?![a-z]+(?:/[a-z]+)*\Z)(?=.*[A-Za-z])\S*(?:\w[_/\\+*@#$^&|=~]|[/~$%\\]\.?\w|::)\S*"
)


@lru_cache(maxsize=1_000)
def find_literals(text: str) -> tuple[str, ...]:
    """Return the tokens of a question that are spelled as code is: whoever writes them means these signs and no others.

    Example:
        >>> find_literals("Does set -e end on HTTP/2, and/or the key g?")
        ('-e', 'HTTP/2', 'g')
    """
    tokens = (raw.strip(_EDGES) for raw in text.split())
    plain = (each.rstrip(".") if len(each) > 2 else each for each in tokens)  # noqa: PLR2004 - "J." is an initial
    return tuple(dict.fromkeys(each for each in plain if "://" not in each and _CODE.fullmatch(each)))


def holds_literal(text: str, literal: str) -> bool:
    """True if a text holds a token of code as it is spelled; the case counts in one letter alone."""
    return _match_literal(literal).search(text) is not None


@lru_cache(maxsize=1_000)
def _match_literal(literal: str) -> re.Pattern[str]:
    short = sum(map(str.isalnum, literal)) == 1
    return re.compile(rf"(?<![\w-]){re.escape(literal)}(?![\w-])", re.NOFLAG if short else re.IGNORECASE)


def append_names(text: str) -> str:
    """Return a text with each name of several words in it, `mail_check`, `--mail-check` or 1.21.5, also as one word.

    Whoever asks for a name does not look for its words wherever they stand. A name in a name counts, too: of
    `box.mail_check` the latter.
    """
    if _COMPOUNDED.search(text) is None:
        return text
    names = " ".join(map(join_identifier, _COMPOUND.findall(text)))
    return f"{text}\n{names}" if names else text


# "p. 13" counts nothing: a page.
LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]\)?|\(?\d{1,3}[.)]|\(?[a-z][.)](?!\s+\d)|(?<=  )o)[ \t]+(?=\S)")
COMMENT = re.compile(r"#+[ \t]+(?=\S)")  # of a configuration or a program
_QUOTED = re.compile(r"(?:>[ \t]?){1,9}(?=[^\s>])")  # what a mail quotes of another
CODE_GAP = "\u2002"  # what a reader puts before each line of a block of code, which is read and quoted as it stands
# Lines of code; a text that was cut out of another may begin within the first one.
_CODE_LINES = re.compile(
    rf"(?:\A[^\n{CODE_GAP}]*(?=\n{CODE_GAP})|^{CODE_GAP}[^\n]*)(?:\n{CODE_GAP}[^\n]*)*", re.MULTILINE
)
_CODE_CHARS = 600  # of a block of code that is quoted whole
GOES_ON = "…"  # ends the claim of a quote of code that goes on behind it, and stands below that code
TERM_GAP = "\u2003"  # what a reader puts between a term and what defines it, where it writes both on one line
_ROW = re.compile(r"(?:[^;:\n]{1,120}: [^;\n]{1,2000}(?:; |\.$|$)){2,}")


def find_code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where code begins and ends; a block too long for a quote in parts, cut at empty lines if it has some."""
    for block in _CODE_LINES.finditer(text):
        begin, end = block.span()
        while end - begin > _CODE_CHARS:
            border = text.rfind(f"\n{CODE_GAP}\n", begin + 1, begin + _CODE_CHARS)
            border = border if border > 0 else text.rfind("\n", begin + 1, begin + _CODE_CHARS)
            border = border if border > 0 else text.find("\n", begin + 1, end)
            if border < 0:
                break
            yield begin, border
            begin = border
        yield begin, end


def is_code_block(text: str, start: int, end: int) -> bool:
    """True for a sentence that is a block of code, or a part of one."""
    begin = text.rfind("\n", 0, start) + 1
    return text[begin : begin + 1] == CODE_GAP or f"\n{CODE_GAP}" in text[start:end]


def skip_item_mark(text: str, start: int) -> int:
    """Return where the words of an item, a comment or a quoted mail begin; "(a)" belongs to the text of a clause."""
    mark = LIST_ITEM.match(text, start) or COMMENT.match(text, start) or _QUOTED.match(text, start)
    return start if mark is None or mark.group()[0] == "(" else mark.end()


def is_table_row(line: str) -> bool:
    """True for a row that names its heads, as readers write it: "Plan: Basic; Price: 5."."""
    return _ROW.fullmatch(line) is not None


_PUNCTUATION = r"!-/:-@\[-`{-~"
_ACTIVE = re.compile(
    rf"\\(?=[{_PUNCTUATION}]|$)"  # an escape
    r"|[*`]|(?<![^\W_])_|_(?![^\W_])"  # emphasis and code; not the signs inside `snake_case`
    r"|\((?=\s*[Ss]\d)|\[(?=\s*\^?[Ss]?\d)|(?<=\])[(:\[]"  # a citation, a link
    r"|<(?=[A-Za-z/!?])|&(?=#|\w+;)|~(?=~)|(?<=~)~"  # HTML, an entity, struck-out text
    r"|^(?:#{1,6}(?=\s|$)|[-+>](?=\s|$)|[-=]{2,}$|>|\|)"  # a heading, an item, a quotation, a row
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_CLOSING = re.compile(r"(\\\[[^\[\]]{0,60})\]")  # of what looks like a citation
_WIDE_MARKER = re.compile(r"(?<=［)(\s*)([Ss])(?=\d)")  # no backslash escapes this bracket
_READ = re.compile(r"[\\*_`&<~\[]")


def escape_text(text: str) -> str:
    r"""Return a source's text, on one line, as Markdown that shows the same characters.

    Example:
        >>> escape_text("**/cache/** of <name>, see [3] and snake_case")
        '\\*\\*/cache/\\*\\* of \\<name>, see \\[3\\] and snake_case'
    """
    line = _ACTIVE.sub(lambda match: "\\" + match.group(), fold_whitespace(text))
    line = _CLOSING.sub(r"\1\\]", _NUMBERED.sub(r"\1\\\2", line))
    return _WIDE_MARKER.sub(lambda match: f"{match[1]}&#{ord(match[2])};", line)


def read_inline(markdown: str) -> str:
    r"""Return the characters that a viewer shows for a line of Markdown: emphasis, code and escapes are read.

    Example:
        >>> read_inline("**Keep** `\\*.log` and \\*.tmp")
        'Keep \\*.log and *.tmp'
    """
    if _READ.search(markdown) is None:
        return markdown
    shown = {"softbreak": " ", "hardbreak": " "}
    (block,) = load_parser().parseInline(markdown)
    return "".join(shown.get(token.type, token.content) for token in block.children or ())


@cache
def load_parser() -> MarkdownIt:
    """Return the parser that reads Markdown as a viewer does."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 0.1 s that only text with signs of Markdown pays

    return MarkdownIt("commonmark", {"html": False})


_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x9b[\d;]{1,16}[A-HJKSTfhlmnsu]"  # the same in one sign; a lone one may be a quote mark that was read wrongly
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # titles, hyperlinks, device control
    r"|\x1b[ -/]*[0-~]?"  # the short ones, and a lone ESC
)
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # text direction, byte order
    "\U000e0000-\U000e007f]"  # tag characters
)


_JSON_ESCAPE = re.compile(r"\\(?:\\|(u00(?:0[0-8b-f]|1[\da-f]|7f|[89][\da-f])|[bfr]))", re.IGNORECASE)


def sanitize_json(text: str) -> str:
    """Return a JSON document without control and direction characters in its strings, escaped ones included."""
    return sanitize_text(_JSON_ESCAPE.sub(lambda found: "" if found[1] else found[0], text))


def sanitize_text(text: str) -> str:
    """Return `text` without anything a terminal would obey: escape sequences, control and direction characters."""
    if text.replace("\n", "").isprintable() or _CONTROL_CHARACTERS.search(text) is None:  # the first is faster
        return text
    return _CONTROL_CHARACTERS.sub("", _ESCAPE_SEQUENCES.sub("", text.replace("\r\n", "\n")))
