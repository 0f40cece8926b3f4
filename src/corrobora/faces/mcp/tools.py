"""The tools: what a model may call. Each answers at once or within thirty seconds; a run is a handle, not a call.

Knows the names, arguments and descriptions. A client can set neither commands, addresses, keys nor paths.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, ParamSpec

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from corrobora.app import Workspace
from corrobora.app.followups import read_outline
from corrobora.app.libraries import list_libraries, open_library, open_run_library
from corrobora.app.verification import verify_report
from corrobora.domain.errors import CorroboraError, UserError
from corrobora.domain.run import RunRow
from corrobora.faces.cli.screen import one_line
from corrobora.faces.cli.verify import list_findings, summarize_recheck
from corrobora.faces.mcp.resources import (
    MAX_CHARS,
    NOTICE,
    REPORT_VIEW,
    clean_values,
    describe_passage,
    describe_report,
    describe_run,
    dump_json,
    read_report_page,
)
from corrobora.faces.refusals import describe_fault, explain_error
from corrobora.faces.request import parse_question
from corrobora.faces.web import service, stored_runs
from corrobora.faces.web.new_run import NewRun
from corrobora.faces.web.service import answer_run, look_at_run
from corrobora.reporting.run_comparison import dump_comparison
from corrobora.text.tokens import sanitize_text

P = ParamSpec("P")
MAX_WAIT_SECONDS = 25.0
MAX_REPORT_CHARS = 1_000_000
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_STARTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)

QuestionText = Annotated[str, Field(description="The question, in whole sentences.", max_length=20_000)]
RunName = Annotated[str, Field(description='Id of a run, the unique start of one, or "last".', max_length=64)]
Minutes = Annotated[
    float | Literal["unlimited"] | None, Field(description="Time for the run in minutes. Default: the profile's.")
]


def make_result(value: dict[str, Any], *, meta: dict[str, Any] | None = None) -> CallToolResult:
    """Return JSON values as the result of a tool: structured, and the same as one text for older clients."""
    fields = clean_values(value)
    return CallToolResult(
        content=[TextContent(type="text", text=dump_json(fields))], structured_content=fields, _meta=meta
    )


def explain_errors(
    work: Callable[P, Awaitable[CallToolResult]],
) -> Callable[P, Awaitable[CallToolResult]]:
    """Return an expected error as the result of a tool: its code, what happened and the next step."""

    @functools.wraps(work)
    async def run_tool(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            return await work(*args, **kwargs)
        except (CorroboraError, ValidationError) as error:
            return refuse_call(error)

    return run_tool


def refuse_call(error: CorroboraError | ValidationError) -> CallToolResult:
    """Return an expected error, or arguments of the wrong shape, as the result of a tool."""
    if isinstance(error, CorroboraError):
        said = f"{error.code}: {explain_error(error, 'tool')}"
    else:
        where, fault = describe_fault(error.errors())
        said = f"request_invalid: {where}: {fault}."
    return CallToolResult(content=[TextContent(type="text", text=one_line(said, 1_000))], is_error=True)


def add_tools(server: MCPServer[Any], workspace: Workspace) -> None:
    """Add the tools to a server, and the documents that one of them finds."""
    for add in (_add_run_tools, _add_follow_up, _add_edits, _add_control_tools, _add_evidence_tools):
        add(server, workspace)
    _add_search_pair(server, workspace)
    _add_documents(server, workspace)


def _add_run_tools(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.tool(annotations=_STARTS)
    @explain_errors
    async def research(
        question: QuestionText,
        profile: Annotated[str, Field(description="How to research; default: the operator's.", max_length=64)] = "",
        minutes: Minutes = None,
        deep: Annotated[bool, Field(description="Research more rounds.")] = False,  # noqa: FBT002 - by name
        libraries: Annotated[list[str] | None, Field(description="Stored libraries to search.", max_length=50)] = None,
    ) -> CallToolResult:
        """Start deep research and return its run_id within a second; then call status until it is done."""
        wanted = NewRun(question=question, profile=profile or None, libraries=libraries, time=minutes, deep=deep)
        return await _tell_run(workspace, await service.start_run(workspace, wanted))

    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def status(
        run_id: RunName,
        ctx: Context[Any, Any],
        cursor: Annotated[int, Field(description="From the last status; 0 for all events.", ge=0)] = 0,
        wait_seconds: Annotated[float, Field(description="Wait for news so long.", ge=0, le=MAX_WAIT_SECONDS)] = 20.0,
    ) -> CallToolResult:
        """Return the status of a run and what happened after the cursor; wait for news for at most 25 seconds."""
        found = await describe_run(
            workspace, await look_at_run(workspace, run_id, after=cursor, wait_seconds=wait_seconds)
        )
        for number, line in enumerate(found["events"], start=1):
            await ctx.report_progress(cursor + number, message=sanitize_text(line))
        return make_result(found)

    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def runs(limit: Annotated[int, Field(ge=1, le=100)] = 20) -> CallToolResult:
        """List the newest runs with their questions and how they ended."""
        rows = await workspace.runs.list(limit=limit)
        found = [
            {"run_id": row.id, "created_at": row.created_at, "status": row.status.value, "outcome": row.outcome}
            | {"question": one_line(row.request.question, 300)}
            | ({"relation": row.request.relation, "previous": row.request.previous} if row.request.relation else {})
            for row in rows
        ]
        return make_result({"runs": found})


def _add_follow_up(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.tool(annotations=_STARTS)
    @explain_errors
    async def ask(
        run_id: RunName,
        question: QuestionText,
        search: Annotated[bool, Field(description="False: read only what the run has stored.")] = True,  # noqa: FBT002 - by name
    ) -> CallToolResult:
        """Ask a follow-up question on the evidence of a run that has a report; return the run_id of the answer.

        What the run has stored is read first; if it does not answer, its libraries and providers are searched. Then
        call status and report with the new run_id: `from_previous` are the citations that the earlier run had read.
        """
        return await _tell_run(workspace, await stored_runs.ask_run(workspace, run_id, question, search=search))

    @server.tool(annotations=_STARTS)
    @explain_errors
    async def update(run_id: RunName) -> CallToolResult:
        """Research the question of a run again; return the run_id. When it is done, compare tells what changed."""
        return await _tell_run(workspace, await stored_runs.update_run(workspace, run_id))

    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def compare(
        run_id: RunName,
        before: Annotated[str, Field(description="The earlier run; default: the one it follows.", max_length=64)] = "",
    ) -> CallToolResult:
        """Tell what changed from an earlier run: statements, answers, sources, contradictions and gaps."""
        return make_result(dump_comparison(await stored_runs.compare_run(workspace, run_id, before)))


def _add_edits(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def outline(run_id: RunName) -> CallToolResult:
        """List the sections and sentences of a report, with the ids by which edit names them."""
        return make_result((await read_outline(workspace, run_id)).dump_outline())

    @server.tool(annotations=_STARTS)
    @explain_errors
    async def edit(
        run_id: RunName,
        edits: Annotated[list[stored_runs.EditInfo] | None, Field(description="By the ids.", max_length=200)] = None,
        feedback: Annotated[str, Field(description="Words of the person, for a model to read.", max_length=4_000)] = "",
        version: Annotated[int | None, Field(description="Restore this earlier version.", ge=1, le=10_000)] = None,
    ) -> CallToolResult:
        """Propose edits of a report; return the run_id of an edit that waits until the person accepts its changes."""
        wanted = stored_runs.request_edit(edits or (), feedback)
        return await _tell_run(workspace, await stored_runs.edit_run(workspace, run_id, wanted, version=version))

    @server.tool(annotations=_CHANGES)
    @explain_errors
    async def accept(
        run_id: RunName,
        changes: Annotated[str, Field(description="all, none, or numbers as 1,3, as the person said.", max_length=400)],
    ) -> CallToolResult:
        """Make the version of a report with the changes of a waiting edit that the person accepts. Do not choose."""
        return await _tell_run(workspace, await stored_runs.accept_edit(workspace, run_id, changes))


def _add_control_tools(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.tool(annotations=_CHANGES)
    @explain_errors
    async def answer(
        run_id: RunName,
        text: Annotated[str, Field(description="The words of the person, unchanged.", max_length=2_000)],
    ) -> CallToolResult:
        """Answer a run that waits: with the exact words that authorize its plan, or a hint for its next round.

        Only pass on words that the person typed. Do not authorize a plan yourself.
        """
        return await _tell_run(workspace, await answer_run(workspace, run_id, text))

    @server.tool(annotations=_CHANGES)
    @explain_errors
    async def resume(run_id: RunName) -> CallToolResult:
        """Go on with a run that was interrupted, failed or cancelled; nothing that was answered is asked again."""
        return await _tell_run(workspace, await service.resume(workspace, run_id))

    @server.tool(annotations=_ENDS)
    @explain_errors
    async def cancel(
        run_id: Annotated[str, Field(description="The whole id of a run.", max_length=64)],
    ) -> CallToolResult:
        """Cancel a run. What it has found stays stored, and resume goes on with it."""
        return await _tell_run(workspace, await service.cancel(workspace, run_id), wait_seconds=5.0)


async def _tell_run(workspace: Workspace, row: RunRow, *, wait_seconds: float = 0.0) -> CallToolResult:
    view = await look_at_run(workspace, row.id, wait_seconds=wait_seconds)
    return make_result(await describe_run(workspace, view))


def _add_evidence_tools(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.tool(annotations=_READ_ONLY, meta={"ui": {"resourceUri": REPORT_VIEW}})
    @explain_errors
    async def report(
        run_id: RunName,
        ctx: Context[Any, Any],
        offset: Annotated[int, Field(description="next_offset of the part before.", ge=0)] = 0,
    ) -> CallToolResult:
        """Return the report of a run in parts, with its citations: number, quotes, address, passage."""
        row = await service.read_run(workspace, run_id)
        description = await describe_report(workspace, row, offset=offset)
        return make_result(description, meta=await read_report_page(workspace, row.id, ctx))

    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def source(
        run_id: RunName,
        passage: Annotated[str, Field(description="S12:C345 as a report cites it, or S12.", max_length=40)],
        neighbours: Annotated[int, Field(description="Passages before and after.", ge=0, le=5)] = 1,
    ) -> CallToolResult:
        """Return a cited passage with its neighbours, as it was stored when the run read it."""
        row = await service.read_run(workspace, run_id)
        library = open_run_library(workspace, row)
        return make_result(await describe_passage(workspace, library, passage, neighbours=neighbours))

    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def verify(
        report: Annotated[
            str, Field(description="Text of a report: Markdown, HTML or JSON.", max_length=MAX_REPORT_CHARS)
        ],
    ) -> CallToolResult:
        """Check a report against its seal and the stored sources: which cited sentences they support and which not."""
        if not report.strip():
            raise UserError("report_empty", "There is no report to check.", next_step="Pass the text of the file.")
        result = await verify_report(workspace, report)
        found = list_findings(result)
        checked: Any = found.pop("statements_checked")
        failing = [each for each in checked if not each["carried"]]
        return make_result(summarize_recheck(result) | found | {"statements_that_fail": failing[:100]})


async def _list_searched(workspace: Workspace) -> Sequence[str]:
    """Return the libraries of the settings, without any all that are stored."""
    own = workspace.settings.libraries
    stored = [each.name for each in await list_libraries(workspace)]
    return [name for name in stored if name in own] or stored


def _add_search_pair(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def search(
        query: Annotated[str, Field(description="What to look for, in words.", max_length=2_000)],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> CallToolResult:
        """Search the stored libraries and return passages; fetch returns the text of one."""
        library = open_library(workspace, await _list_searched(workspace))
        hits = await library.hybrid_search(parse_question(query, least=1).text, limit=limit)
        rows = [
            {
                "id": f"{hit.source}:{hit.passage}",
                "title": one_line(hit.title, 300),
                "url": _link(hit.url, f"{hit.source}"),
                "text": one_line(hit.snippet, 500),
            }
            for hit in hits
        ]
        return make_result({"results": rows})

    @server.tool(annotations=_READ_ONLY)
    @explain_errors
    async def fetch(id: Annotated[str, Field(description="Id of a search result.", max_length=40)]) -> CallToolResult:  # noqa: A002 - the shape that chat products expect
        """Return the text of a document that search found, from the passage on if the id names one."""
        library = open_library(workspace, await _list_searched(workspace))
        whole = await describe_passage(workspace, library, id, neighbours=0)
        source, text = await library.document(whole["source"])
        passages = await library.passages([each["passage"].split(":")[1] for each in whole.get("passages", ())])
        start = passages[0].start if passages else 0
        part = text[start : start + MAX_CHARS]
        metadata = {
            "published": source.published,
            "sha256": source.snapshot,
            "start": str(start),
            "truncated": "yes" if start + len(part) < len(text) else "no",
            "notice": NOTICE,
        }
        document = {"id": id, "title": whole["title"], "text": part, "url": _link(source.url, source.id)}
        return make_result(document | {"metadata": metadata})


def _add_documents(server: MCPServer[Any], workspace: Workspace) -> None:
    @server.resource(
        "corrobora://sources/{source}",
        name="document",
        title="A document that search found",
        mime_type="application/json",
    )
    async def read_document(source: str) -> str:
        try:
            library = open_library(workspace, await _list_searched(workspace))
            return dump_json(await describe_passage(workspace, library, source))
        except CorroboraError as error:
            raise ResourceNotFoundError(explain_error(error, "tool")) from error


def _link(url: str, source: str) -> str:
    """Return the address of a page of the web; a document of this machine has one of ours that names no path."""
    web = url.startswith(("http://", "https://"))
    return one_line(url, 2_000) if web else f"corrobora://sources/{source}"
