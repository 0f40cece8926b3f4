"""`corrobora completion`: the script that makes a shell complete commands and flags.

Knows the three shells that click supports. Does not install anything.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


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
