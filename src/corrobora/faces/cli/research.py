"""`corrobora research`: a question in, the cited report on stdout.

Knows the flags of a run and what they set. Everything is checked before anything is paid; `delivery` conducts the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack, cast

import click
from click.core import ParameterSource

from corrobora.config import Settings, resolve_profile
from corrobora.config.settings import DISPLAYS, WEB_PROVIDERS
from corrobora.config.values import MINUTES_FORMS
from corrobora.domain.errors import UserError
from corrobora.domain.run import Request
from corrobora.faces.cli.asked import (
    STAGES,
    delivery_flags,
    field_flags,
    last_stage,
    model_flags,
    read_plan,
    read_question,
    setting_flags,
    stage_named,
)
from corrobora.faces.cli.completion import displays
from corrobora.faces.cli.delivery import Wanted, research_here, resume_here
from corrobora.faces.cli.options import (
    config_option,
    library_option,
    model_option,
    open_settings,
    profile_option,
    provider_option,
)
from corrobora.faces.cli.target import check_target
from corrobora.faces.cli.workspace import checked_run
from corrobora.faces.question import Question

_OF_A_NEW_RUN = frozenset(
    "library provider source profile time deep max_rounds angles model fields plan plan_only yes deliver offline "
    "max_cost accept_unknown_price max_tokens max_searches".split()
)
F = TypeVar("F", bound=Callable[..., object])
_FILE = click.Path(path_type=Path)


class Shown(TypedDict):
    """The flags that say how a run is shown and delivered; `research`, `resume` and `demo` share them."""

    output: Path | None
    force: bool
    follow_symlinks: bool
    artifacts: Path | None
    as_json: bool
    display: str | None
    quiet: bool
    no_input: bool
    min_score: str | None
    strict: bool
    config_file: Path | None


class Flags(Shown):
    """All flags of `research`."""

    question: str | None
    question_file: Path | None
    library: tuple[str, ...]
    provider: tuple[str, ...]
    source: tuple[str, ...]
    profile: str | None
    time: str | None
    deep: bool
    max_rounds: str | None
    angles: str | None
    model: tuple[str, ...]
    fields: tuple[str, ...]
    plan: Path | None
    plan_only: bool
    yes: bool
    from_stage: str | None
    until_stage: str | None
    deliver: tuple[str, ...]
    run_id: str | None
    offline: bool
    max_cost: str | None
    accept_unknown_price: bool
    max_tokens: str | None
    max_searches: str | None


def shown_options(command: F) -> F:
    """Add the flags of `Shown` to a command."""
    for option in reversed(
        (
            click.option(
                "-o", "--output", type=_FILE, metavar="FILE|DIR", help="Write the report there, not to stdout."
            ),
            click.option("--force", is_flag=True, help="Let -o replace files."),
            click.option("--follow-symlinks", is_flag=True, help="Let -o write through a symbolic link."),
            click.option("--artifacts", type=_FILE, metavar="DIR", help="Copy all files of the run there."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document."),
            click.option(
                "--display",
                shell_complete=displays,
                metavar="|".join(DISPLAYS),
                help="Progress on stderr; jsonl: events on stdout.",
            ),
            click.option("-q", "--quiet", is_flag=True, help="The same as --display none."),
            click.option("--no-input", is_flag=True, help="Never ask; a plan that needs a person ends with exit 3."),
            click.option("--min-score", metavar="0..1", help="Exit 4 below this score."),
            click.option("--strict", is_flag=True, help="Exit 5 if gaps remain, a limit fired or support is missing."),
            config_option,
        )
    ):
        command = option(command)
    return command


@click.command()
@click.argument("question", required=False)
@click.option("--question-file", type=_FILE, metavar="FILE", help="Read the question from a file (also: @FILE, or -).")
@library_option
@provider_option
@click.option("--source", multiple=True, metavar="URL", help="Read this page first; URL/* takes the whole site.")
@profile_option()
@click.option("-t", "--time", metavar="N|unlimited", help=f"{MINUTES_FORMS.capitalize()}.")
@click.option("--deep", is_flag=True, help="More rounds (7 instead of 3).")
@click.option("--max-rounds", "--max-iterations", metavar="N", help="Rounds of each thread.")
@click.option(
    "--angles", "--agents", metavar="N|dynamic", help="At most N sub-agents (1 to 7), or as many as are invented."
)
@model_option
@click.option("-s", "fields", multiple=True, metavar="FIELD=VALUE", help="Set one field of the profile.")
@click.option("--plan", type=_FILE, metavar="FILE", help="Suggest this plan (JSON).")
@click.option("--plan-only", is_flag=True, help="Print the plan and stop.")
@click.option("-y", "--yes", is_flag=True, help="Authorize the plan without asking.")
@click.option("--from-stage", type=click.Choice(STAGES), help="With --run-id: redo the run from this stage on.")
@click.option("--until-stage", type=click.Choice(STAGES), help="Pause after this stage; resume goes on.")
@click.option("--deliver", multiple=True, metavar="folder:DIR|email:ADDRESS|webhook", help="Hand the report on.")
@click.option("--run-id", metavar="RUN", help="Go on with this run.")
@click.option("--offline", is_flag=True, help="Libraries only: no web search, no pages.")
@click.option("--max-cost", metavar="USD", help="What the run may cost; 0 makes only the plan.")
@click.option("--accept-unknown-price", is_flag=True, help="With --max-cost: use models without a known price.")
@click.option("--max-tokens", metavar="N", help="Tokens the run may use.")
@click.option("--max-searches", metavar="N", help="Searches the run may do.")
@shown_options
def research(**flags: Unpack[Flags]) -> int:
    """Research a question and print the cited report.

    QUESTION is a text, @FILE, or - for stdin. One that starts with a dash follows --.
    """
    settings = open_settings(flags["config_file"], run_flags(flags))
    if flags["run_id"] is not None:
        return _go_on(flags, settings, flags["run_id"])
    if flags["from_stage"] is not None:
        raise UserError("stage_without_run", "--from-stage needs --run-id RUN.", next_step="See: corrobora runs list")
    question = read_question(flags["question"], flags["question_file"])
    wanted = wanted_of(flags, settings, plan_only=plan_only(flags, settings), until=flags["until_stage"])
    request = request_of(flags, settings, question)
    return research_here(settings, request, wanted)


def as_unsaid(given: Mapping[str, object]) -> Flags:
    """All flags of `research` for a command that has only some of them: the others as if nobody had written them."""
    rest: dict[str, object] = {}
    for each in research.params:
        option = each if isinstance(each, click.Option) else None
        rest[str(each.name)] = () if each.multiple else False if option is not None and option.is_flag else None
    return cast("Flags", rest | dict(given))


def _go_on(flags: Flags, settings: Settings, run: str) -> int:
    """`--run-id`: what a run is, was said when it was made; saying it again would be ignored, so it is refused."""
    if flags["question"] is not None or flags["question_file"] is not None:
        raise UserError(
            "question_twice", f"The run {run} has its question.", next_step="Leave out the question, or --run-id."
        )
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name in _OF_A_NEW_RUN and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(
                "flag_of_a_new_run",
                f"{option.opts[-1]} belongs to a new run: {run} goes on as it was asked for.",
                next_step=f"Leave it out, or make a new run without --run-id. A plan: corrobora authorize {run}",
            )
    stage = stage_named(flags["from_stage"]) if flags["from_stage"] else None
    wanted = wanted_of(flags, settings, until=flags["until_stage"])
    return resume_here(settings, checked_run(run), stage, wanted)


def run_flags(flags: Flags) -> dict[str, tuple[object, str]]:
    """Return the flags that are settings, by dotted name."""
    models = {f"models.{tier}": (model, "--model") for tier, model in model_flags(flags["model"]).items()}
    return shown_flags(flags) | setting_flags(
        {
            "profile": (flags["profile"], "--profile"),
            "time": (flags["time"], "--time"),
            "deep": (flags["deep"] or None, "--deep"),
            "max_rounds": (flags["max_rounds"], "--max-rounds"),
            "angles": (flags["angles"], "--angles"),
            "offline": (flags["offline"] or None, "--offline"),
            "sources.libraries": (flags["library"], "--library"),
            "sources.providers": (flags["provider"], "--provider"),
            "limits.usd": (flags["max_cost"], "--max-cost"),
            "limits.accept_unknown_price": (flags["accept_unknown_price"] or None, "--accept-unknown-price"),
            "limits.tokens": (flags["max_tokens"], "--max-tokens"),
            "limits.searches": (flags["max_searches"], "--max-searches"),
            **models,
        }
    )


def shown_flags(flags: Shown) -> dict[str, tuple[object, str]]:
    """Return the shared flags that are settings, by dotted name."""
    display = "none" if flags["quiet"] and flags["display"] is None else flags["display"]
    return setting_flags(
        {
            "display": (display, "--display"),
            "verify.min_score": (flags["min_score"], "--min-score"),
            "strict": (flags["strict"] or None, "--strict"),
        }
    )


def wanted_of(flags: Shown, settings: Settings, *, plan_only: bool = False, until: str | None = None) -> Wanted:
    """Return how the run is shown and delivered, after the check that its target can be written."""
    target = flags["output"]
    if target is not None and str(target) == "-":
        target = None  # stdout is where it goes anyway
    checked = check_target(target, force=flags["force"], follow=flags["follow_symlinks"]) if target else None
    artifacts = flags["artifacts"]
    if artifacts is not None:
        check_target(artifacts / "plan.json", force=True, follow=flags["follow_symlinks"])
    return Wanted(
        display=settings.display,
        as_json=flags["as_json"],
        may_ask=not flags["no_input"],
        target=checked,
        artifacts=artifacts,
        min_score=settings.min_score,
        strict=settings.strict,
        plan_only=plan_only,
        until=last_stage(until) if until else None,
    )


def request_of(flags: Flags, settings: Settings, question: Question) -> Request:
    """Return the request as it is stored with the run: names and numbers, never a secret."""
    if settings.offline and flags["source"]:
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
    if not settings.libraries and not settings.providers and not flags["source"]:
        raise UserError(
            "sources_missing",
            "There is nothing to search: no library and no web provider is named.",
            next_step="Name one: --library FOLDER. Or try: corrobora demo",
        )
    for name in settings.providers:
        if name not in WEB_PROVIDERS:
            raise UserError(
                "provider_unknown",
                f"There is no web search provider {name[:60]!r}.",
                next_step=f"Known: {', '.join(WEB_PROVIDERS)}.",
            )
        settings.key(name).reveal()  # a missing key is said before a run is made
    profile, own = resolve_profile(settings)
    changes = overrides_of(settings, field_flags(flags["fields"]), plan_only=plan_only(flags, settings))
    return Request(
        question=question.text,
        profile=profile,
        overrides=(*own, *changes),
        libraries=settings.libraries,
        providers=settings.providers,
        sources=flags["source"],
        models=tuple(sorted(settings.models.items())),
        authorized="policy" if flags["yes"] and not plan_only(flags, settings) else "",
        plan_file=read_plan(flags["plan"]) if flags["plan"] else "",
        output=delivery_flags(flags["deliver"]),
        strict=settings.strict,
        metadata=metadata_of(settings, question),
    )


def plan_only(flags: Flags, settings: Settings) -> bool:
    """True for `--plan-only`, and for a budget of 0, which is a dry run (C10)."""
    return flags["plan_only"] or settings.max_usd == 0


def overrides_of(
    settings: Settings, fields: tuple[tuple[str, str], ...], *, plan_only: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return what the settings change in the profile, field by field; `-s` comes last and wins."""
    found: list[tuple[str, str]] = []
    if settings.minutes is not None:
        found.append(("minutes", '"unlimited"' if settings.minutes == "unlimited" else repr(float(settings.minutes))))
    if settings.deep:
        found.append(("deep", "true"))
    if settings.max_rounds is not None:
        found.append(("max_rounds", str(settings.max_rounds)))
    if settings.angles is not None:
        found.append(("split", '"angles"'))
        dynamic = settings.angles == "dynamic"
        found.append(("dynamic_angles", "true") if dynamic else ("max_leaves", str(settings.angles)))
    if settings.attempts is not None:
        found.append(("attempts", str(settings.attempts)))
    if settings.min_score is not None:
        found.append(("review.min_score", repr(settings.min_score)))
    found += fields
    if plan_only:  # the run stops before it is authorized, and waits
        found += (("authorize", '"human"'), ("phrase", '"Authorized to execute"'))
    return tuple(found)


def metadata_of(settings: Settings, question: Question) -> tuple[tuple[str, str], ...]:
    """Return the run's limits of money, tokens and searches, and what was removed from the question (Q12)."""
    given = (
        ("max_usd", settings.max_usd),
        ("accept_unknown_price", "yes" if settings.accept_unknown_price else None),
        ("max_tokens", settings.max_tokens),
        ("max_searches", settings.max_searches),
        ("invisible_characters_removed", question.invisible or None),
    )
    return tuple((name, str(value)) for name, value in given if value is not None)
