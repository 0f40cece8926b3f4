"""Words and addresses by their origin: what a query keeps, and what it loses however it is written."""

from __future__ import annotations

import pytest

from corrobora.domain.evidence import Hit, Query
from corrobora.domain.run import Request
from corrobora.engine.session.egress import Egress

SHOWN = "The programme Blueheron of Dana Quillfeather and project Mercury cost 4817 euro, as the minutes of Ruhr say."


@pytest.fixture
def egress() -> Egress:
    made = Egress.from_request(Request("How do iron-air batteries of Fraunhofer store energy?", libraries=("papers",)))
    made.note_shown(SHOWN)
    return made


def clear(egress: Egress, text: str) -> str:
    return egress.clear(Query(text)).text


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("Blueheron battery storage", "battery storage"),
        ("blue heron battery storage", "battery storage"),
        ("blue-heron battery storage", "battery storage"),
        ("b l u e h e r o n battery storage", "battery storage"),
        ("Blüehèron battery storage", "battery storage"),
        ("Bluehеron battery storage", "battery storage"),
        ("Blue\u200bheron battery storage", "battery storage"),
        ("Qmx1ZWhlcm9u battery storage", "battery storage"),
        ("noreheulB battery storage", "battery storage"),
        ("BlueheronBattery battery storage", "battery storage"),
        ("https://a.example/?q=Dana battery storage", "battery storage"),
        ("battery storage 4817 cycles", "battery storage cycles"),
        ("battery storage four eight one seven cycles", "battery storage cycles"),
        ("project Mercury battery storage", "project battery storage"),
        ("Quillfeather's battery storage", "battery storage"),
        ("\U0001d401\U0001d425\U0001d42e\U0001d41eheron battery storage", "battery storage"),
        ("Dana Quillfeather Ruhr", ""),
        ("battery storage -.. .- -. .- / ... - ---", "battery storage"),
        ("battery... (storage),; !!?", "battery storage"),
        ("bAttErY sTorAge", "battery storage"),
    ],
)
def test_a_private_name_is_taken_out_however_it_is_written(egress: Egress, asked: str, sent: str) -> None:
    assert clear(egress, asked) == sent


@pytest.mark.parametrize(
    "asked",
    [
        "How do iron-air batteries of Fraunhofer store energy?",
        "Fraunhofer battery energy density comparison",
        "reversible rusting of iron explained",
        '"store energy" in batteries',
        "energy stored by an iron battery",  # other forms of words of the question
    ],
)
def test_words_of_the_question_and_common_words_are_sent_as_they_are(egress: Egress, asked: str) -> None:
    assert clear(egress, asked) == asked


def test_the_web_opens_its_own_words_and_addresses(egress: Egress) -> None:
    assert clear(egress, "Zimmerwald battery storage") == "battery storage"
    assert not egress.may_request("https://lab.example/iron")
    egress.open_hits([Hit("https://lab.example/iron", "Zimmerwald laboratory", "See https://www.lab.example/more.")])
    assert clear(egress, "Zimmerwald battery storage") == "Zimmerwald battery storage"
    assert egress.may_request("http://www.lab.example/iron/")
    assert egress.may_request("https://lab.example/more")
    for other in ("iron?q=Blueheron", "iron///", "iron/Blueheron", "Iron"):
        assert not egress.may_request(f"https://lab.example/{other}")
    assert not egress.may_request("https://Blueheron@lab.example/iron")


@pytest.mark.parametrize(
    "spelt", ["d a n a", "a n a d", "D-a-n-a", "d.a.n.a", "4 8 1 7", "7 1 8 4", "b l u e h e r o n", "4,8,1,7", "Da na"]
)
def test_letters_that_a_page_lists_do_not_spell_a_private_name(egress: Egress, spelt: str) -> None:
    egress.open_texts("Index A B C D E F G H I J K L M N O P Q R S T U V W X Y Z 1 2 3 4 5 6 7 8 9", "type 2 vitamin c")
    sent = clear(egress, f"battery {spelt} storage").removeprefix("battery").removesuffix("storage").split()
    assert set(sent) <= {"a"}  # a word of the language
    assert clear(egress, "battery type 2 vitamin C storage") == "battery type 2 vitamin C storage"


@pytest.mark.parametrize(
    ("site", "sent"),
    [
        *(("gov", "gov"), ("site:gov", "site:gov"), ("blueheron.com", ""), ("blueheron", "")),
        ("energy.gov", "energy.gov"),
        *(("dana", ""), ("4817", ""), ("energy.dana", ""), ("blue-heron.com", ""), ("energy.co.uk", "energy.co.uk")),
    ],
)
def test_a_site_is_words_too(egress: Egress, site: str, sent: str) -> None:
    assert egress.clear(Query("battery energy storage", site)).site == sent


@pytest.mark.parametrize(
    "request_", [Request("q", libraries=("demo",)), Request("q", libraries=("p",), metadata=(("allow_egress", "yes"),))]
)
def test_without_private_documents_or_opted_out_everything_is_sent(request_: Request) -> None:
    made = Egress.from_request(request_)
    made.note_shown(SHOWN)
    assert made.clear(Query("Blueheron 4817", "blueheron.com")).text == "Blueheron 4817"
    assert made.may_request("https://vexmoor.example/")
