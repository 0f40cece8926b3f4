"""A run on this terminal, from its start to its exit code: events, questions, Ctrl-C, the report and the closing lines.

Knows the order of these steps, stdout, `-o` and `--artifacts`. Does not know the method, which `corrobora.app` runs, or
how a display draws.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrobora.app.runs import (
    authorize_run,
    finish_early,
    follow_events,
    pass_pause,
    pause_after,
    read_report_json,
    reopen_run,
    resolve_profile,
    rewind_run,
    run_folder,
    submit_run,
)
from corrobora.config import Settings
from corrobora.domain.errors import JournalError, NoEvidence
from corrobora.domain.report import Outcome
from corrobora.domain.run import Event, EventType, Request, RunId, RunRow, RunStatus, Stage
from corrobora.faces.cli import Exit, print_notice
from corrobora.faces.cli.display import Display, choose_display
from corrobora.faces.cli.library import resolve_libraries
from corrobora.faces.cli.options import print_text, with_workspace
from corrobora.faces.cli.report import (
    OutputTarget,
    RunExit,
    copy_files,
    describe_resumption,
    has_body,
    low_score_exit,
    print_report,
    read_report_texts,
    run_exit,
    run_taken_error,
)
from corrobora.faces.cli.screen import ask_authorization, is_terminal, one_line, plan_lines, write_stderr
from corrobora.faces.event_text import count_noun, estimate_text, object_field
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.text.phrases import describe_code, describe_stop

if TYPE_CHECKING:
    from corrobora.app import Workspace

_VERIFICATION = ("verify", "verification")  # names of the stage in which a judge gives the score
_POLL_SECONDS = 0.05  # between looks at whether the last events were shown


@dataclass(slots=True)
class TerminalRun:
    """One run on this terminal. `ask` is given the event of the plan and returns the words of the person.

    The first Ctrl-C ends the research and writes the report; the second leaves at once, and the run can be resumed.
    """

    workspace: Workspace
    run: RunId
    display: Display
    ask: Callable[[Event | None], str] | None = None
    interrupts: int = field(default=0, init=False)
    terminated: bool = field(default=False, init=False)
    plan: Event | None = field(default=None, init=False)
    _work: asyncio.Task[object] | None = field(default=None, init=False)
    _seen: int = field(default=0, init=False)
    _pending: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]], init=False)

    async def run_to_end(self) -> RunStatus:
        """Work until the run ends, waits for a person or is left; return its status."""
        while True:
            with self._handle_signals():
                await self._run_attempt()
            status = (await self.workspace.runs.get(self.run)).status
            if status is not RunStatus.AWAITING or self.ask is None or self.interrupts:
                return status
            words = self.ask(self.plan)  # blocks on purpose: nothing else runs, and Ctrl-C must reach the prompt
            if not words:
                return status
            await authorize_run(self.workspace, self.run, words)

    def exit_code(self) -> int | None:
        """Return the exit code of an interrupted or terminated command, None if it was neither."""
        if self.terminated:
            return Exit.TERMINATED
        return Exit.INTERRUPTED if self.interrupts else None

    @property
    def _is_leaving(self) -> bool:
        """True after a second Ctrl-C or a signal to end: the work is cancelled without waiting for anything."""
        return self.terminated or self.interrupts > 1

    async def _run_attempt(self) -> None:
        """Make one attempt and show its events as they come."""
        self._work = asyncio.create_task(self._run_here())
        showing = asyncio.create_task(self._show_events())
        try:
            await self._work
        except asyncio.CancelledError:
            if not self._is_leaving:
                raise
        finally:
            await self._await_last_event(showing)
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing

    async def _await_last_event(self, showing: asyncio.Task[None]) -> None:
        """Wait until the last stored event has been shown, unless the person leaves at once."""
        from corrobora.storage.journal.events import last_event_number  # noqa: PLC0415

        if self._is_leaving:
            return
        with contextlib.suppress(JournalError):  # the store is down: nothing more can be shown
            last = await last_event_number(self.workspace.database, self.run)
            while self._seen < last and not (self._is_leaving or showing.done()):
                await asyncio.wait([showing], timeout=_POLL_SECONDS)

    async def _run_here(self) -> None:
        from corrobora.app.attempts import run_here  # noqa: PLC0415

        await run_here(self.workspace, self.run)

    async def _show_events(self) -> None:
        while True:
            with contextlib.suppress(JournalError):  # the store is down: shown when it is back
                async for event in follow_events(self.workspace, self.run, after=self._seen):
                    self._seen = max(self._seen, event.seq)
                    if event.type is EventType.PLAN_PROPOSED:
                        self.plan = event
                    self.display.show(event)
                return
            await asyncio.sleep(_POLL_SECONDS)

    @contextlib.contextmanager
    def _handle_signals(self) -> Generator[None]:
        """Handle SIGINT, SIGTERM and SIGHUP while the run works; where a platform cannot, Python handles them."""
        loop = asyncio.get_running_loop()
        handlers: tuple[tuple[str, Callable[[], None]], ...] = (
            ("SIGINT", self._on_interrupt),
            ("SIGTERM", self._on_terminate),
            ("SIGHUP", self._on_terminate),
        )
        held: list[int] = []
        for name, handler in handlers:
            number = getattr(signal, name, None)
            with contextlib.suppress(RuntimeError, ValueError):
                if number is not None:
                    loop.add_signal_handler(number, handler)
                    held.append(number)
        try:
            yield
        finally:
            for number in held:
                loop.remove_signal_handler(number)

    def _on_interrupt(self) -> None:
        self.interrupts += 1
        if self.interrupts == 1:
            self.display.note("Finishing: writing the report from what was gathered. Ctrl-C again leaves at once.")
            self._start_task(finish_early(self.workspace, self.run))
        elif self._work is not None:
            self._work.cancel()

    def _on_terminate(self) -> None:
        self.terminated = True
        if self._work is not None:
            self._work.cancel()

    def _start_task(self, work: Coroutine[object, object, None]) -> None:
        async def finish() -> None:
            with contextlib.suppress(JournalError):  # the store is down: what ends this run then tells so
                await work

        task = asyncio.create_task(finish())
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How a run is shown and delivered."""

    display: str = "auto"
    as_json: bool = False
    may_ask: bool = True
    target: OutputTarget | None = None
    artifacts: Path | None = None
    min_score: float | None = None
    strict: bool = False
    plan_only: bool = False
    until: str = ""  # pause after this stage, by the name that was asked for
    deliver_anyway: bool = False
    prints: bool = True  # the report, where it is not written to a file
    expected: str = ""  # an outcome that is no news: whoever started the run asks a person about it next
    targets: tuple[tuple[str, str], ...] = ()  # of a stored run: where it delivers to from now on


