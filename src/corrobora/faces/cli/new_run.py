"""Commands that start a run in another way than `research`: `chat`, `investigate THREAD.toml` and `demo`.

Knows the lines of a dialogue on a terminal or a pipe, and how a thread file becomes a request. Does not judge questions
and cannot authorize a dialogue: only the exact phrase of the person does.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from corrobora.config import Settings, read_small_file
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.run import DEMO, Request, RunId
from corrobora.faces.cli import FILE_PATH
from corrobora.faces.cli.library import resolve_libraries
from corrobora.faces.cli.options import (
    Flags,
    GroupedCommand,
    fields_option,
    model_option,
    open_settings,
    parse_fields,
    setting_options,
    with_workspace,
)
from corrobora.faces.cli.request import (
    NEW_RUN,
    NEW_RUN_FLAGS,
    add_output_options,
    complete_flags,
    no_input_option,
    output_options,
    read_request,
    run_settings,
)
from corrobora.faces.cli.screen import is_terminal, one_line, write_stderr
from corrobora.faces.request import Question, build_request, parse_question
from corrobora.policies.intake import is_small_talk
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.app.dialogues import DialogueManager
    from corrobora.faces.cli.run import OutputOptions
    from corrobora.storage.journal.events import StoredDialogue


@click.command(cls=GroupedCommand, example='corrobora chat "What changed in the rules?" -l ./papers')
@click.argument("question", required=False)
@setting_options(*NEW_RUN, profile="tree")
@model_option
@fields_option
@click.option("--plan", type=FILE_PATH, metavar="FILE", help="Suggest a plan: a JSON file.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[DIALOGUE]",
    help="Continue this dialogue; without a name, the newest open one.",
)
@click.option("--list", "listed", is_flag=True, help="List the dialogues and exit.")
@click.option("--forget", metavar="DIALOGUE", help="Remove a dialogue and exit.")
@add_output_options
def chat(*, resume: str | None, listed: bool, forget: str | None, **flags: Any) -> int:
    """Narrow a question with the manager, then research it.

    The manager refuses, with reasons, until each query is feasible. Then the exact words `Authorized to execute`,
    typed here, start the research. The report is printed as by `corrobora research`. Every turn is stored, so --resume
    continues a dialogue even after a crash.
    """
    if listed or forget is not None:
        return _manage_dialogues(open_settings(flags["config_file"]), forget)
    if resume is not None:
        return _resume_dialogue(resume, flags)
    whole = complete_flags(flags)
    settings = open_settings(flags["config_file"], run_settings(whole))
    wanted = output_options(flags, settings)
    request = read_request(whole, settings, Question("", 0))
    first = parse_question(flags["question"]).text if flags["question"] is not None else ""

    async def begin_dialogue(workspace: Workspace) -> RunId:
        from corrobora.app.dialogues import open_dialogue  # noqa: PLC0415

        spaces = await resolve_libraries(workspace, request.libraries, show=wanted.display not in ("none", "jsonl"))
        return await _talk_until_authorized(open_dialogue(workspace, replace(request, libraries=spaces)), first)

    return _report_and_talk(settings, with_workspace(settings, begin_dialogue), wanted)


def _resume_dialogue(identity: str, flags: Flags) -> int:
    """Go on with a stored dialogue. Where and how to research was said when it began, so it cannot be said again."""
    context = click.get_current_context()
    for name in ("question", *NEW_RUN_FLAGS):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(
                "resume_with_flags",
                f"--resume continues a dialogue as it was begun; {name.replace('_', '-')} cannot be given with it.",
                next_step="Leave it out, or begin a new dialogue without --resume.",
            )
    whole = complete_flags(flags)
    settings = open_settings(flags["config_file"], run_settings({**whole, "profile": None}))
    wanted = output_options(flags, settings)

    async def continue_dialogue(workspace: Workspace) -> RunId:
        from corrobora.app.dialogues import open_dialogue  # noqa: PLC0415

        stored = await workspace.dialogues.get(identity)
        manager = open_dialogue(workspace, stored.request, stored)
        for turn in manager.dialogue.turns:
            for line in turn.splitlines():
                write_stderr(f"  {sanitize_text(line)}")
        return await _talk_until_authorized(manager, manager.pending)

    return _report_and_talk(settings, with_workspace(settings, continue_dialogue), wanted)


def _report_and_talk(settings: Settings, run: RunId, wanted: OutputOptions) -> int:
    """Research what was agreed; then each further line is a follow-up question on its evidence."""
    from corrobora.faces.cli.run import conduct_run, resume_run  # noqa: PLC0415 - `--help` must not load the engine

    code = resume_run(settings, run, None, wanted)
    answers = replace(wanted, target=None, artifacts=None)
    while code == 0:
        if is_terminal(sys.stdin):
            write_stderr("Ask a follow-up question on this report. (Ctrl-D or /quit leaves)")
        said = sys.stdin.readline()
        if not said.strip() or _leaves(said):
            break
        if is_small_talk(said) or _refuse_command(said):
            continue
        asked = parse_question(said).text

        async def answer_question(workspace: Workspace, asked: str = asked) -> int:
            from corrobora.app.followups import submit_follow_up  # noqa: PLC0415 - as above

            return await conduct_run(workspace, await submit_follow_up(workspace, run, asked), answers)

        code = with_workspace(settings, answer_question)
    return code


def _leaves(line: str) -> bool:
    """True for the end of the input and for the words that end a conversation on a terminal."""
    return not line or line.strip().lower() in ("/quit", "/exit", "/q", "quit", "exit")


def _refuse_command(line: str) -> bool:
    """Say that there is no such command, for a line that is nothing but one; it is not part of the question."""
    found = re.fullmatch(r"/[a-z]+", line.strip())
    if found:
        write_stderr(f"  There is no command {found[0]}. /quit leaves; every other line is read by the manager.")
    return found is not None


def _manage_dialogues(settings: Settings, forget: str | None) -> int:
    async def list_or_remove(workspace: Workspace) -> Sequence[StoredDialogue]:
        if forget is None:
            return await workspace.dialogues.list()
        if not await workspace.dialogues.remove(forget):
            raise UserError(
                "dialogue_unknown", f"There is no dialogue {forget[:80]}.", next_step="corrobora chat --list"
            )
        write_stderr(f"removed {forget}")
        return ()

    from corrobora.app.dialogues import first_message  # noqa: PLC0415 - `--help` must not load the engine

    for each in with_workspace(settings, list_or_remove):
        state = f"run {each.run}" if each.run else "open"
        click.echo(f"{each.id}  {each.updated_at}  {state}  {one_line(first_message(each), 80)}")
    return 0


async def _talk_until_authorized(manager: DialogueManager, first: str) -> RunId:
    """Listen and answer until the person authorizes. Raises `NeedsHuman` at the end of the input."""
    said = first
    if not said and is_terminal(sys.stdin):
        write_stderr("What would you like to find out? (Ctrl-D or /quit leaves)")
    while manager.run is None:
        if not said:
            line = await asyncio.to_thread(sys.stdin.readline)
            if _leaves(line):
                raise NeedsHuman(
                    "plan_not_authorized",
                    "The dialogue ended before the research was authorized.",
                    next_step=f'Say "{manager.dialogue.phrase}" once the manager agrees: '
                    f"corrobora chat --resume {manager.id}",
                )
            said = line.strip()
            if not said or _refuse_command(said):
                said = ""
                continue
        for text in (await manager.say(said)).splitlines():
            write_stderr(f"  {sanitize_text(text)}")
        said = ""
    return manager.run


_MAX_THREAD_BYTES = 1_000_000


@click.command(cls=GroupedCommand, example="corrobora investigate thread.toml -l ./papers")
@click.argument("thread", type=FILE_PATH, metavar="THREAD.toml")
@setting_options(*NEW_RUN, profile="triplet")
@model_option
@fields_option
@add_output_options
def investigate(**flags: Any) -> int:
    """Investigate one given thread: its sub-questions, subjects, brief, round budget and artifact folder.

    A report of each round and the completion report of the thread are written to `artifact_dir` of the file as soon as
    they are ready. The command never asks a person.
    """
    settings = open_settings(flags["config_file"], run_settings(flags))
    from corrobora.faces.cli.run import start_run  # noqa: PLC0415 - `--help` must not load the engine

    return start_run(settings, thread_request(flags, settings), output_options(flags, settings))


def thread_request(flags: Flags, settings: Settings) -> Request:
    """Return the request of a thread file: its text is stored with the run, so that any worker can take it up."""
    from corrobora.engine.planning import parse_thread_file  # noqa: PLC0415 - the engine, only where a thread is given

    text = read_small_file(flags["thread"], limit=_MAX_THREAD_BYTES, what="The thread file")
    given = parse_thread_file(text)
    pages = tuple(source for source in given.sources if "://" in source)
    folder = (flags["thread"].parent / Path(given.artifact_dir).expanduser()).absolute() if given.artifact_dir else ""
    return build_request(
        settings,
        Question(given.brief.question),
        fields=parse_fields(flags["fields"]),
        sources=pages,
        artifact_dir=str(folder),
        model_required=bool(flags["model"]),
        authorized="policy",
        thread_file=text,
    )


DEMO_QUESTION = (
    "How did NIST guidance on password rotation, composition rules and length change "
    "between SP 800-63-3 and the draft of SP 800-63-4?"
)


_ELSEWHERE = ("libraries", "providers", "offline", "refresh", "allow_egress", "show_queries")  # not in the demo


@click.command(cls=GroupedCommand, example="corrobora demo -o report.md")
@setting_options(*(each for each in NEW_RUN if each not in _ELSEWHERE))
@model_option
@fields_option
@no_input_option
@add_output_options
def demo(**flags: Any) -> int:
    """Research a question over the documents that ship with the package."""
    settings = open_settings(flags["config_file"], run_settings(flags))
    request = build_request(
        replace(settings, libraries=(DEMO,), providers=()),
        parse_question(DEMO_QUESTION),
        fields=parse_fields(flags["fields"]),
        model_required=bool(flags["model"]),
    )
    from corrobora.faces.cli.run import start_run  # noqa: PLC0415 - `--help` must not load the engine

    return start_run(settings, request, output_options(flags, settings))
