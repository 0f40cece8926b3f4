"""A plugin for the mutation check: one field of profiles, or one flag of `research`, is ignored for a whole session.

`CORROBORA_TEST_IGNORE` names it: `field:max_rounds`, `field:review.judge`, `field:phases.minutes`, `flag:deep`. Used by
`python -m bench.mutate_fields` only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from typing import Any

import click

from corrobora.config import profiles
from corrobora.domain.thread import Phase
from corrobora.policies import Profile, Review


def pytest_configure(config: Any) -> None:
    """Ignore what the environment names."""
    kind, _, name = os.environ.get("CORROBORA_TEST_IGNORE", "").partition(":")
    if kind == "field":
        profiles._build_profile = without(profiles._build_profile, name)
    elif kind == "flag":
        ignore_flag(name)


def default(of: type, name: str) -> Any:
    """Return the default of a field; of one that has none, an empty text."""
    field = next(each for each in fields(of) if each.name == name)
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else ""


def without(make: Callable[..., Profile], name: str) -> Callable[..., Profile]:
    """Return a loader whose profiles hold the default of one field."""
    part, _, inner = name.rpartition(".")

    def made(*args: Any, **more: Any) -> Profile:
        profile = make(*args, **more)
        if part == "review":
            return replace(profile, review=replace(profile.review, **{inner: default(Review, inner)}))
        if part == "phases":
            plain = default(Phase, inner)
            return replace(profile, phases=tuple(replace(phase, **{inner: plain}) for phase in profile.phases))
        return replace(profile, **{name: default(Profile, name)})

    return made


def ignore_flag(name: str) -> None:
    """Make `research` forget one of its flags."""
    take = click.Option.handle_parse_result

    def forgetful(self: click.Option, ctx: click.Context, opts: Any, args: list[str]) -> Any:
        if self.name == name and ctx.command.name == "research":
            opts = {key: value for key, value in opts.items() if key != name}
        return take(self, ctx, opts, args)

    click.Option.handle_parse_result = forgetful
