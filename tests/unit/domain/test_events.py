"""Events: the vocabulary that listeners and stored logs rely on."""

from __future__ import annotations

from corrobora.domain.run import Event, EventType


def test_rounds_its_four_events_have_their_names() -> None:
    assert {EventType.THOUGHT, EventType.SEARCH, EventType.READ, EventType.COMPLETE} == {
        "thought",
        "search",
        "read",
        "complete",
    }


def test_a_stored_name_is_its_type_again() -> None:
    assert [EventType(kind.value) for kind in EventType] == list(EventType)
    assert len({kind.value for kind in EventType}) == len(EventType)


def test_the_store_gives_number_and_time() -> None:
    event = Event(EventType.ROUND_STARTED, "root/round/1#started", "root", 1, {"phase": "orient"})
    assert (event.seq, event.at) == (0, "")
