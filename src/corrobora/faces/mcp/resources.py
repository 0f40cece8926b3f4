"""Resources and prompts: reports and sources by their `corrobora://` addresses, and a view for clients that show pages.

Knows the addresses and the media types. The view is one page without a library: it shows the report of the last result
that its host passes on, and loads nothing.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from mcp.server.apps import APP_MIME_TYPE, Apps, ResourceCsp, client_supports_apps
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from corrobora.app import Workspace
from corrobora.app.libraries import open_library
from corrobora.domain.errors import CorroboraError
from corrobora.faces.mcp.views import describe_passage, dump_json
from corrobora.faces.refusals import explain_error
from corrobora.faces.web import service
from corrobora.reporting.report_format import REPORT_FILES

REPORT_VIEW = "ui://corrobora/report.html"
PAGE_KEY = "corrobora/report.html"  # of the result's metadata, which a host does not show to the model
_TYPES = {"md": "text/markdown", "html": "text/html", "json": "application/json"}


def make_apps() -> Apps:
    """Return the extension with the page that shows a report."""
    apps = Apps()
    page = resources.files("corrobora.faces.mcp").joinpath("report_view.html").read_text(encoding="utf-8")
    apps.add_html_resource(
        REPORT_VIEW,
        page,
        name="report",
        title="Report with its evidence",
        csp=ResourceCsp(connect_domains=[], resource_domains=[]),
        prefers_border=True,
    )
    return apps


async def read_report_page(workspace: Workspace, run: str, ctx: Context[Any, Any]) -> dict[str, Any] | None:
    """Return the report as one HTML page, for the view of a client that has one."""
    if not client_supports_apps(ctx):
        return None
    stored = await workspace.runs.read_artifact(run, REPORT_FILES["html"])
    return None if stored is None else {PAGE_KEY: stored.content.decode("utf-8", "replace")}


def add_resources(server: MCPServer[Any], workspace: Workspace) -> None:
    """Add the resources of runs to a server."""
    for form, media_type in _TYPES.items():
        _add_report(server, workspace, form, media_type)

    @server.resource(
        "ui://corrobora/runs/{run}/report.html", name="report_page", title="Report as one page", mime_type=APP_MIME_TYPE
    )
    async def read_page(run: str) -> str:
        return await _read_file(workspace, run, REPORT_FILES["html"])

    @server.resource(
        "corrobora://runs/{run}/sources/{passage}",
        name="source",
        title="A cited passage with its neighbours",
        mime_type="application/json",
    )
    async def read_source(run: str, passage: str) -> str:
        try:
            row = await service.read_run(workspace, run)
            library = open_library(workspace, (*row.request.libraries, f"run:{row.id}"))
            return dump_json(await describe_passage(library, passage))
        except CorroboraError as error:
            raise ResourceNotFoundError(explain_error(error, "tool")) from error


def _add_report(server: MCPServer[Any], workspace: Workspace, form: str, media_type: str) -> None:
    @server.resource(
        f"corrobora://runs/{{run}}/report.{form}",
        name=f"report_{form}",
        title=f"Report of a run ({form})",
        mime_type=media_type,
    )
    async def read_report(run: str) -> str:
        return await _read_file(workspace, run, REPORT_FILES[form])


async def _read_file(workspace: Workspace, run: str, name: str) -> str:
    try:
        stored = await service.read_file(workspace, run, name)
    except CorroboraError as error:
        raise ResourceNotFoundError(explain_error(error, "tool")) from error
    return stored.content.decode("utf-8", "replace")


_RESEARCH = """Research this question with Corrobora, so that every statement can be checked:

{question}

1. Call `research` with the question. It returns a run_id at once.
2. Call `status` with the run_id and the cursor until the run is done. If it waits for a plan to be authorized, show me
   the plan and its estimate, wait for my words, and pass exactly those to `answer`.
3. Call `report`, and answer from it alone. Keep its citation numbers. Say what it could not answer.
4. If I doubt a sentence, call `source` with the passage that it cites."""
_INVESTIGATE = """Investigate one thread of research with Corrobora, round by round: {question}

Call `research` with profile "triplet" and this question, follow it with `status`, and tell me after each round what is
new, what contradicts what, and which gaps are left. At the end call `report` and `verify` it."""


def add_prompts(server: MCPServer[Any]) -> None:
    """Add the prompts that a person chooses from a menu."""

    @server.prompt(name="research", title="Deep research you can check")
    def research(question: str) -> str:
        """Research a question and answer from the report."""
        return _RESEARCH.format(question=question)

    @server.prompt(name="research-investigate", title="Investigate one thread")
    def investigate(question: str) -> str:
        """Investigate one thread in rounds."""
        return _INVESTIGATE.format(question=question)
