"""What a browser gets in place of a page that needs a login. Walks through it: tests/browser/test_login.py."""

from __future__ import annotations

import pytest
from starlette.responses import Response

from corrobora.faces.refusals import make_problem
from corrobora.faces.web.pages.login import refuse_browser


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("path", "query", "location"),
    [
        ("/", b"", "/login"),
        ("/runs", b"q=a%26b&status=done", "/login?back=%2Fruns%3Fq%3Da%2526b%26status%3Ddone"),
        ("/runs/r_x/report", b"", "/login?back=%2Fruns%2Fr_x%2Freport"),
    ],
)
async def test_a_page_that_needs_a_login_leads_to_it_and_is_remembered(
    method: str, path: str, query: bytes, location: str
) -> None:
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": [(b"host", b"h")]}
    problem = make_problem("token_missing", "This server needs its token.", 401)

    async def receive() -> dict[str, object]:
        raise AssertionError("nothing is read of such a request")

    answer = await refuse_browser(scope, receive, problem)
    assert isinstance(answer, Response)
    assert (answer.status_code, answer.headers["location"]) == (303, location)
