"""The language of a run: the one that a setting names by its tag, or by a file of translations.

Knows how the setting is written. Does not know the texts of a report, or who writes in the language.
"""

from __future__ import annotations

from pathlib import Path

from corrobora.config.settings import Settings
from corrobora.config.values import read_small_file
from corrobora.domain.errors import UserError
from corrobora.text.frames import Frame, find_frame, is_language_tag, parse_frame

_MOST_BYTES = 1_000_000


def resolve_language(settings: Settings) -> tuple[str, Frame | None]:
    """Return the tag of the language that is set, "" for none, and the translation of the user's file, if it is one.

    Raises:
        UserError: `language_unknown` for what is neither a tag nor a file, `language_file` for a file that cannot be
            used; or as `read_small_file`.
    """
    named = settings.language or ""
    if not named or is_language_tag(named):
        return find_frame(named).tag if named else "", None
    if not (named.endswith(".toml") or "/" in named):
        raise UserError(
            "language_unknown",
            f"{named[:80]!r} is neither the tag of a language nor a file of translations.",
            next_step="Write a tag such as de, fr or pt-BR, or name a file that ends in .toml.",
        )
    path = Path(named).expanduser()
    frame = parse_frame(read_small_file(path, limit=_MOST_BYTES, what="The translation"), str(path))
    return frame.tag, frame
