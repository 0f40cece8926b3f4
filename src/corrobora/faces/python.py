"""The Python API: research from a program, in one call or as a stream of events, and dialogues.

Knows settings and the workspace. Never prints or asks: a plan that needs a person raises `NeedsHuman`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from corrobora.app.runs import reopen_run, resolve_profile, submit_run
from corrobora.config import Settings, load_settings
from corrobora.config.settings import TIERS
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.evidence import Hit
from corrobora.domain.report import Report
from corrobora.domain.run import Event, Request, RunStatus
from corrobora.faces.request import Question, build_request, check_arguments, list_libraries
from corrobora.policies.intake import check_question

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.app.dialogues import DialogueManager
    from corrobora.faces.handle import RunHandle

log = logging.getLogger("corrobora")
P = ParamSpec("P")
T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end; where an event loop runs already, as in a notebook, on a loop in another thread.

    If the caller is interrupted while it waits, `work` is cancelled.
    """
    loop = None
    with contextlib.suppress(RuntimeError):  # left before the work begins, whose errors have nothing to do with it
        loop = asyncio.get_running_loop()
    if loop is None:
        return asyncio.run(work)
    cancel: list[Callable[[], object]] = []

    async def run_here() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="corrobora") as pool:
        try:
            return pool.submit(asyncio.run, run_here()).result()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # its loop is closed: it has ended by itself
                for each in cancel:
                    each()
            raise