def start_run(settings: Settings, request: Request, wanted: OutputOptions) -> int:
    """Store a new run, work on it here, deliver it, return the exit code."""
    if request.models:
        from corrobora.app.models import ModelPool  # noqa: PLC0415 - the HTTP stack, only where a model is named

        ModelPool(settings).get_analyst(dict(request.models))  # reports an unknown provider or a missing key first

    async def conduct_new(workspace: Workspace) -> int:
        resolve_profile(workspace.settings, request)  # reports a wrong profile before any document is read
        spaces = await resolve_libraries(workspace, request.libraries, show=wanted.display not in ("none", "jsonl"))
        made = await submit_run(workspace, replace(request, libraries=spaces), deferred=False)
        return await conduct_run(workspace, made, wanted)

    return with_workspace(settings, conduct_new)


def resume_run(settings: Settings, given: str, stage: Stage | None, wanted: OutputOptions) -> int:
    """Go on with a stored run, or print its report again; with a stage, redo it from there (bad-input R11)."""

    async def conduct_stored(workspace: Workspace) -> int:
        run = await workspace.runs.find_id(given)
        row = await workspace.runs.get(run)
        again = stage or (Stage.DELIVER if wanted.targets and row.status is RunStatus.DONE else None)
        if wanted.targets:
            from corrobora.app.delivery import redirect_report  # noqa: PLC0415 - a list of runs needs no engine

            await redirect_report(workspace, row, wanted.targets)
        if again is not None:
            await rewind_run(workspace, run, again)
        elif row.status in (RunStatus.CANCELLED, RunStatus.FAILED):  # the disk or provider may work again
            await reopen_run(workspace, run)
        elif row.status.final:
            print_notice(f"The run {run} has ended ({describe_code(row.state)}); nothing was asked again.")
            return await _deliver_report(workspace, row, _open_display(wanted), wanted)
        steered = await pass_pause(workspace, run)
        said = f"Run {run}: {describe_resumption(row, again, steered=steered)}."
        return await conduct_run(workspace, run, wanted, said if row.epoch else "")  # else a dialogue begins here

    return with_workspace(settings, conduct_stored)


