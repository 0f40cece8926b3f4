"""The Python face: research in one call or as events, on a real database; what is raised when there is no report."""

from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.app.conftest import DOCUMENTS

import corrobora
from corrobora import CorroboraError, NeedsHuman, NoEvidence, Outcome, UserError
from corrobora.app import Workspace
from corrobora.app.libraries import list_libraries
from corrobora.config import Settings
from corrobora.domain.run import EventType
from corrobora.faces.python import run_blocking

QUESTION = "How often must the sluice gates of Orrin mill be greased?"
PHRASE = "Authorized to execute"
Made = Callable[..., Settings]


def test_a_folder_is_read_and_the_question_answered_with_citations(made: Made, mill: Path) -> None:
    report = corrobora.research(QUESTION, library=mill, settings=made())
    assert report.outcome is Outcome.COMPLETE
    assert "every 14 days" in report.markdown
    assert report.citations
    assert all(quote in DOCUMENTS["mill.md"] + DOCUMENTS["grease.md"] for c in report.citations for quote in c.quotes)


async def test_programs_with_an_event_loop_await_the_same(made: Made, mill: Path) -> None:
    settings = made()
    one, two = await asyncio.gather(
        corrobora.aresearch(QUESTION, library=mill, settings=settings),
        corrobora.aresearch("How high may the mill pond of Orrin stand?", library=[str(mill)], settings=settings),
    )
    assert "14 days" in one.markdown
    assert "210 centimetres" in two.markdown


async def test_events_come_as_they_happen_and_end_with_the_run(made: Made, mill: Path) -> None:
    events = [event async for event in corrobora.stream(QUESTION, library=mill, settings=made())]
    types = [event.type for event in events]
    assert (types[0], types[-1]) == (EventType.RUN_STARTED, EventType.RUN_FINISHED)
    assert {EventType.SEARCH, EventType.READ, EventType.FACT, EventType.COMPLETE} <= set(types)


async def test_a_listener_may_leave_early(made: Made, mill: Path) -> None:
    events = corrobora.stream(QUESTION, library=mill, settings=made())
    async for event in events:
        assert event.type is EventType.RUN_STARTED
        break
    await events.aclose()


def test_a_program_that_leaves_a_stream_and_ends_is_told_nothing(made: Made, mill: Path) -> None:
    """Python closes all open generators of a loop at once, and one that is inside another one complained."""
    told = list[str]()

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context["message"]))
        async for _ in corrobora.stream(QUESTION, library=mill, settings=made()):
            break

    asyncio.run(leave())
    gc.collect()
    assert told == []


async def test_tree_a_plan_that_waits_for_a_person_is_needs_human(made: Made, mill: Path) -> None:
    with pytest.raises(NeedsHuman, match=r"await run\.authorize\(") as caught:
        await corrobora.aresearch(QUESTION, library=mill, profile="tree", authorized=False, settings=made())
    assert caught.value.code == "plan_not_authorized"
    assert "corrobora authorize" not in str(caught.value), "a program types no commands"
    phrase = "Authorized to execute"
    report = await corrobora.aresearch(QUESTION, library=mill, profile="tree", authorized=phrase, settings=made())
    assert "14 days" in report.markdown


@pytest.mark.parametrize("said", [True, "authorized to execute", "Authorized to execute.", "yes"])
async def test_tree_5_a_program_starts_a_tree_by_the_exact_phrase_only(
    made: Made, mill: Path, said: bool | str
) -> None:
    with pytest.raises(NeedsHuman) as caught:
        await corrobora.aresearch(QUESTION, library=mill, profile="tree", authorized=said, settings=made())
    assert caught.value.code == "plan_not_authorized"


async def test_tree_a_stream_ends_where_the_plan_waits(made: Made, mill: Path) -> None:
    events = corrobora.stream(QUESTION, library=mill, profile="tree", authorized=False, settings=made())
    types: list[EventType] = []

    async def listen() -> None:
        async for event in events:
            types.append(event.type)  # noqa: PERF401 - the last step raises, and what came before it counts

    with pytest.raises(NeedsHuman) as caught:
        await listen()
    assert caught.value.code == "plan_not_authorized"
    assert EventType.PLAN_PROPOSED in types
    assert EventType.RUN_FINISHED not in types


