"""The request of a run: a checked question with what the settings say, built in the same way for every face.

Knows which settings are stored with a run and what contradicts what. Does not know flags, libraries on disk or who
asked the question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, Unpack, cast

from corrobora.config import Settings, resolve_language
from corrobora.domain.errors import UserError
from corrobora.domain.run import Request, RequestOption
from corrobora.registry import load_part
from corrobora.text.phrases import dump_frame
from corrobora.text.vocabulary import detect_language


@dataclass(frozen=True, slots=True)
class Question:
    """A question that may be researched. `invisible` counts the characters that were removed (bad-input Q12)."""

    text: str
    invisible: int = 0


class RequestExtras(TypedDict, total=False):
    """Fields of a request that only some faces set."""

    authorized: str
    plan_file: str
    thread_file: str
    output: tuple[tuple[str, str], ...]


def parse_question(raw: str, *, least: int | None = None) -> Question:
    """Return the question, or with `least` 1 what is searched for. Raises `UserError` as `intake.check_question`."""
    from corrobora.policies import intake  # noqa: PLC0415 - commands that ask nothing need no policies

    return Question(intake.check_question(raw, least=least), intake.count_hidden_characters(raw))


def build_request(  # noqa: PLR0913 - one keyword for each thing that is not a setting
    settings: Settings,
    question: Question,
    *,
    fields: tuple[tuple[str, str], ...] = (),
    sources: tuple[str, ...] = (),
    plan_only: bool = False,
    artifact_dir: str = "",
    model_required: bool = False,
    **extras: Unpack[RequestExtras],
) -> Request:
    """Return the request as it is stored with the run: names and numbers, never a secret.

    Raises:
        UserError: there is nothing to search, or a setting contradicts another; nothing was stored or paid.
    """
    from corrobora.config.profiles import override_profile, resolve_profile  # noqa: PLC0415 - as above

    _check_sources(settings, sources)
    profile, own = resolve_profile(settings)
    return Request(
        question=question.text,
        profile=profile,
        overrides=(*own, *override_profile(settings, fields, plan_only=plan_only)),
        libraries=settings.libraries,
        providers=settings.providers,
        sources=sources,
        models=tuple(sorted(settings.models.items())),
        strict=settings.strict,
        metadata=_build_metadata(settings, question, artifact_dir, model_required=model_required),
        **extras,
    )


class RunChanges(TypedDict):
    """What a run that follows another one does not do as that one did."""

    models: tuple[tuple[str, str], ...]
    overrides: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]


def read_run_changes(
    settings: Settings, given: Collection[str], fields: tuple[tuple[str, str], ...] = (), *, model_required: bool
) -> RunChanges:
    """Return what the settings with the keys `given` and fields of the profile change for a run that follows another.

    What files and the environment say was already said of the earlier run, so that only flags count.
    """
    from corrobora.config.profiles import override_profile  # noqa: PLC0415 - as above

    options = {option for key in given for option in _STORED_BESIDE.get(key, ())}
    if model_required:
        options |= {RequestOption.MODEL_REQUIRED}
    metadata = _build_metadata(settings, Question(""), "", model_required=model_required)
    return RunChanges(
        models=tuple(sorted(settings.models.items())) if model_required else (),
        overrides=override_profile(settings, fields, only=given),
        options=tuple((name, value) for name, value in metadata if name in options),
    )


_STORED_BESIDE: Mapping[str, tuple[RequestOption, ...]] = {  # settings that are stored with a run beside its profile
    "language": (RequestOption.LANGUAGE, RequestOption.TRANSLATION),
    "sources.allow_egress": (RequestOption.ALLOW_EGRESS,),
    "sources.show_queries": (RequestOption.SHOW_QUERIES,),
    "limits.usd": (RequestOption.MAX_USD,),
    "limits.accept_unknown_price": (RequestOption.ACCEPT_UNKNOWN_PRICE,),
    "limits.tokens": (RequestOption.MAX_TOKENS,),
    "limits.searches": (RequestOption.MAX_SEARCHES,),
}


def _check_sources(settings: Settings, sources: Sequence[str]) -> None:
    if settings.offline and sources:
        raise UserError(
            "flags_conflict",
            f"--source names pages of the web, and the run is offline by {settings.origins['offline']}.",
            next_step="Leave out one of them.",
        )
    if settings.offline and settings.providers:
        raise UserError(
            "flags_conflict",
            f"Offline and the providers {', '.join(settings.providers)} contradict each other; offline is set by "
            f"{settings.origins['offline']}, the providers by {settings.origins['sources.providers']}.",
            next_step="Leave out one of them.",
        )
    if not settings.libraries and not settings.providers and not sources:
        raise UserError(
            "sources_missing",
            "There is nothing to search: no library and no web provider is named.",
            next_step="Name one: --library FOLDER, or --provider wikipedia. New here: corrobora demo, corrobora init",
        )
    for name in settings.providers:
        if load_part("search", name).needs_key:
            settings.key(name).reveal()  # reports a missing key before a run is made


def _build_metadata(
    settings: Settings, question: Question, artifact_dir: str, *, model_required: bool
) -> tuple[tuple[str, str], ...]:
    """Return limits, language, what was removed from the question (bad-input Q12) and where artifacts go.

    A language that nobody sets is that of the question.
    """
    language, translation = resolve_language(settings)
    language = language or detect_language(question.text)
    given = (
        (RequestOption.LANGUAGE, language or None),
        (RequestOption.TRANSLATION, dump_frame(translation) if translation else None),
        (RequestOption.MAX_USD, settings.max_usd),
        (RequestOption.ASK_ABOVE_USD, settings.ask_above_usd),
        (RequestOption.ACCEPT_UNKNOWN_PRICE, "yes" if settings.accept_unknown_price else None),
        (RequestOption.MAX_TOKENS, settings.max_tokens),
        (RequestOption.MAX_SEARCHES, settings.max_searches),
        (RequestOption.INVISIBLE_CHARACTERS, question.invisible or None),
        (RequestOption.ARTIFACT_DIR, artifact_dir or None),
        (RequestOption.ALLOW_EGRESS, "yes" if settings.allow_egress else None),
        (RequestOption.SHOW_QUERIES, "yes" if settings.show_queries else None),
        (RequestOption.MODEL_REQUIRED, "yes" if model_required else None),
    )
    return tuple((name.value, str(value)) for name, value in given if value is not None)


_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {  # what programs pass: types, and in words
    "settings": ((Settings, type(None)), "what load_settings returns"),
    "limit": ((int,), "a whole number"),
    "profile": ((str, Path), "a text"),
}
_VALUES = (bool, int, float, str)


def check_arguments(*, fields: Mapping[str, object] = MappingProxyType({}), **given: object) -> None:
    """Refuse values of other kinds than a program may pass. Raises `UserError` `argument_kind`."""
    wanted = {name: (value, *_KINDS.get(name, ((str,), "a text"))) for name, value in given.items()}
    wanted |= {name: (value, _VALUES, "a text, a number, True or False") for name, value in fields.items()}
    for name, (value, types, words) in wanted.items():
        if not isinstance(value, types):
            raise UserError("argument_kind", f"{name} is {value!r:.60}; it must be {words}.", next_step="Correct it.")


def list_libraries(given: object) -> tuple[str, ...]:
    """Return the names and paths of libraries that a program gave, one or several. Raises `UserError`."""
    several: tuple[object, ...] = (given,)
    if isinstance(given, Iterable) and not isinstance(given, str):
        several = tuple(cast("Iterable[object]", given))
    if not all(isinstance(each, str | Path) for each in several):
        problem = f"library is {given!r:.60}; it must be a name or a path, or several."
        raise UserError("argument_kind", problem, next_step='For example: library="demo", or library="./papers"')
    return tuple(map(str, several))
