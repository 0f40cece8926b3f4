"""Refusals in the words of each face; over the wire: tests/web/test_api_runs.py and tests/paths/test_mcp.py."""

from __future__ import annotations

from corrobora.domain.errors import UserError
from corrobora.faces.refusals import choose_next_step, explain_error


def test_a_face_is_told_what_can_be_done_there() -> None:
    error = UserError("run_unknown", "There is no run x.", next_step="See: corrobora runs list")
    assert choose_next_step(error, "api") == "List them: GET /api/v1/runs"
    assert explain_error(error, "tool") == "There is no run x. Call runs."
    assert explain_error(UserError("other", "No.", next_step="Wait."), "page") == "No. Wait."
    for typed in ("corrobora library add NAME PATH", "Such as: corrobora trust .", "Name one with --model."):
        assert explain_error(UserError("other", "No.", next_step=typed), "page") == "No."