def test_c10_a_limit_of_0_dollars_makes_only_the_plan(made: Made, mill: Path) -> None:
    with pytest.raises(NeedsHuman):
        corrobora.research(QUESTION, library=mill, settings=made(CORROBORA_LIMITS_USD="0"))


def test_what_the_library_does_not_say_is_no_evidence(made: Made, mill: Path) -> None:
    with pytest.raises(NoEvidence) as caught:
        corrobora.research("Which enzyme splits lactose in the gut of calves?", library=mill, settings=made())
    assert caught.value.code == Outcome.NO_EVIDENCE


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({"question": ""}, "question_empty"),
        ({"question": "x" * 20_001}, "question_too_long"),
        ({"profile": "no-such-profile"}, "unknown_profile"),
        ({"model": "gooogle:gem"}, "model_unknown_provider"),
        ({"model": "openai:gpt-4.1"}, "model_no_key"),
        ({"library": "nowhere"}, "library_unknown"),
        ({"library": "./nowhere"}, "path_missing"),
        ({"library": ()}, "sources_missing"),
        ({"max_rounds": "many"}, "profile_bad_value"),
        ({"no_such_field": 1}, "profile_unknown_key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_used_is_a_user_error(made: Made, mill: Path, call: dict[str, Any], code: str) -> None:
    given = {"question": QUESTION, "library": mill, "settings": made()} | call
    with pytest.raises(UserError) as caught:
        corrobora.research(given.pop("question"), **given)
    assert caught.value.code == code


async def test_fields_of_the_profile_and_the_limits_of_the_settings_hold(made: Made, mill: Path) -> None:
    settings = made("[profiles.own]\nbase = 'rounds'\nmax_rounds = 2\n", CORROBORA_LIMITS_SEARCHES="1")
    events = [event async for event in corrobora.stream(QUESTION, library=mill, profile="own", settings=settings)]
    assert sum(event.type is EventType.SEARCH for event in events) == 1
    report = await corrobora.aresearch(QUESTION, library=mill, profile="rounds", max_rounds=1, settings=made())
    assert (report.methodology.profile, report.methodology.rounds) == ("rounds", 1)


def test_c16_a_limit_of_dollars_holds_for_programs_too(made: Made, mill: Path) -> None:
    model = "openai-compatible:m@http://models.example/v1"
    with pytest.raises(UserError) as caught:
        corrobora.research(QUESTION, library=mill, model=model, settings=made(CORROBORA_LIMITS_USD="1"))
    assert caught.value.code == "price_unknown"


def test_libraries_of_the_settings_are_searched_where_none_is_named(made: Made, mill: Path) -> None:
    report = corrobora.research(QUESTION, settings=made(CORROBORA_SOURCES_LIBRARIES=str(mill)))
    assert "14 days" in report.markdown


def test_angles_hybrid_search_finds_passages_of_stored_libraries(made: Made, mill: Path) -> None:
    settings = made()
    corrobora.research(QUESTION, library=mill, settings=settings)
    with pytest.raises(UserError) as caught:
        corrobora.hybrid_search("sluice gates", library="nowhere", settings=settings)
    name = str(caught.value).partition("Libraries: ")[2].partition(",")[0]
    hits = corrobora.hybrid_search("how often are sluice gates greased", library=name, limit=1, settings=settings)
    assert len(hits) == 1
    assert hits[0].title
    assert hits[0].passage
    assert corrobora.hybrid_search("", library=[name], settings=settings) == ()


async def test_tree_a_dialogue_ends_in_a_report_only_after_the_phrase(made: Made, mill: Path) -> None:
    async with corrobora.chat(library=mill, settings=made()) as manager:
        await manager.say("Tell me everything about mills")
        assert not manager.agreed
        with pytest.raises(NeedsHuman, match=PHRASE):
            await manager.report()
        await manager.say(QUESTION)
        assert manager.agreed
        await manager.say("yes, go")
        assert not manager.authorized
        await manager.say(QUESTION)
        await manager.say(PHRASE)
        assert manager.authorized
        assert "14 days" in (await manager.report()).markdown


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in corrobora.__all__:
        found = getattr(corrobora, name)
        assert name == "__version__" or inspect.getdoc(found)
    listed = {name for names in corrobora._HOMES.values() for name in names}
    assert listed | {"__version__"} == set(corrobora.__all__)


def test_the_types_that_checkers_see_are_those_that_programs_get() -> None:
    tree = ast.parse(Path(str(corrobora.__file__)).read_text(encoding="utf-8"))
    seen = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("corrobora.")
        for alias in node.names
    }
    assert seen == {(module, name) for module, names in corrobora._HOMES.items() for name in names}


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        corrobora.no_such_name  # noqa: B018 - reading it is the point


