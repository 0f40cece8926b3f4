"""`corrobora completion`: the script that makes a shell complete commands and flags.

Knows the three shells that click supports. Does not install anything.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class

from corrobora.config.settings import DISPLAYS, WEB_PROVIDERS


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    bash: corrobora completion bash > ~/.local/share/bash-completion/completions/corrobora
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion is known for {shell}.", context)
    click.echo(found(context.find_root().command, {}, "corrobora", "_CORROBORA_COMPLETE").source())


def _starting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def displays(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--display`."""
    return _starting(DISPLAYS, incomplete)


def providers(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--provider`."""
    return _starting(WEB_PROVIDERS, incomplete)


def profiles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--profile`: the presets, else a file."""
    from corrobora.config import list_presets  # noqa: PLC0415 - policies are loaded where needed

    return _starting(list_presets(), incomplete) or [CompletionItem(incomplete, type="file")]


def libraries(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `--library`: `demo`, else a path. Stored names would need the database, and a shell cannot wait."""
    return [*_starting(("demo",), incomplete), CompletionItem(incomplete, type="file")]
