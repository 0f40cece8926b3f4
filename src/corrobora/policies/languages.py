"""Languages: the function words of some languages beside English, so that a text in them is read no worse.

Knows articles, pronouns, prepositions, auxiliaries and question words of German, French, Spanish, Italian, Portuguese
and Dutch, and scripts that put no space between words. Does not translate and does not stem.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from corrobora.policies.words import STOP_WORDS, find_unspaced, fold_text, split_words

_WORDS_OF_LANGUAGE = {
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine mit von vom zu zum "
    "zur im in am an auf aus bei beim nach seit vor für über unter um durch gegen ohne bis ist sind war waren wird "
    "werden wurde wurden worden hat haben hatte kann können muss müssen darf dürfen soll sollen sollte er sie es ihr "
    "ihre sein seine sich man wir ich du dass daß weil wenn ob als wie wer was wann wo warum wieso welche welcher "
    "welches welchen wem wen wozu womit viel viele lange hoch groß weit oft alt auch nur noch schon so dieser diese "
    "dieses",
    "fr": "le la les l un une des du de d et ou mais ne pas plus à au aux en dans par pour sur sous avec sans chez "
    "est sont était étaient sera a ont avait être avoir peut peuvent doit doivent il elle ils elles on nous vous je "
    "se ce cette ces cet son sa ses leur leurs que qui quoi quel quelle quels quelles quand où comment pourquoi "
    "combien y qu s n si très aussi",
    "es": "el la los las un una unos unas y o pero no ni de del al a en con sin por para sobre entre desde hasta es "
    "son era eran fue fueron será está están ha han había ser puede pueden debe deben se su sus lo le les que qué "
    "quién quiénes cuál cuáles cuándo dónde cómo cuánto cuántos cuánta cuántas más muy también si este esta estos "
    "estas",
    "it": "il lo la i gli le un uno una e o ma non di del della dei delle a al alla in nel nella con su per tra fra "
    "da dal dalla è sono era erano ha hanno essere può possono deve devono si che chi cosa quale quali quando dove "
    "come perché quanto quanti quante più anche questo questa",
    "pt": "o a os as um uma uns umas e ou mas não de do da dos das em no na nos nas com sem por para sobre entre é "
    "são era eram foi foram será está estão há ser pode podem deve devem se seu sua que quem qual quais quando onde "
    "como quanto quantos quantas mais também este esta",
    "nl": "de het een en of maar niet geen van in op aan met zonder voor door over onder uit bij naar tot is zijn was "
    "waren wordt worden werd heeft hebben kan kunnen moet moeten mag mogen hij zij ze het men wij we ik dat die dit "
    "deze wie wat wanneer waar waarom hoe welk welke hoeveel ook nog als om te er",
}
FUNCTION_WORDS = {language: frozenset(fold_text(text).split()) for language, text in _WORDS_OF_LANGUAGE.items()}
_ALL_FUNCTION_WORDS = STOP_WORDS | {
    word for own in FUNCTION_WORDS.values() for word in own if len(word) > 1
}  # no initials
_MIN_FUNCTION_WORDS = 2  # function words of a language that no English has, before a text is taken for it


@lru_cache(maxsize=2_000)
def detect_language(text: str) -> str:
    """Return the code of the language of a short text, "" for English and where nothing tells.

    Example:
        >>> language("Wie lange ist die Leihfrist?"), language("How long is the lease?")
        ('de', '')
    """
    said = split_words(text)
    english = sum(word in STOP_WORDS for word in said)
    most, name = max((sum(word in own for word in said), name) for name, own in FUNCTION_WORDS.items())
    own = sum(word in FUNCTION_WORDS[name] and word not in STOP_WORDS for word in said)
    return name if own >= _MIN_FUNCTION_WORDS and most > english else ""


def find_function_words(text: str) -> frozenset[str]:
    """Return the folded function words of the language of a short text; empty for English and where nothing tells."""
    return FUNCTION_WORDS.get(detect_language(text), frozenset())


def function_word_share(said: Sequence[str]) -> float:
    """Return the share of folded words that are function words of any known language, 0.0 without words."""
    return sum(word in _ALL_FUNCTION_WORDS for word in said) / len(said) if said else 0.0


def lacks_word_spaces(text: str) -> bool:
    """True if a good part of a text is in a script that puts no space between words."""
    return 2 * len(find_unspaced(text)) >= sum(not c.isspace() for c in text) > 0