def _open_display(wanted: OutputOptions) -> Display:
    return choose_display(wanted.display, as_json=wanted.as_json)


async def conduct_run(workspace: Workspace, run: RunId, wanted: OutputOptions, notice: str = "") -> int:
    """Work on a stored run here until it ends or waits, deliver what it gave, and return the exit code.

    Raises `UserError` `run_busy` if another process has it, which then goes on as it was asked to.
    """
    display = _open_display(wanted)
    code: int = Exit.BUG
    took = await workspace.queue.submit(run, own=True)
    row = await workspace.runs.get(run)
    if not took:
        raise run_taken_error(row)
    await pause_after(workspace, run, wanted.until, deliver_anyway=wanted.deliver_anyway)
    if notice:
        print_notice(notice)
    phrase = resolve_profile(workspace.settings, row.request).phrase or "yes"
    asks = wanted.may_ask and not wanted.plan_only and is_terminal(sys.stdin) and is_terminal(sys.stderr)

    def ask_person(event: Event | None) -> str:
        display.pause()
        return ask_authorization(event, phrase)

    display.launch(run, str(run_folder(workspace, run).base))
    conduct = TerminalRun(workspace, run, display, ask_person if asks else None)
    try:
        await conduct.run_to_end()
        row = await workspace.runs.get(run)
        if wanted.plan_only and row.status is RunStatus.AWAITING:
            code = await _print_plan(workspace, row, conduct.plan, wanted)
        else:
            code = await _deliver_report(workspace, row, display, wanted, conduct)
    except OSError as error:  # such as a full disk: the same command would start a second run
        error.add_note(f"go on with: corrobora resume {run}")
        raise
    except JournalError as error:
        if error.code == "database_folder" or not error.code.startswith("database"):
            raise
        step = f"Nothing committed is lost. When it is back: corrobora resume {run}"
        away = JournalError(error.code, error.message, next_step=step)
        if (left := conduct.exit_code()) is None:
            raise away from error
        print_notice(str(away))
        code = left
    finally:
        display.close(code)
    return code


async def _print_plan(workspace: Workspace, row: RunRow, event: Event | None, wanted: OutputOptions) -> int:
    """Print the plan as the result of `--plan-only`: JSON for programs and files, indented lines for people."""
    plan: dict[str, object] = json.loads(await workspace.runs.read_text(row.id, "plan.json") or "{}")
    text = json.dumps(plan | _estimate_entry(event), indent=2)
    if event is not None and (estimate := estimate_text(event.data)):
        print_notice(f"Estimate: {estimate}.")
    if wanted.target is not None:
        wanted.target.write(dict.fromkeys(REPORT_FILES, text))
    elif wanted.as_json or not is_terminal(sys.stdout):
        print_text(text)
    else:
        print_text("\n".join(plan_lines(event.data if event else {})))
    print_notice(f"The plan waits. Run it: corrobora authorize {row.id}")
    return Exit.DONE


