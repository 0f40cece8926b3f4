"""`corrobora init`: looks for models, keys and search providers, and writes a first configuration file from them.

Knows how such a file is worded. It asks only servers of this machine, prints no secret, and replaces no file.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.config import Settings, find_user_file
from corrobora.config.settings import TIERS
from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import config_option, open_settings
from corrobora.faces.cli.screen import is_terminal, write_stderr
from corrobora.registry import list_parts

if TYPE_CHECKING:
    from corrobora.adapters.models import LocalServer

_HOSTED = ("anthropic", "openai")  # vendors whose key says nothing about which model is wanted


@click.command()
@click.option("--write", is_flag=True, help="Write the file without asking.")
@config_option
def init(*, write: bool, config_file: Path | None) -> None:
    """Look for models, keys and search providers, and write a first configuration file.

    The proposed file is printed to stdout. On a terminal you are asked whether to write it; elsewhere --write does.
    """
    from corrobora.adapters.models import find_local_servers  # noqa: PLC0415 - the HTTP stack, only here

    target = config_file or find_user_file()
    settings = open_settings(config_file if target.exists() else None, untrusted="ignore")
    text = compose_file(settings, asyncio.run(find_local_servers(os.environ)))
    click.echo(text, nl=False)
    if target.exists():
        raise UserError(
            "config_exists",
            f"The file {target} exists and is not replaced.",
            next_step="Copy what you want from the lines above into it.",
        )
    if not write and is_terminal(sys.stdin) and is_terminal(sys.stderr):
        write = click.confirm(f"Write this to {target}?", default=True, err=True)
    if not write:
        write_stderr(f"Nothing was written. Write it to {target}: corrobora init --write")
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(
            "config_unwritable",
            f"The file {target} cannot be written: {error.strerror}.",
            next_step="Use --config FILE.",
        ) from None
    write_stderr(f"written  {target}")
    write_stderr("check    corrobora doctor")


def compose_file(settings: Settings, servers: Sequence[LocalServer]) -> str:
    """Return the text of a configuration file for what was found; the same things give the same bytes."""
    lines = [
        "# Settings of Corrobora. All of them: corrobora config show --origin",
        "",
        *_model_lines(settings, servers),
    ]
    web = [name for name in sorted(list_parts("search")) if _has_key(settings, name)]
    lines += ["", "[sources]"]
    if web:
        lines += ["# Search providers with a key in the environment.", f"providers = {json.dumps(web)}"]
    else:
        lines += [
            "# No search provider has a key. Without one: wikipedia, crossref, arxiv and pubmed, or a SearXNG server."
        ]
        lines += ['# providers = ["wikipedia"]']
    lines += ['# libraries = ["papers"]    # made by: corrobora library add papers FOLDER', ""]
    return "\n".join([*lines, "[limits]", "usd = 1.0    # most that a run may spend on models", ""])


def _has_key(settings: Settings, name: str) -> bool:
    return name in settings.keys and settings.keys[name].set


def _model_lines(settings: Settings, servers: Sequence[LocalServer]) -> list[str]:
    usable = [
        (each.provider, each.base_url, model)
        for each in servers
        for model in each.models
        if "embed" not in model.lower()
    ]
    if usable:
        provider, address, model = usable[0]
        others = [f"#   {kind}:{name}" for kind, _, name in usable[1:]]
        head = [f"# Found at {address}." + (" Other models on this machine:" if others else ""), *others]
        return [*head, "[models]", *(f"{tier} = {json.dumps(f'{provider}:{model}')}" for tier in TIERS)]
    hosted = [name for name in _HOSTED if _has_key(settings, name)]
    if hosted:
        named = " and ".join(hosted)
        head = [
            f"# There is a key for {named}. Write the model that you want for MODEL, and remove the # of these lines."
        ]
        return [*head, "# [models]", *(f'# {tier} = "{hosted[0]}:MODEL"' for tier in TIERS)]
    return [
        "# No model server runs on this machine and no key is set: answers are composed of quotes, without a model.",
        "# [models]",
        '# lead = "ollama:MODEL"',
    ]
