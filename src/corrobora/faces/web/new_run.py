"""What a client may ask for in a new run: the same as the command line, checked in the same way.

Knows the fields of a request, which have the names of the settings or flags that they override. A client names
libraries, providers and models that this server has; it can name no path, server, key or command.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from corrobora.config import Settings
from corrobora.config.profiles import list_presets
from corrobora.config.settings import TIERS, list_settings
from corrobora.config.values import describe_forms, parse_value
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS, MAX_MINUTES
from corrobora.domain.run import Request
from corrobora.faces.request import build_request, parse_question

Tier = Literal["lead", "worker", "fast", "judge"]


class NewRun(BaseModel):
    """A new run: the question, where to search, how to research, and what it may cost."""

    model_config = ConfigDict(strict=True, extra="forbid")

    question: str = Field(min_length=1, max_length=LIMITS.question_max_chars, description="What is to be found out.")
    libraries: list[str] | None = Field(default=None, max_length=64, description="Stored libraries, or `demo`.")
    providers: list[str] | None = Field(default=None, max_length=64, description="Providers of web search.")
    sources: list[str] = Field(default=[], max_length=64, description="Pages of the web that are read first.")
    profile: str | None = Field(default=None, max_length=64, description="How to research: the name of a profile.")
    time: float | Literal["unlimited"] | None = Field(
        default=None, description=f"Minutes, above 0 and at most {MAX_MINUTES:,.0f}, or `unlimited`."
    )
    deep: bool = Field(default=False, description="More rounds: as many as `deep_rounds` of the profile says.")
    max_rounds: int | None = Field(default=None, ge=1, le=100, description="Maximum number of rounds per thread.")
    angles: int | Literal["dynamic"] | None = Field(default=None, description="Sub-agents: 1 to 7, or `dynamic`.")
    strict: bool = Field(default=False, description="Count an incomplete report as failed.")
    offline: bool = Field(default=False, description="Search libraries only.")
    allow_egress: bool = Field(default=False, description="Allow words of private documents in web queries.")
    show_queries: bool = Field(default=False, description="Pause to show the web searches of a round.")
    language: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
        description="Tag of the language, such as `de`; by default that of the question.",
    )
    max_cost: float | None = Field(default=None, ge=0, le=100_000, description="US dollars; 0 makes only the plan.")
    accept_unknown_price: bool = Field(default=False, description="Allow models without a known price.")
    max_tokens: int | None = Field(default=None, ge=1, le=10**12, description="Most tokens.")
    max_searches: int | None = Field(default=None, ge=1, le=10**6, description="Most searches.")
    min_score: float | None = Field(default=None, ge=0, le=1, description="Minimum score of the report.")
    models: dict[Tier, str] = Field(default={}, description="Models as `provider:model`, by tier.")
    fields: dict[str, bool | int | float | str] = Field(
        default={}, max_length=100, description="Fields of the profile, as `reads_per_round`."
    )
    plan: dict[str, Any] | None = Field(default=None, description="A suggested plan, as a run gives it.")
    plan_only: bool = Field(default=False, description="Stop after the plan and wait for its authorization.")
    authorize: bool = Field(default=False, description="Authorize the plan in advance, and what the run may cost.")
    deliver: list[str] = Field(
        default=[], max_length=16, description="Where the report goes: `email:ADDRESS` or `webhook`."
    )
    webhook: str = Field(
        default="",
        max_length=2_000,
        description="Address that is notified when the run ends; its host must be allowed.",
    )


def make_request(settings: Settings, wanted: NewRun) -> Request:
    """Return the request of a run, checked.

    Raises:
        UserError: a value is of the wrong kind, contradicts another, or names what this server does not have.
    """
    if wanted.profile is not None and wanted.profile not in (*list_presets(), *settings.profiles):
        names = ", ".join((*list_presets(), *settings.profiles))
        raise UserError("unknown_profile", f"There is no profile {wanted.profile!r}.", next_step=f"Profiles: {names}.")
    own = _override_settings(settings, wanted)
    plan_only = wanted.plan_only or own.max_usd == 0  # a budget of 0 is a dry run
    return build_request(
        own,
        parse_question(wanted.question),
        fields=tuple((name, json.dumps(value, ensure_ascii=False)) for name, value in wanted.fields.items()),
        sources=tuple(wanted.sources),
        plan_only=plan_only,
        model_required=bool(wanted.models),
        authorized="policy" if wanted.authorize and not plan_only else "",
        plan_file=json.dumps(wanted.plan) if wanted.plan is not None else "",
        output=_read_deliveries(wanted.deliver),
    )


def _override_settings(settings: Settings, wanted: NewRun) -> Settings:
    """Return the settings with what the request says; each value is read as a flag's."""
    flags = [each for each in list_settings().values() if each.mark.flags]
    declared = {name: each for each in flags for name in (each.attribute, each.parameter)}
    changes = dict[str, Any]()
    for name in NewRun.model_fields.keys() & declared:
        value, setting = getattr(wanted, name), declared[name]
        if value is None or value is False:
            continue
        try:
            changes[setting.attribute] = parse_value(setting.annotation, value)
        except ValueError:
            forms = describe_forms(setting.annotation)
            raise UserError("config_value", f"{name} must be {forms}.", next_step="Correct the value.") from None
    if wanted.models:
        models = {tier: _read_model(tier, wanted.models[tier], settings) for tier in TIERS if tier in wanted.models}
        changes["models"] = {**settings.models, **models}
    if "offline" in changes and "providers" not in changes:
        changes["providers"] = ()
    return replace(settings, **changes)


def _read_model(tier: str, model: str, settings: Settings) -> str:
    """Read a model; the address of a server, which the operator's key would be sent to, only the operator may name."""
    if "://" in model and model not in settings.models.values():
        raise UserError(
            "model_address", "A request cannot name the server of a model.", next_step="Name it as provider:model."
        )
    setting = list_settings()[f"models.{tier}"]
    try:
        return parse_value(setting.annotation, model)
    except ValueError:
        forms = describe_forms(setting.annotation)
        raise UserError("config_value", f"models.{tier} must be {forms}.", next_step="Correct the value.") from None


def _read_deliveries(given: list[str]) -> tuple[tuple[str, str], ...]:
    """Read where a report goes. A folder would be one of the server's, so only the operator may name one."""
    found: list[tuple[str, str]] = []
    for text in given:
        kind, _, where = text.partition(":")
        if kind == "folder":
            raise UserError(
                "delivery_target", "A request cannot name a folder of the server.", next_step="Fetch the report."
            )
        found.append((kind, where))
    return tuple(found)