async def _deliver_report(
    workspace: Workspace,
    row: RunRow,
    display: Display,
    wanted: OutputOptions,
    conduct: TerminalRun | None = None,
) -> int:
    """Print or write the report, print where its files are, and return the exit code."""
    try:
        report: Mapping[str, Any] = await read_report_json(workspace, row.id)
    except NoEvidence:
        report = {}
    if wanted.artifacts is not None:
        await copy_files(workspace, row.id, wanted.artifacts)
    profile = resolve_profile(workspace.settings, row.request)
    threshold = profile.review.min_score if profile.review.judge else None
    threshold = threshold if wanted.min_score is None else wanted.min_score  # also of a run that goes on
    end = run_exit(row, report, min_score=threshold, strict=wanted.strict or row.request.strict)
    judged = row.outcome == "stage_reached" and wanted.until in _VERIFICATION  # but not delivered yet (ANGLES-3)
    score = (await workspace.runs.read_scores([row.id])).get(row.id)
    if judged or (end.code == Exit.DONE and has_body(report) and not report.get("verdict")):
        why = profile.review.explain_failure(score, wanted.min_score)
        end = low_score_exit(score, threshold) or (RunExit(Exit.BELOW_THRESHOLD, why) if why else end)
    display.pause()
    if row.status.final or report or wanted.as_json:
        await _write_report(workspace, row.id, report, wanted, _estimate_entry(conduct.plan if conduct else None))
    if wanted.display != "none":
        _print_closing_lines(workspace, row, report)
    interrupted = conduct.exit_code() if conduct else None
    if interrupted is None:
        if end.why and row.outcome != (wanted.expected or None):
            print_notice(end.why)
        return end.code
    if not row.status.final:
        why = " before anything was found that can be reported" if row.outcome == "finished_early" else ""
        print_notice(f"Interrupted{why}. Continue: corrobora resume {row.id}")
    else:
        which = "a partial" if row.outcome == Outcome.PARTIAL else "the"
        done = f"{which} report was written" if has_body(report) else "there is no report"
        print_notice(f"Interrupted: {done}.")
    return interrupted


def _estimate_entry(plan: Event | None) -> dict[str, object]:
    """Return the estimate that the event of the plan carries, for a JSON document."""
    return {"estimate": plan.data["estimate"]} if plan is not None and "estimate" in plan.data else {}


async def _write_report(
    workspace: Workspace, run: str, report: Mapping[str, Any], wanted: OutputOptions, estimate: Mapping[str, object]
) -> None:
    texts = await read_report_texts(workspace, run, tuple(wanted.target.files.values()) if wanted.target else ("md",))
    if wanted.target is not None and report.get("markdown"):
        for path in wanted.target.write(texts, run):
            write_stderr(f"written  {path}")
    if wanted.as_json:
        document = {"run_id": run, **estimate, **(report or {"outcome": None})}
        print_text(json.dumps(document, indent=2))
    elif wanted.prints and wanted.target is None and wanted.display != "jsonl" and report.get("markdown"):
        print_report(texts.get("md", str(report["markdown"])))


def _print_closing_lines(workspace: Workspace, row: RunRow, report: Mapping[str, Any]) -> None:
    """Print how the run ended and where its report, sources and journal are."""
    base = run_folder(workspace, row.id).base
    method = object_field(report, "methodology")
    if report:
        counts = [
            f"{count_noun(method, 'sources_read', 'source')} read, {method.get('sources_cited', 0)} cited",
            count_noun(method, "facts", "fact"),
            count_noun(method, "rounds", "round"),
            *((f"stopped: {describe_stop(report['stop'])}",) if report.get("stop") else ()),
            f"{row.elapsed_seconds:.1f} s",
        ]
        write_stderr(f"run      {one_line(' · '.join(counts))}")
        if report.get("markdown"):
            write_stderr(f"report   {base / 'report.md'}")
    if row.request.libraries:
        names = one_line(", ".join(row.request.libraries), 400)
        write_stderr(f"sources  libraries {names}: corrobora library list")
    write_stderr(f"journal  {workspace.place}: corrobora runs show {row.id}")
