"""MCP after a report: update, compare and edit, driven by the official client; arguments that no tool reads."""

from __future__ import annotations

import re
from pathlib import Path

from tests.paths.mcp_client import call, follow, read_text
from tests.paths.starts import CLEAR
from tests.paths.test_mcp import open_here


async def test_a_report_is_updated_compared_and_edited_by_what_the_person_accepts(
    filled_url: str, tmp_path: Path
) -> None:
    async with open_here(filled_url, tmp_path) as (client, _):
        run = (await call(client, "research", question=CLEAR, libraries=["docs"]))["run_id"]
        await follow(client, run)
        again = (await call(client, "update", run_id=run))["run_id"]
        assert (await follow(client, again))[0]["status"] == "done"
        told = await call(client, "compare", run_id=again)
        assert (told["before"], told["after"], told["has_news"]) == (run, again, False)
        assert (await call(client, "compare", run_id=run, before=again))["after"] == run
        named = (await call(client, "outline", run_id=run))["sentences"][0]
        change = {"action": "drop", "target": named["id"]}
        edited = (await call(client, "edit", run_id=run, edits=[change]))["run_id"]
        state, _ = await follow(client, edited)
        assert (state["status"], state["changes"][0]["edit"]["target"]) == ("paused", named["id"])
        assert "call accept" in state["next_step"]
        wrong = await client.call_tool("accept", {"run_id": edited, "changes": "7"})
        assert (wrong.is_error, "7" in read_text(wrong)) == (True, True)
        await call(client, "accept", run_id=edited, changes="all with losses")
        assert (await follow(client, edited, state["cursor"]))[0]["status"] == "done"
        left = [each["text"] for each in (await call(client, "outline", run_id=edited))["sentences"]]
        assert named["text"] not in left
        for tool, more, reason in (
            ("compare", {}, "compare_one"),
            ("edit", {}, "Name `edits`"),
            ("edit", {"version": 9}, "There is no version 9. Name an earlier one."),
            ("edit", {"edits": [{"action": "move", "target": named["id"]}]}, "does not say behind which"),
            ("edit", {"edits": [change | {"why": "so"}]}, "request_invalid: edits.0.why: there is no such field."),
            ("edit", {"feedback": "Make it shorter."}, "edit_no_model"),
            ("accept", {"changes": "all"}, "is not an edit that waits for a reader. Call status."),
        ):
            result = await client.call_tool(tool, {"run_id": run, **more})
            assert (result.is_error, reason in read_text(result)) == (True, True), read_text(result)
            assert not re.search(r"corrobora \w|--\w", read_text(result)), read_text(result)


async def test_an_argument_that_no_tool_reads_is_refused_by_name(filled_url: str, tmp_path: Path) -> None:
    """A misspelt limit would be a limit that nobody keeps; the schemas say so as well."""
    async with open_here(filled_url, tmp_path, work=False) as (client, _):
        tools = (await client.list_tools()).tools
        assert all(each.input_schema["additionalProperties"] is False for each in tools)
        refused = await client.call_tool("research", {"question": CLEAR, "libraries": ["docs"], "max_minutes": 1})
        assert refused.is_error
        assert read_text(refused) == (
            "request_invalid: research takes no argument 'max_minutes'. "
            "It takes: question, profile, minutes, deep, libraries."
        )
        for each in tools:
            answer = await client.call_tool(each.name, {"__proto__\x1b[31m": 1})
            assert answer.is_error, each.name
            assert "\x1b" not in read_text(answer)