def test_importing_corrobora_alone_loads_nothing_of_it() -> None:
    code = "import sys, corrobora; print([m for m in sys.modules if m.startswith('corrobora.')], corrobora.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", corrobora.__version__]


def test_an_error_of_a_call_does_not_come_from_the_way_it_was_run(made: Made) -> None:
    with pytest.raises(UserError) as caught:
        corrobora.research("", library="nobody", settings=made())
    assert caught.value.__context__ is None


def test_every_error_of_a_call_is_of_the_one_tree() -> None:
    assert all(issubclass(kind, CorroboraError) for kind in (NeedsHuman, NoEvidence, UserError))


async def test_in_a_notebook_research_and_search_work_inside_the_running_loop(made: Made, mill: Path) -> None:
    settings = made()
    ticks = asyncio.get_running_loop()
    report = corrobora.research(QUESTION, library=mill, settings=settings)
    assert "every 14 days" in report._repr_markdown_() == str(report) == report.markdown
    assert "every 14 days" in corrobora.ask(report, "What must be greased every 14 days?", settings=settings).markdown
    async with Workspace.open(settings) as workspace:
        (name,) = [space.name for space in await list_libraries(workspace)]
    (hit, *_) = await corrobora.ahybrid_search("sluice gates", library=name, settings=settings)
    assert corrobora.hybrid_search("sluice gates", library=name, settings=settings)[0] == hit
    assert asyncio.get_running_loop() is ticks


async def test_in_a_notebook_errors_are_those_of_the_package(made: Made, mill: Path) -> None:
    settings = made()
    with pytest.raises(UserError, match="library"):
        corrobora.hybrid_search("x", library="nobody", settings=settings)
    with pytest.raises(NoEvidence):
        corrobora.research("Which enzyme splits lactose in calves?", library=mill, settings=settings)
    down = made(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    with pytest.raises(CorroboraError, match="database"):
        corrobora.research(QUESTION, library=mill, settings=down)


async def test_an_interrupted_cell_cancels_its_work() -> None:
    ended: list[str] = []

    async def work_for_ever() -> None:
        main = threading.main_thread().ident or 0
        asyncio.get_running_loop().call_later(0.3, signal.pthread_kill, main, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_blocking(work_for_ever())
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == ["cancelled"]


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (corrobora.research, {"question": 7}),
        (corrobora.research, {"question": QUESTION, "library": 5}),
        (corrobora.research, {"question": QUESTION, "library": [5]}),
        (corrobora.research, {"question": QUESTION, "library": None}),
        (corrobora.research, {"question": QUESTION, "profile": 7}),
        (corrobora.research, {"question": QUESTION, "model": b"m"}),
        (corrobora.research, {"question": QUESTION, "minutes": object()}),
        (corrobora.research, {"question": QUESTION, "settings": 5}),
        (corrobora.extract_fields, {"question": 7, "schema": {"properties": {"a": {"type": "string"}}}}),
        (corrobora.hybrid_search, {"text": 7, "library": "docs"}),
        (corrobora.hybrid_search, {"text": "x", "library": 7}),
        (corrobora.hybrid_search, {"text": "x", "library": "docs", "limit": "a"}),
        (corrobora.ask, {"run": 5, "question": QUESTION}),
        (corrobora.ask, {"run": "last", "question": 5}),
    ],
)
def test_a_value_of_another_kind_is_an_error_of_ours(made: Made, call: Any, given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r" is .*; it must be ") as refused:
        call(**{"settings": made()} | given)
    assert refused.value.code == "argument_kind"


def test_files_are_searched_as_they_are_researched(made: Made, mill: Path) -> None:
    (hit, *_) = corrobora.hybrid_search("How often are gates greased?", library=mill, settings=made())
    assert "every 14 days" in hit.snippet
