"""The OpenAPI document, and whatever can be asked by it: no bug, no answer of a shape that it does not say."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

import httpx2
import hypothesis
import pytest
import schemathesis
from schemathesis import checks
from schemathesis.specs.openapi import checks as of_openapi
from tests.plugins.serving import Site

CHECKS = [
    checks.not_a_server_error,
    of_openapi.status_code_conformance,
    of_openapi.content_type_conformance,
    of_openapi.response_headers_conformance,
    of_openapi.response_schema_conformance,
    of_openapi.negative_data_rejection,
]
# The site runs in threads of this process: what they draw from `random` while a strategy draws is not the strategy's.
shares_random = pytest.mark.filterwarnings("ignore:Do not use the `random` module")
LIVE = "/api/v1/runs/{run}/events"  # does not end while a run goes on


def test_the_document_is_openapi_3_1_and_names_problems_for_every_operation(site: Site) -> None:
    document = httpx2.get(f"{site.url}/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) > 25
    for path, verbs in document["paths"].items():
        assert path.startswith(("/api/v1/", "/healthz", "/readyz", "/metrics"))
        for operation in verbs.values():
            assert operation["description"], path
            assert "application/problem+json" in operation["responses"]["422"]["content"]


def ask_everything(site: Site, examples: int) -> Counter[int]:
    """Ask every operation about `examples` questions; return how many answers had which status."""
    schema: Any = schemathesis.openapi.from_url(f"{site.url}/api/v1/openapi.json")
    answered: Counter[int] = Counter()
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in sorted(operations, key=lambda each: each.method.upper() != "GET"):  # what removes comes later
        hypothesis.seed(7)(ask_operation(operation, site, examples, answered))()
    return answered


def ask_operation(operation: Any, site: Site, examples: int, answered: Counter[int]) -> Any:
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),  # pyright: ignore[reportArgumentType]
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        if operation.method.upper() == "DELETE" and case.path_parameters.get("run") == site.run:
            return
        if operation.path == LIVE:
            case.query = {**(case.query or {}), "live": "false"}
        elif case.path_parameters and "run" in case.path_parameters and len(answered) % 2:
            case.path_parameters["run"] = site.run
        response = case.call(timeout=120)
        answered[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    return ask


@shares_random
def test_no_request_finds_a_bug_or_an_answer_of_another_shape(doomed_site: Site) -> None:
    answered = ask_everything(doomed_site, 3)
    assert not [status for status in answered if status >= 500]
    assert answered[200] > 10


@shares_random
@pytest.mark.slow
def test_five_thousand_requests_find_no_bug(doomed_site: Site) -> None:
    answered = ask_everything(doomed_site, int(os.environ.get("CORROBORA_SCHEMA_EXAMPLES", "160")))
    sys.stdout.write(f"\n{sum(answered.values())} requests: {dict(sorted(answered.items()))}\n")
    assert sum(answered.values()) >= 5_000
    assert not [status for status in answered if status >= 500]
