"""Grading: who says it and who else says it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import fact

from corrobora.domain.evidence import Grade
from corrobora.policies.assessment import merge_facts
from corrobora.policies.grading import (
    combine_confidence,
    grade_facts,
    group_statements,
    group_witnesses,
    identify_witness,
    is_official,
    sort_by_grade,
)

QUOTE = "The harbour of Ardal was opened to steamers in 1874."
AGREES = "In 1874 the Ardal harbour opened for its first steamers."


def web(quote: str, host: str, source: str, **more):
    return fact(quote, source=source, kind="web", url=f"https://{host}/page", **more)


def grade_first(*facts) -> Grade:
    return grade_facts(facts)[0][0].grade


def test_triplet_verified_by_a_primary_source() -> None:
    assert grade_first(fact(primary=True)) is Grade.VERIFIED
    assert grade_first(web(QUOTE, "ports.gov", "S1")) is Grade.VERIFIED


def test_triplet_plausible_for_a_document_that_the_user_gave() -> None:
    assert grade_first(fact()) is Grade.PLAUSIBLE


def test_triplet_unverified_for_one_web_page_of_unknown_standing() -> None:
    one = web(QUOTE, "example.com", "S1")
    assert grade_first(one) is Grade.UNVERIFIED


def test_triplet_verified_by_independent_agreement() -> None:
    one, other = web(QUOTE, "example.com", "S1"), web(AGREES, "example.org", "S2")
    assert grade_first(one, other) is Grade.VERIFIED
    assert len({identify_witness(each) for each in (one, other)}) == 2


@pytest.mark.parametrize(
    ("why", "other"),
    [
        ("same source", web(AGREES, "example.com", "S1")),
        ("same origin", web(AGREES, "example.org", "S2", origin="origin of S1")),
        ("same site", web(AGREES, "www.example.com", "S2")),
        ("another host of the same name", web(AGREES, "news.example.com", "S2")),
        ("other number", web("In 1875 the Ardal harbour opened for its first steamers.", "example.org", "S2")),
        ("no number", web("The Ardal harbour was opened to steamers early.", "example.org", "S2")),
        ("other stance", web("In 1874 the Ardal harbour was not opened to steamers.", "example.org", "S2")),
        ("other topic", web("In 1874 the railway of Bergen carried fish.", "example.org", "S2")),
    ],
)
def test_what_is_no_independent_agreement(why: str, other) -> None:
    one = web(QUOTE, "example.com", "S1")
    assert grade_first(one, other) is Grade.UNVERIFIED, why


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://docs.ardal.org/a", "https://www.ardal.org/b", True),
        ("https://news.ardal.co.uk/a", "https://ardal.co.uk/b", True),
        ("https://news.abc.com/a", "https://docs.abc.com/b", True),
        ("https://ardal.co.uk/a", "https://bergen.co.uk/a", False),
        ("https://ardal.github.io/a", "https://bergen.github.io/a", False),
        ("https://github.com/ardal/harbour", "https://github.com/bergen/harbour", False),
        ("https://github.com/ardal/harbour", "https://github.com/ardal/boats", True),
        ("https://ardal.wordpress.com/a", "https://bergen.wordpress.com/a", False),
        ("https://medium.com/@ardal/a", "https://medium.com/@bergen/a", False),
        ("https://doi.org/10.1/a", "https://doi.org/10.1/b", False),
        ("https://arxiv.org/abs/1", "https://arxiv.org/abs/2", False),
        ("http://127.0.0.1/a", "http://127.0.0.2/a", False),
        ("http://[::1]/a", "http://[::1]/b", True),
    ],
)
def test_truth_4_pages_of_one_publisher_are_one_witness(one: str, other: str, same: bool) -> None:
    said = (fact(QUOTE, source="S1", kind="web", url=one), fact(AGREES, source="S2", kind="web", url=other))
    assert (len({identify_witness(each) for each in said}) == 1) is same


def test_truth_4_files_that_state_one_publisher_or_site_are_one_witness() -> None:
    one, other, third = fact(QUOTE, source="S1"), fact(AGREES, source="S2"), fact(AGREES, source="S3")
    assert grade_first(one, other) is Grade.VERIFIED
    press = [replace(each, publisher=name) for each, name in ((one, "Ardal Press"), (other, "ARDAL press"))]
    assert grade_first(*press) is Grade.PLAUSIBLE
    site = [replace(each, url=f"https://{host}.ardal.org/") for each, host in ((one, "docs"), (other, "www"))]
    assert grade_first(*site) is Grade.PLAUSIBLE
    assert grade_first(*site, third) is Grade.VERIFIED


def test_truth_4_copied_sentences_are_one_witness() -> None:
    long = "The harbour of Ardal was opened to steamers and fishing boats under royal charter during summer 1874."
    one, copy = web(long, "example.com", "S1"), web(long.replace("during", "in the"), "example.org", "S2")
    assert grade_first(one, copy) is Grade.UNVERIFIED


def test_a_longer_statement_that_says_more_is_no_copy() -> None:
    short = "The harbour of Ardal opened for steamers and fishing boats under royal charter."
    longer = short.replace(".", ", after years of debate, floods, a lottery, two wars and one railway nobody wanted.")
    assert grade_first(web(short, "example.com", "S1"), web(longer, "example.org", "S2")) is Grade.VERIFIED


def test_words_that_a_manual_uses_everywhere_are_no_agreement_on_what_one_sentence_adds() -> None:
    manual = [
        web(text, "crane.example.com", f"S{at}")
        for at, text in enumerate(
            (
                "Write the log of the crane to FILE. The default is the file crane.log of the yard.",
                "The log of the crane is a file that can be read while the crane works.",
                "Execute a program after the log file of the crane is closed.",
                "Keep the log file of the crane when the yard closes.",
            )
        )
    ]
    claimed = web("The crane writes its log file every hour.", "blog.example.org", "S9")
    assert grade_facts([*manual, claimed])[0][0].grade is Grade.UNVERIFIED
    assert grade_facts([manual[0], claimed])[0][0].grade is Grade.VERIFIED, "alone they look alike"
    agrees = web("While the crane works, its log file can be read.", "blog.example.org", "S9")
    assert grade_facts([*manual, agrees])[0][1].grade is Grade.VERIFIED


def test_three_shared_words_agree_and_two_do_not() -> None:
    one = web("Ardal harbour opened.", "example.com", "S1")
    assert grade_first(one, web("Ardal harbour opened.", "example.org", "S2")) is Grade.VERIFIED
    two = web("Ardal opened.", "example.com", "S1")
    assert grade_first(two, web("Ardal opened.", "example.org", "S2")) is Grade.UNVERIFIED


def test_numbers_in_words_must_agree() -> None:
    said = "The supervisor of the harbour waits five seconds before it restarts a crane."
    other = "The supervisor of the harbour waits a second before it restarts a crane."
    assert grade_first(web(said, "one.net", "S1"), web(other, "two.net", "S2")) is Grade.UNVERIFIED
    agrees = "Before it restarts one, a crane waits 5 seconds for the supervisor of the harbour."
    assert grade_first(web(said, "one.net", "S1"), web(agrees, "two.net", "S2")) is Grade.VERIFIED


def test_what_is_said_of_two_subjects_is_no_agreement() -> None:
    said = "By default the number of log files that are kept is 10."
    other = "The number of log files kept by default is 10."
    about = [web(said, "one.net", "S1", subjects=("crane",)), web(other, "two.net", "S2", subjects=("gate",))]
    assert grade_first(*about) is Grade.UNVERIFIED
    assert grade_first(about[0], web(other, "two.net", "S2", subjects=("crane", "gate"))) is Grade.VERIFIED
    assert grade_first(about[0], web(other, "two.net", "S2")) is Grade.VERIFIED


def test_words_of_obligation_must_agree() -> None:
    one = fact("Verifiers should not require periodic changes of passwords.", source="S1")
    other = fact("Verifiers shall not require periodic changes of passwords.", source="S2")
    assert grade_first(one, other) is Grade.PLAUSIBLE


@pytest.mark.parametrize(
    ("url", "official"),
    [
        ("https://www.ports.gov/rules", True),
        ("https://www.gov.uk/ports", True),
        ("https://physics.ox.ac.uk", True),
        ("https://mit.edu", True),
        ("https://datatracker.ietf.org/doc/x", True),
        ("https://gov.example.com", False),
        ("https://mygov.com", False),
        ("https://notietf.org", False),
        ("file.md", False),
        ("https://[broken", False),
        ("", False),
    ],
)
def test_official_addresses(url: str, official: bool) -> None:
    assert is_official(url) is official


def test_confidence_adds_over_witnesses_and_not_over_copies() -> None:
    one, other = fact(confidence=0.5, source="S1"), fact(confidence=0.5, source="S2")
    copy = fact(confidence=0.4, source="S3", origin="origin of S1")
    assert combine_confidence([one]) == 0.5
    assert combine_confidence([one, other]) == 0.75
    assert combine_confidence([one, copy]) == 0.5
    assert combine_confidence([]) == 0.0


def test_confidence_adds_over_two_documents_of_one_site_and_not_over_its_pages() -> None:
    said = ((QUOTE, "S1", "docs"), (AGREES, "S2", "www"))
    for kind, most in (("document", 0.75), ("web", 0.5)):
        found = [fact(text, source=each, kind=kind, url=f"https://{host}.ardal.org/") for text, each, host in said]
        assert combine_confidence(found) == pytest.approx(most), kind
        assert len(group_witnesses(found)) == 1


def test_the_best_come_first() -> None:
    weak = fact("a", grade=Grade.UNVERIFIED, confidence=0.9)
    sure = fact("b", grade=Grade.VERIFIED, confidence=0.1)
    surer = fact("c", grade=Grade.VERIFIED, confidence=0.2)
    assert sort_by_grade([weak, sure, surer]) == (surer, sure, weak)


SENTENCES = st.sampled_from(
    [QUOTE, AGREES, "Steamers may not enter Ardal harbour.", "Fish is salted in Bergen.", "In 1875 it closed.", "Yes"]
)
FACTS = st.lists(
    st.builds(
        lambda quote, number, kind, host, origin, primary, sure: fact(
            quote,
            source=f"S{number} {kind} {host} {origin} {primary}",  # all that an id stands for is equal where ids are
            kind=kind,
            url=f"https://{host}/x" if kind == "web" else f"{number}.md",
            origin=origin,
            primary=primary,
            confidence=sure,
        ),
        SENTENCES,
        st.integers(1, 4),
        st.sampled_from(["web", "document"]),
        st.sampled_from(["example.com", "example.org", "city.gov"]),
        st.sampled_from(["", "o1", "o2"]),
        st.booleans(),
        st.floats(-1, 2),
    ),
    max_size=8,
    unique_by=lambda each: each.id,
)


@given(FACTS, SENTENCES)
def test_a_page_of_another_publisher_never_lowers_a_grade(facts, quote) -> None:
    more = [fact(quote, source="S9", kind="web", url="https://example.net/x")]  # it joins no two that were apart
    order = [Grade.UNVERIFIED, Grade.PLAUSIBLE, Grade.VERIFIED]
    for alone, among in zip(grade_facts(facts)[0], grade_facts(merge_facts(facts, more))[0], strict=False):
        assert order.index(among.grade) >= order.index(alone.grade)


@given(FACTS)
def test_a_grade_never_depends_on_what_a_model_thinks(facts) -> None:
    boasted = [replace(each, confidence=1.0, grade=Grade.VERIFIED) for each in facts]
    assert [each.grade for each in grade_facts(boasted)[0]] == [each.grade for each in grade_facts(facts)[0]]


@given(FACTS)
def test_grading_twice_changes_nothing(facts) -> None:
    once, statements = grade_facts(facts)
    assert grade_facts(once) == (once, statements)
    assert 0.0 <= combine_confidence(facts) <= 1.0


@given(FACTS, st.randoms())
def test_statements_do_not_depend_on_the_order_of_facts(facts, chance) -> None:
    turned = list(facts)
    chance.shuffle(turned)
    statements = group_statements(list({each.id: each for each in facts}.values()))
    assert {each.facts for each in statements} == {
        each.facts for each in group_statements(list({each.id: each for each in turned}.values()))
    }
    told = [fact for each in statements for fact in each.facts]
    assert sorted(told) == sorted({each.id for each in facts}), "every fact belongs to one statement"


def test_a_copy_and_a_paraphrase_are_one_statement_and_another_number_is_not() -> None:
    one, copy = web(QUOTE, "example.com", "S1"), web(QUOTE, "example.org", "S2", origin="origin of S1")
    other = web(QUOTE.replace("1874", "1875"), "example.net", "S3")
    statements = group_statements([one, web(AGREES, "example.edu", "S4"), copy, other])
    assert sorted(len(each.facts) for each in statements) == [1, 3]


@pytest.mark.parametrize(
    ("host", "path", "names", "grade"),
    [
        ("en.wikipedia.org", "Ardal", (), Grade.PLAUSIBLE),
        ("docs.ardal.org", "x", ("Ardal",), Grade.PLAUSIBLE),
        ("www.ardal.co.uk", "x", ("Ardal",), Grade.PLAUSIBLE),
        ("ardal.readthedocs.io", "x", ("Ardal",), Grade.PLAUSIBLE),
        ("github.com", "ardal/harbour", ("Ardal",), Grade.PLAUSIBLE),
        ("github.com", "someone/notes", ("Ardal",), Grade.UNVERIFIED),
        ("ardal.wordpress.com", "x", ("Ardal",), Grade.UNVERIFIED),
        ("www.ardal.org", "x", (), Grade.UNVERIFIED),
        ("notwikipedia.org", "x", (), Grade.UNVERIFIED),
    ],
)
def test_credible_publishers_are_listed_or_called_after_the_subject(host: str, path: str, names, grade) -> None:
    page = fact(QUOTE, kind="web", url=f"https://{host}/{path}")
    assert grade_facts([page], names)[0][0].grade is grade


def test_a_user_adds_credible_publishers() -> None:
    page = fact(QUOTE, kind="web", url="https://news.example.org/1")
    assert grade_facts([page])[0][0].grade is Grade.UNVERIFIED
    assert grade_facts([page], credible=("example.org",))[0][0].grade is Grade.PLAUSIBLE
