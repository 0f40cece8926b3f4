"""Who outside this machine is sent what, from settings and request."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrobora.app.recipients import list_recipients
from corrobora.config import load_settings
from corrobora.domain.run import Request


def tell(folder: Path, request: Request, servers: dict[str, str] | None = None, **env: str) -> str:
    settings = load_settings({}, env=env, folder=folder, user_file=folder / "none.toml")
    return "\n".join(list_recipients(settings, request, servers or {}, request.providers))


def test_a_run_over_a_library_without_a_model_shares_nothing(tmp_path: Path) -> None:
    assert tell(tmp_path, Request("q", libraries=("papers",)), {"ollama:llama": "http://localhost:11434/v1"}) == ""


@pytest.mark.parametrize(
    ("libraries", "options", "told"),
    [
        (("papers",), (), "queries in words of the question, the plan, the web and the common language"),
        (("papers",), (("allow_egress", "yes"),), "queries, with words of private documents too (--allow-egress)"),
        (("demo",), (), "search provider exa (api.exa.ai) gets queries\n"),
    ],
)
def test_a_provider_gets_queries(tmp_path: Path, libraries: tuple[str, ...], options: object, told: str) -> None:
    request = Request("q", libraries=libraries, providers=("exa",), metadata=options)  # pyright: ignore[reportArgumentType]
    assert told in tell(tmp_path, request)


def test_stores_and_deliveries_elsewhere_are_named(tmp_path: Path) -> None:
    request = Request("q", libraries=("papers",), output=(("folder", "out"), ("email", "a@b.example")))
    told = tell(
        tmp_path, request, CORROBORA_FACTS_QDRANT_URL="https://facts.example", CORROBORA_SOURCES_READER="direct"
    )
    assert told.splitlines() == [
        "the store of facts at facts.example gets the facts of every run with their quotes",
        "the email delivery (a@b.example) gets the finished report with its quotes",
    ]