def make_blocking(work: Callable[P, Coroutine[Any, Any, T]], name: str) -> Callable[P, T]:
    """Return the function `name` that runs `work` to its end, with its arguments and its documentation."""

    @functools.wraps(work)
    def block(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_blocking(work(*args, **kwargs))

    block.__name__ = block.__qualname__ = name
    return block


async def aresearch(  # noqa: PLR0913 - one keyword for each thing a caller may choose
    question: str,
    *,
    library: str | Path | Sequence[str | Path] = (),
    profile: str = "",
    model: str = "",
    authorized: bool | str = True,
    settings: Settings | None = None,
    **fields: bool | float | str,
) -> Report:
    """Research a question and return its report.

    `research` blocks until it is done, also inside a running event loop; `aresearch` is awaited.

    Args:
        question: at most 20,000 characters.
        library: names of stored libraries, or folders and files to read first. Default: those of the settings.
        profile: name of a profile, or a TOML file. Default: the one of the settings.
        model: "provider:model". Default: the models of the settings; without any, the extractive analyst.
        authorized: whether the caller authorizes what the run may cost. A profile that waits for a phrase, such as
            `tree`, takes only this phrase: `authorized="Authorized to execute"`, as a person typed it.
        settings: the result of `load_settings`, which is called by default.
        **fields: fields of the profile to override, such as `minutes=2` or `max_rounds=5`; and `language="de"`, the
            language of question, search and report, or a file of translations.

    Raises:
        UserError: the question or a setting cannot be used.
        NeedsHuman: the plan waits for a person. A limit of 0 dollars always raises it, because it makes only the plan.
        NoEvidence: the run ended without a report; the message says why.

    Example:
        >>> report = research("How long must a password be?", library="demo")  # doctest: +SKIP
        >>> print(report.markdown)  # doctest: +SKIP
    """
    asked = start(
        question, library=library, profile=profile, model=model, authorized=authorized, settings=settings, **fields
    )
    async with asked as run:
        return await run.report()


research = make_blocking(aresearch, "research")


@asynccontextmanager
async def start(  # noqa: PLR0913 - as `aresearch`
    question: str,
    *,
    library: str | Path | Sequence[str | Path] = (),
    profile: str = "",
    model: str = "",
    authorized: bool | str = True,
    settings: Settings | None = None,
    **fields: bool | float | str,
) -> AsyncGenerator[RunHandle]:
    """Start a run and give its handle; leaving before its end interrupts the run, and `open_run` goes on with it.

    Example:
        async with corrobora.start("How long must a password be?", library="demo") as run:
            print(run.id)
            async for event in run.events():
                print(event.type)
            report = await run.report()
    """
    from corrobora.app import Workspace  # noqa: PLC0415 - importing corrobora must stay cheap

    check_arguments(question=question, profile=profile, model=model, settings=settings, fields=fields)
    chosen = settings or load_settings()
    language = str(fields.pop("language", "")) or chosen.language
    async with Workspace.open(replace(chosen, language=language)) as workspace:
        asked = check_question(question)
        request = await _resolve_request(workspace, asked, library, profile, model=model, fields=fields)
        resolved = resolve_profile(workspace.settings, request)
        needs_phrase = resolved.authorize == "human" and resolved.phrase
        agreed = authorized == resolved.phrase if needs_phrase else bool(authorized)
        request = replace(request, authorized="policy" if agreed and workspace.settings.max_usd != 0 else "")
        run = await submit_run(workspace, request, deferred=False)
        async with _hold_run(workspace, run) as handle:
            await handle.resume()
            yield handle


@asynccontextmanager
async def open_run(run: str, *, settings: Settings | None = None) -> AsyncGenerator[RunHandle]:
    """Give the handle of a stored run, by its id or the unique start of one; `resume` goes on with it.

    Raises `UserError` `run_unknown`.
    """
    from corrobora.app import Workspace  # noqa: PLC0415 - as above

    check_arguments(run=run, settings=settings)
    async with (
        Workspace.open(settings or load_settings()) as workspace,
        _hold_run(workspace, await workspace.runs.find_id(run)) as handle,
    ):
        yield handle


@asynccontextmanager
async def _hold_run(workspace: Workspace, run: str) -> AsyncGenerator[RunHandle]:
    from corrobora.faces.handle import RunHandle  # noqa: PLC0415 - as above

    handle = RunHandle(workspace, run)
    try:
        yield handle
    finally:
        await handle.leave()


def ask(run: str | Report, question: str, *, search: bool = True, settings: Settings | None = None) -> Report:
    """Answer a follow-up question on the evidence of a stored run: its report, its id, the start of one, or `last`.

    Its facts and passages are read first; if they do not answer, its libraries and providers are searched, unless
    `search` is False. `Report.from_previous` has the numbers of the citations that stand in its sources.

    Raises:
        UserError: there is no such run, or the question cannot be used.
        NoEvidence: the run has no report, or nothing answers.
    """
    identity = run.run if isinstance(run, Report) else run
    check_arguments(run=identity, question=question, settings=settings)
    return run_blocking(_ask_run(identity, question, search=search, settings=settings))


async def _ask_run(run: str, question: str, *, search: bool, settings: Settings | None) -> Report:
    async with open_run(run, settings=settings) as handle:
        return await handle.ask(question, search=search)


def stream(  # noqa: PLR0913 - as `aresearch`
    question: str,
    *,
    library: str | Path | Sequence[str | Path] = (),
    profile: str = "",
    model: str = "",
    authorized: bool | str = True,
    settings: Settings | None = None,
    **fields: bool | float | str,
) -> AsyncGenerator[Event]:
    """Research a question and yield its events as they happen; the last one is `run.finished`.

    Raises:
        UserError, NeedsHuman: as `research`, after the events until then.
    """
    from corrobora.faces.handle import follow_run  # noqa: PLC0415 - as above

    asked = start(
        question, library=library, profile=profile, model=model, authorized=authorized, settings=settings, **fields
    )
    return follow_run(asked)


class Conversation:
    """A dialogue with the manager: nothing is planned before the person typed the exact phrase (TREE-5).

    Pass only text that the person typed to `say`, because it can authorize the research.
    """

    def __init__(self, workspace: Workspace, manager: DialogueManager) -> None:
        self._workspace = workspace
        self._manager = manager

    @property
    def id(self) -> str:
        """The id of the stored dialogue, for `chat(resume=...)`. It is stored from the first turn on."""
        return self._manager.id

    @property
    def turns(self) -> Sequence[str]:
        """The turns so far, "user: ..." and "manager: ..." alternating."""
        return self._manager.dialogue.turns

    @property
    def pending(self) -> str:
        """The last text of the person, if the process died before it was answered: `say` it again. Else ""."""
        return self._manager.pending

    @property
    def agreed(self) -> bool:
        """True while every query is feasible and the phrase is awaited."""
        return self._manager.agreed

    @property
    def authorized(self) -> bool:
        """True after the person authorized the research: `report` may be called."""
        return self._manager.run is not None

    async def say(self, text: str) -> str:
        """Give the manager a text of the person and return the reply."""
        return await self._manager.say(text)

    async def report(self) -> Report:
        """Research what was agreed and return the report; a run that has ended is not repeated.

        A failed or cancelled run is continued. Raises `NeedsHuman` if the research is not authorized yet.
        """
        from corrobora.app.attempts import run_here  # noqa: PLC0415
        from corrobora.faces.handle import load_final_report  # noqa: PLC0415

        run = self._manager.run
        if run is None:
            raise NeedsHuman(
                "plan_not_authorized",
                "The research is not authorized.",
                next_step=f'Say "{self._manager.dialogue.phrase}" once the manager agrees.',
            )
        row = await self._workspace.runs.get(run)
        if row.status in (RunStatus.CANCELLED, RunStatus.FAILED):
            await reopen_run(self._workspace, run)
        await run_here(self._workspace, run)
        return await load_final_report(self._workspace, run)


@asynccontextmanager
async def chat(
    *,
    library: str | Path | Sequence[str | Path] = (),
    profile: str = "",
    model: str = "",
    resume: str | None = None,
    settings: Settings | None = None,
    **fields: bool | float | str,
) -> AsyncGenerator[Conversation]:
    """Open a dialogue with the manager, which narrows or splits a question until it can be researched.

    Args:
        library: as for `research`.
        profile: as for `research`. Default: `tree`.
        model: as for `research`.
        resume: id of a stored dialogue to continue, or "" for the newest open one. Its library, profile, model and
            fields cannot be changed.
        settings: as for `research`.
        **fields: as for `research`.

    Raises:
        UserError: `dialogue_unknown`, or `resume_with_flags` if another argument is combined with `resume`.

    Example:
        async with corrobora.chat(library="demo") as manager:
            print(await manager.say("Tell me everything about passwords"))  # refuses, with reasons
            print(await manager.say("How long must a password be under SP 800-63B?"))
            await manager.say("Authorized to execute")
            print((await manager.report()).markdown)
    """
    from corrobora.app import Workspace  # noqa: PLC0415 - as above
    from corrobora.app.dialogues import open_dialogue  # noqa: PLC0415

    async with Workspace.open(settings or load_settings()) as workspace:
        if resume is None:
            request = await _resolve_request(workspace, "", library, profile or "tree", model=model, fields=fields)
            yield Conversation(workspace, open_dialogue(workspace, request))
            return
        given = {"library": library, "profile": profile, "model": model, **fields}
        if others := [name for name, value in given.items() if name in fields or value]:
            raise UserError(
                "resume_with_flags",
                f"resume continues a dialogue as it was begun; {others[0]} cannot be combined with it.",
                next_step="Leave it out, or begin a new dialogue without resume.",
            )
        stored = await workspace.dialogues.get(resume)
        yield Conversation(workspace, open_dialogue(workspace, stored.request, stored))


async def ahybrid_search(
    text: str, *, library: str | Path | Sequence[str | Path], limit: int = 10, settings: Settings | None = None
) -> Sequence[Hit]:
    """Search stored libraries by BM25, title links and boosts, and by vectors if there are any (ANGLES-13).

    `hybrid_search` blocks until it is done; `ahybrid_search` is awaited.

    Raises:
        UserError: `library_unknown`: a library does not exist.
    """
    from corrobora.app import Workspace  # noqa: PLC0415 - as above
    from corrobora.app.libraries import open_library, resolve_libraries  # noqa: PLC0415 - as above

    check_arguments(text=text, limit=limit, settings=settings)
    async with Workspace.open(settings or load_settings()) as workspace:
        opened = open_library(workspace, await resolve_libraries(workspace, list_libraries(library)))
        hits = await opened.hybrid_search(text, limit=limit)
        if opened.vector_problem:
            log.warning("%s", opened.vector_problem)
        return hits


hybrid_search = make_blocking(ahybrid_search, "hybrid_search")


async def _resolve_request(  # noqa: PLR0913 - the arguments of the public calls
    workspace: Workspace,
    question: str,
    library: str | Path | Sequence[str | Path],
    profile: str,
    *,
    model: str,
    fields: Mapping[str, bool | float | str],
) -> Request:
    """Build the request from the arguments, which take precedence over the settings, and read its libraries."""
    own = workspace.settings
    settings = replace(
        own,
        libraries=list_libraries(library) or own.libraries,
        providers=() if own.offline else own.providers,
        profile=str(profile) or own.profile,
        models=dict.fromkeys(TIERS, model) if model else own.models,
    )
    changes = tuple((name, json.dumps(value, ensure_ascii=False)) for name, value in fields.items())
    request = build_request(
        settings, Question(question), fields=changes, plan_only=own.max_usd == 0, model_required=bool(model)
    )
    from corrobora.app.libraries import resolve_libraries  # noqa: PLC0415 - as above

    resolve_profile(workspace.settings, request)  # reports a wrong profile before any document is read
    return replace(request, libraries=await resolve_libraries(workspace, request.libraries))
