"""What leaves the machine when private documents and the web are searched together, seen by the servers themselves.

The private documents hold names in their text, titles, headings and file names. Nothing of them may stand in anything
that a search engine or a site receives, by either analyst and by every method, even if a model writes it.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.plugins.shell import Result, Shell

from corrobora.testing.web import LoopbackWeb, WebPage
from corrobora.text.tokens import fold_text

QUESTION = "How do iron air batteries store energy, and how many cycles do iron air batteries last?"
PROFILES = ("timed", "angles", "tree", "rounds", "triplet", "full")
PRIVATE = {
    "quarzbeck-offer.md": (
        "# Zanthorium programme\n\nDana Quillfeather leads the Zanthorium programme on iron air batteries. "
        "The iron air batteries of the programme called Blueheron store energy for 73 hours, and last 4817 cycles.\n\n"
        "## Talks with Ostrelund\n\nIt is a limitation that the site at Ostrelund stores energy in iron air batteries "
        "of Vexmoor only; see https://vexmoor.example/deal-4817 and the talks with project Mercury on energy.\n"
    ),
    "minutes.md": (
        "# Minutes of the Tarnwick board\n\nDana Quillfeather said that iron air batteries last longer than Zanthorium "
        "cells. The Tarnwick board wants to store energy with iron air batteries and with project Mercury.\n"
    ),
}
CANARIES = (
    *("quillfeather", "zanthorium", "blueheron", "ostrelund", "vexmoor", "tarnwick", "quarzbeck", "4817", "mercury"),
    *(base64.b64encode(b"Zanthorium").decode().strip("="), "mroihtnaz", "muirohtnaz", b"Zanthorium".hex()),
    "--.. .- -.",
)


def write_page(name: str, title: str, text: str) -> WebPage:
    """Return a page in Markdown, which costs a parser little."""
    signs = " ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    whole = (
        f"# {title}\n\n{text} Iron air batteries are described in more detail by many groups. Reversible rusting "
        "stores energy cheaply, as measurements of iron electrodes show.\n\n"
        f"Index of terms: {signs}, with the pages of each letter.\n"
    )
    return WebPage(f"/batteries-{name}.md", whole.encode(), "text/markdown", title, whole)


PAGES = [
    write_page("0", "Iron air batteries", "Iron air batteries store energy by the reversible rusting of iron in air."),
    write_page(
        "1",
        "Cycle life of iron air cells",
        "Iron air batteries last about 10000 cycles before the iron electrode.",
    ),
]


@pytest.fixture
def office(served: Shell) -> Shell:
    """A shell with a folder of private documents."""
    papers = served.folder / "papers"
    papers.mkdir()
    for name, text in PRIVATE.items():
        (papers / name).write_text(text)
    return served


def open_web(shell: Shell, serve: Any, **more: Any) -> LoopbackWeb:
    web = serve(LoopbackWeb(PAGES, **more))
    shell.setenv(
        TAVILY_API_KEY="a-key-of-the-test",
        CORROBORA_SOURCES_TAVILY_URL=web.url,
        CORROBORA_SOURCES_TAVILY_RATE="1000",
        CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{web.port}",
    )
    return web


def ask(shell: Shell, profile: str, *more: str) -> Result:
    return shell("research", QUESTION, "-l", "papers", "--provider", "tavily", "-p", profile, "-y", "-q", *more)


def list_sent(web: LoopbackWeb) -> list[str]:
    """Everything that the servers received, in small letters: addresses, headers and bodies, as sent and unquoted."""
    raw = [f"{request.path} {dict(request.headers)} {request.body.decode()}" for request in web.requests]
    return [fold_text(text) for each in raw for text in (each, unquote_plus(each))]


def find_leaks(web: LoopbackWeb) -> list[tuple[str, str]]:
    """Canaries in what was sent, also where signs and spaces are left out."""
    sent = [(text, re.sub(r"[\W_]+", "", text)) for text in list_sent(web)]
    return [
        (canary, text[:300])
        for text, joined in sent
        for canary in map(str.lower, CANARIES)
        if canary in text or canary in joined
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_no_private_name_is_sent_by_the_extractive_analyst(office: Shell, serve: Any, profile: str) -> None:
    web = open_web(office, serve)
    result = ask(office, profile)
    assert result.code == 0, result.err
    assert not find_leaks(web)
    assert any("batteries" in query for query in web.searches), "the web was searched with useful words"
    assert f"{web.url}/batteries-" in result.out, "and answers"
    assert "quarzbeck-offer.md" in result.out, "beside the private documents"
    assert "search provider tavily (127.0.0.1) gets queries in words of the question" in result.out


LEAKS: tuple[Callable[[str], str], ...] = (
    lambda name: f"{name} battery energy storage",
    lambda name: f"battery energy storage {name[:4]}-{name[4:]}",
    lambda name: f"battery energy storage {' '.join(name)}",
    lambda name: f"battery energy {name.replace('a', 'а').replace('o', 'о')}",
    lambda name: f"battery energy {name.replace('u', 'ü')}s",
    lambda name: f"battery energy {base64.b64encode(name.encode()).decode()}",
    lambda name: f"battery energy {name[::-1]}",
    lambda name: f"battery{name}energy storage cells",
    lambda name: f"energy storage\u200b{name[:5]}\u200b{name[5:]} battery",
    lambda name: f"site:{name.lower()}.com battery energy",
    lambda name: f"battery energy {' '.join(_MORSE.get(letter, '---.') for letter in name.lower())}",
    lambda name: f"battery energy {'-'.join(name)}",
)
_MORSE = {"z": "--..", "a": ".-", "n": "-.", "o": "---", "b": "-...", "e": ".", "r": ".-.", "t": "-", "u": "..-"}
FURTHER = (
    "battery four eight one seven cycles",
    "battery blue heron energy",
    "battery 48 17 cycles",
    "project Mercury",
)


def leak(asked: WireRequest, further: int | None = None) -> str:
    """Answer as the scripted model does, and put private names wherever a model may write words or addresses.

    With `further`, each scope that was shown the names asks for these words of `FURTHER`.
    """
    answer: dict[str, Any] = json.loads(answer_prompt(asked.system, asked.user))
    role = asked.system.partition("# Role: ")[2].partition("\n")[0].strip()
    names = ("Zanthorium", "Quillfeather", "Blueheron", "Ostrelund", "Tarnwick")
    at = sum(map(ord, asked.user)) % len(LEAKS)
    told = [LEAKS[(at + n) % len(LEAKS)](name) for n, name in enumerate(names)]
    match role:
        case "scope":
            sites = [*(f"{name.lower()}.com" for name in names), "4817", "energy.4817"]
            more = FURTHER[at % len(FURTHER) if further is None else further] if "Mercury" in asked.user else told[2]
            answer["queries"] = [{"text": text, "site": sites[at % len(sites)]} for text in (*told[:2], more)]
        case "reflect":
            answer |= {"done": False, "next_topic": told[0], "terms": [*names]}
            answer |= {"url": "https://vexmoor.example/deal-4817", "new_sub_questions": [f"What is {told[1]}?"]}
        case "plan":
            if "Zanthorium" in asked.user:  # in a word that no document holds
                answer["tasks"][0]["queries"] = [f"{names[0].encode().hex()} battery energy"]
            for task in answer["tasks"]:
                task |= {"queries": [told[0], *task["queries"]], "title": f"{names[0]} {task['title']}"}
                task["sub_questions"] = [*task["sub_questions"], f"Who is Dana {names[1]} of quarzbeck?"]
        case "refine":
            for change in answer["changes"]:
                change |= {"queries": told, "sub_questions": [told[2]]}
        case "extract":
            answer["linked"] = [
                {"reference": url, "context": "a link", "priority": 1.0}
                for url in ("https://vexmoor.example/deal-4817", f"https://a.example/{names[0]}?q={names[1]}")
            ]
            answer["follow_ups"] = [{"question": told[3], "confidence": 0.9, "rationale": "it matters"}]
            answer |= {"terms": [*names], "gaps": [told[0]]}
        case _:
            pass
    return json.dumps(answer, ensure_ascii=False)


@pytest.mark.parametrize("profile", PROFILES)
def test_no_private_name_is_sent_whatever_a_model_writes(office: Shell, serve: Any, profile: str) -> None:
    web, model = open_web(office, serve), serve(ModelServer(leak))
    result = ask(office, profile, "-m", f"openai-compatible:leaky@{model.url}/v1", "-s", "max_rounds=3")
    assert result.code in (0, 4), result.err
    shown = {re.search(r"# Role: (\w+)", asked.system)[1] for asked in model.asked if "Zanthorium" in asked.user}  # type: ignore[index]
    assert shown, "the model had seen private text"
    assert shown.isdisjoint({"clarify", "plan"}), "words of a plan may be sent"
    assert not find_leaks(web)
    assert any("batter" in query and "energy" in query for query in web.searches)


@pytest.mark.parametrize("further", [0, 3])
def test_a_profile_opens_no_word_of_the_private_documents(office: Shell, serve: Any, further: int) -> None:
    """The file of a profile may be a stranger's, who guesses the names that a hostile model is to send.

    One of them is a common word that only the documents write as a name.
    """
    web, model = open_web(office, serve), serve(ModelServer(functools.partial(leak, further=further)))
    hints = '["Zanthorium Quillfeather", "Blueheron of Ostrelund", "Tarnwick Mercury 4817", "reversible rusting"]'
    own = f'base = "timed"\n[[phases]]\nname = "research"\ngoal = "Find Quarzbeck."\nquery_hints = {hints}\n'
    (office.folder / "own.toml").write_text(own)
    ask(office, "./own.toml", "-m", f"openai-compatible:leaky@{model.url}/v1")
    assert web.searches
    assert not find_leaks(web)


@pytest.mark.covers("research --allow-egress", "setting sources.allow_egress")
def test_the_guard_is_what_holds_the_names_back(office: Shell, serve: Any) -> None:
    web = open_web(office, serve)
    model = serve(ModelServer(lambda asked: leak(asked).replace("https:", "")))  # no test may ask for foreign names
    result = ask(office, "timed", "-m", f"openai-compatible:leaky@{model.url}/v1", "--allow-egress")
    assert find_leaks(web)
    assert "--allow-egress" in result.out


def test_facts_of_an_earlier_run_stay_here(office: Shell, serve: Any) -> None:
    """By every method, with the private documents in the run and, the last time, with the web alone."""
    assert office("research", QUESTION, "-l", "papers", "-p", "full", "-y", "-q").code == 0
    web, model = open_web(office, serve), serve(ModelServer(leak))
    more = ("-m", f"openai-compatible:leaky@{model.url}/v1", "-s", "max_rounds=2", "-s", "recall_facts=true")
    recalling: set[str] = set()
    for profile in PROFILES:
        web.requests.clear()
        model.asked.clear()
        ask(office, profile, *more)
        recalled = [asked.user for asked in model.asked if "Known before this line of research" in asked.user]
        recalling |= {profile} if any("Zanthorium" in each or "Blueheron" in each for each in recalled) else set()
        assert web.searches
        assert not find_leaks(web), profile
    assert {"timed", "full"} <= recalling, "questions are met again"
    web.requests.clear()
    model.asked.clear()
    office("research", QUESTION, "--provider", "tavily", "-p", "full", "-y", "-q", *more)
    assert not [asked for asked in model.asked if "Zanthorium programme" in asked.user], "facts of what is not searched"


def test_what_the_person_names_may_be_sent(office: Shell, serve: Any) -> None:
    web = open_web(office, serve)
    question = QUESTION.replace("iron air", "Zanthorium iron air")
    office("research", question, "-l", "papers", "--provider", "tavily", "-p", "timed", "-y", "-q")
    assert "zanthorium" in " ".join(list_sent(web))
    assert "quillfeather" not in " ".join(list_sent(web))


@pytest.mark.covers("research --show-queries", "setting sources.show_queries")
def test_queries_are_shown_before_they_are_sent(office: Shell, serve: Any) -> None:
    web = open_web(office, serve)
    result = ask(office, "timed", "--show-queries", "-s", "max_rounds=1", "--json")
    run = json.loads(result.out)["run_id"]
    assert not web.searches
    assert "tavily: How do iron air batteries" in result.err
    for _ in range(3):
        last = office("resume", run, "-q", "--json")
    assert json.loads(last.out)["outcome"] in ("complete", "partial")
    assert web.searches


def test_doctor_says_who_gets_what(office: Shell) -> None:
    office.setenv(CORROBORA_SOURCES_ALLOWED_ENDPOINTS="10.0.0.7:80", CORROBORA_SOURCES_PROVIDERS="tavily")
    office.setenv(CORROBORA_EMBEDDER_URL="https://embed.example/v1", CORROBORA_SOURCES_LIBRARIES="papers")
    office.setenv(CORROBORA_EMBEDDER_MODEL="small", CORROBORA_MODELS_LEAD="openai:gpt-4o", OPENAI_API_KEY="k")
    told = office("doctor").out
    assert "search provider tavily (api.tavily.com) gets queries in words of the question" in told
    assert "the embedder at embed.example gets every text of the libraries" in told
    assert "gets the question and every passage it reads, private documents among them" in told
    assert "sources.allowed_endpoints is on" in told


KEY = "sk-" + "abcdefghijklmnopqrstuvwxyz"


def advertise(asked: WireRequest) -> str:
    """Answer as the scripted model does, with addresses and a key in titles and gaps."""
    answer: dict[str, Any] = json.loads(answer_prompt(asked.system, asked.user))
    for name in ("title", "summary"):
        if name in answer:
            answer[name] += (
                " at https://evil.example/a?b=1, [more](http://evil.example/c), www.evil.example/d [S9:C9][1]"
            )
    if "gaps" in answer:
        text = f"the price, see https://evil.example/gap and {KEY} [1] as shown [S9:C9]"
        answer["gaps"] = [*answer["gaps"], {"text": text, "target": ""}]
    return json.dumps(answer, ensure_ascii=False)


def test_titles_and_gaps_hold_no_address_that_is_no_source(office: Shell, serve: Any) -> None:
    model = serve(ModelServer(advertise))
    given = ("-l", "papers", "-m", f"openai-compatible:loud@{model.url}/v1", "-s", "max_rounds=1", "-q")
    result = office("research", f"{QUESTION} Who paints the lighthouse?", *given, "-o", "report.html", "--force")
    assert result.code == 0, result.err
    run = json.loads(office("runs", "list", "--json").out)[0]["id"]
    folder = office.home / "runs" / run
    for text in ((folder / "report.md").read_text(), (office.folder / "report.html").read_text()):
        assert "Gaps" in text
        assert "the price, see" in text
        assert "as shown" in text
        assert not re.search(r"S9:C9|\[removed\] ?\\?\[1|/d ?\\?\[1", text), "a title or gap cites nothing"
        assert not re.search(r"(https?://|www\.)evil", text)
        assert KEY not in text
