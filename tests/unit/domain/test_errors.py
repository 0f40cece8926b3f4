"""The tree of errors: every class has the exit code and the HTTP status that its picture promises."""

from __future__ import annotations

import inspect
import re

import pytest

from corrobora.domain import errors
from corrobora.domain.errors import CorroboraError, LimitReached, NoEvidence, ProviderError, ReadError, Stale, UserError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import Usage
from corrobora.faces.cli import Exit

DRAWN = {
    name: (int(code), int(status))
    for name, code, status in re.findall(r"── (\w+) .*\(exit (\d+), (\d+)\)", errors.__doc__ or "")
}
CLASSES = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, CorroboraError)}


def test_the_picture_draws_every_class() -> None:
    assert set(DRAWN) == set(CLASSES) - {"CorroboraError"}


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_each_class_has_the_codes_of_the_picture(name: str) -> None:
    assert (CLASSES[name].exit_code, CLASSES[name].http_status) == DRAWN[name]
    assert CLASSES[name].exit_code in set(Exit)


def test_a_bug_has_exit_1_and_status_500() -> None:
    assert (CorroboraError.exit_code, CorroboraError.http_status) == (1, 500)


def test_the_message_ends_with_the_next_step_and_nothing_was_paid() -> None:
    error = NoEvidence("nothing_found", "Nothing was found.", next_step="Add a library.")
    assert str(error) == "Nothing was found. Add a library."
    assert (error.code, error.message, error.next_step) == ("nothing_found", "Nothing was found.", "Add a library.")
    assert str(NoEvidence("nothing_found", "Nothing was found.")) == "Nothing was found."
    assert error.usage == Usage()


@pytest.mark.parametrize("status", [None, 408, 409, 421, 425, 429, 499, 500, 502, 503, 529])
def test_broken_connections_limits_and_server_errors_may_be_tried_again(status: int | None) -> None:
    error = ProviderError.request_failed("exa", status=status, retry_after=3.0)
    assert error.retryable
    assert (error.code, error.provider, error.status, error.retry_after_seconds) == (
        "provider_failed",
        "exa",
        status,
        3.0,
    )


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_what_the_provider_will_never_take_is_not_tried_again(status: int) -> None:
    assert not ProviderError.request_failed("exa", status=status).retryable


def test_an_empty_purse_is_a_quota_and_not_tried_again() -> None:
    error = ProviderError.request_failed("exa", status=402)
    assert error.code == "provider_quota"
    assert not error.retryable


def test_a_command_that_goes_on_is_named_as_one() -> None:
    error = UserError("edit_version", "There is no version 99.", next_step="corrobora edit RUN --versions")
    assert str(error) == "There is no version 99. Next: corrobora edit RUN --versions"


def test_a_refused_key_names_the_setting_and_is_not_tried_again() -> None:
    error = ProviderError.key_refused("tavily", setting="TAVILY_API_KEY", status=401)
    assert str(error) == "tavily refused the key. Check the setting TAVILY_API_KEY."
    assert (error.code, error.retryable, error.status) == ("provider_refused", False, 401)


def test_an_answer_in_an_unknown_shape_is_an_error_and_says_why() -> None:
    error = ProviderError.bad_content("exa", "results is missing")
    assert (error.code, error.retryable) == ("provider_bad_content", False)
    assert "results is missing" in str(error)


@pytest.mark.parametrize("outcome", list(ReadOutcome))
def test_a_read_error_carries_its_outcome_in_its_code(outcome: ReadOutcome) -> None:
    error = ReadError(outcome, "It could not be read.")
    assert (error.outcome, error.code) == (outcome, f"read_{outcome}")


def test_a_limit_says_which_how_much_of_how_much_and_where() -> None:
    error = LimitReached("tokens", value=1200, limit=1000, scope="run", next_step="Raise limits.tokens.")
    assert str(error) == "tokens: 1200 of 1000 (run). Raise limits.tokens."
    assert (error.code, error.which, error.value, error.limit, error.scope) == (
        "limit_tokens",
        "tokens",
        1200,
        1000,
        "run",
    )


def test_stale_is_caught_by_nobody_who_catches_exceptions() -> None:
    assert issubclass(Stale, BaseException)
    assert not issubclass(Stale, Exception)
