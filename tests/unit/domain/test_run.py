"""Runs: which statuses are the end, the stages in their order, and requests that hold no secret."""

from __future__ import annotations

from corrobora.domain.run import Request, RunStatus, Stage


def test_done_failed_and_cancelled_are_the_end() -> None:
    final = {status for status in RunStatus if status.final}
    assert final == {RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED}


def test_a_run_that_waits_for_a_person_or_a_worker_goes_on() -> None:
    waiting = (RunStatus.QUEUED, RunStatus.AWAITING, RunStatus.PAUSED, RunStatus.INTERRUPTED)
    assert not any(status.final for status in waiting)
    assert {status for status in RunStatus if status.waits} == {RunStatus.AWAITING, RunStatus.PAUSED}


def test_the_stages_stand_in_the_order_of_the_method() -> None:
    assert list(Stage) == ["clarify", "plan", "investigate", "synthesize", "review", "verify", "deliver"]


def test_a_request_asks_for_the_default_profile_and_is_authorized_by_nobody() -> None:
    request = Request("What is asked?")
    assert (request.profile, request.authorized, request.libraries, request.models) == ("timed", "", (), ())


def test_equal_requests_are_one_value() -> None:
    assert len({Request("q", libraries=("a",)), Request("q", libraries=("a",)), Request("q")}) == 2
