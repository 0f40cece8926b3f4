"""`corrobora profiles`: the research methods that a run may use, and their fields.

Knows how a profile is listed and shown. Does not resolve it: `corrobora.config` does.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from corrobora.config import list_presets, load_profile, resolve_profile
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line
from corrobora.policies.profile import dump_profile


@click.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List the profiles: how a question is researched."""
    if context.invoked_subcommand is None:
        context.invoke(list_profiles)


@profiles.command(name="list")
@json_option
@config_option
def list_profiles(*, as_json: bool = False, config_file: Path | None = None) -> None:
    """List the profiles with what each is for."""
    settings = open_settings(config_file, untrusted="ignore")
    found = {name: load_profile(name).summary for name in list_presets()}
    found |= dict.fromkeys(settings.profiles, "your own")
    if as_json:
        print_json(found)
        return
    for name, summary in found.items():
        mark = "*" if name == settings.profile else " "
        click.echo(f"{mark} {name:<10} {one_line(summary, 160)}")


@profiles.command(name="show")
@click.argument("name")
@json_option
@config_option
def show_profile(*, name: str, as_json: bool, config_file: Path | None) -> None:
    """Show every field of a profile; each can be set with -s FIELD=VALUE."""
    settings = open_settings(config_file, untrusted="ignore")
    fields = dump_profile(load_profile(*resolve_profile(settings, name)))
    if as_json:
        print_json(fields)
        return
    for field, value in fields.items():
        click.echo(f"{field} = {one_line(json.dumps(value, ensure_ascii=False), 1_000)}")
