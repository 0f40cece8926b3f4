"""Derivations: honest ones are executed again, falsified ones never are (TRUTH-3)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.claims import CitedEvidence, read_claim, scan_numbers
from corrobora.text.derivations import ReadDocument, ReadingSet, check_derivation, find_mention, is_about_reading
from corrobora.text.operations import DerivationKind
from corrobora.text.support import Evidence

TEXTS = {
    "S1": "Passkeys resist phishing. Verifiers shall require at least 8 characters.",
    "S2": "SMS is restricted. Verifiers shall require at least 8 characters.",
    "S3": "Biometrics need care.",
    "S4": "Nothing on keys. Verifiers shall require at least 15 characters.",
}
READING = ReadingSet(
    tuple(ReadDocument(name) for name in TEXTS), lambda name, words: find_mention(TEXTS.get(name, ""), words), 1, 2
)
REST = "; 1 more could not be read and 2 were not opened."
NUMBERS = st.integers(2, 700)


def cite(quote: str, title: str, published: str, source: str) -> CitedEvidence:
    return CitedEvidence(Evidence(quote, title, published=published), source)


def cite_pair(older: int, newer: int) -> list[CitedEvidence]:
    return [
        cite(f"Passwords have at least {older} characters.", "The Old Guide", "2017-06", "S1"),
        cite(f"Passwords have at least {newer} characters.", "The New Rules", "2022-12", "S2"),
    ]


def is_executed(sentence: str, cited: list[CitedEvidence], kind: DerivationKind) -> bool | None:
    found = check_derivation(sentence, cited)
    assert found.kind is kind, (sentence, found)
    return found.holds


@given(NUMBERS, NUMBERS, st.integers(1, 50))
def test_operations_hold_only_as_they_come_out(one: int, other: int, off: int) -> None:
    low, high = min(one, other), max(one, other) + (one == other)
    cited, apart = cite_pair(low, high), high - low
    told = {
        "The Old Guide ({low}) and The New Rules ({high}) together have {result} characters.": low + high,
        "The New Rules have {result} characters more than The Old Guide ({high} against {low}).": apart,
        "The average of {low} characters in The Old Guide and {high} in The New Rules is {result}.": (low + high) / 2,
        "{high} characters are {result} % more than {low} characters.": 100 * apart / low,
    }  # fmt: skip
    for form, result in told.items():
        right = form.format(low=low, high=high, result=f"{result:.6g}")
        assert is_executed(right, cited, DerivationKind.ARITHMETIC) is True, right
        wrong = form.format(low=low, high=high, result=f"{result + off:.6g}")
        assert is_executed(wrong, cited, DerivationKind.ARITHMETIC) is not True, wrong
        operand = form.format(low=low + 1000, high=high, result=f"{result:.6g}")
        assert is_executed(operand, cited, DerivationKind.ARITHMETIC) is not True, operand


@given(NUMBERS, NUMBERS)
def test_trends_and_comparisons_know_their_direction_sides_and_years(older: int, newer: int) -> None:
    cited = cite_pair(older, newer)
    verb, other = ("rose", "fell") if newer > older else ("fell", "rose")
    verb = "remained unchanged" if newer == older else verb
    said = f"The minimum {verb} from {older} characters in 2017 to {newer} characters in 2022."
    assert is_executed(said, cited, DerivationKind.TREND) is True
    assert is_executed(said.replace(verb, other), cited, DerivationKind.TREND) is not True
    assert is_executed(said.replace("2017", "2015"), cited, DerivationKind.TREND) is not True
    word, opposite = ("more", "fewer") if newer > older else ("fewer", "more")
    said = f"The New Rules ask for {word} characters ({newer}) than The Old Guide ({older})."
    if newer != older:
        assert is_executed(said, cited, DerivationKind.COMPARISON) is True
        assert is_executed(said.replace(word, opposite), cited, DerivationKind.COMPARISON) is False
        swapped = f"The Old Guide asks for {word} characters ({newer}) than The New Rules ({older})."
        assert is_executed(swapped, cited, DerivationKind.COMPARISON) is not True
        assert is_executed(said.replace("characters", "minutes"), cited, DerivationKind.COMPARISON) is not True


@given(st.integers(2, 99), st.integers(2, 9), st.booleans())
def test_a_conclusion_behind_both_operands_is_computed_in_its_own_order(one: int, factor: int, reverse: bool) -> None:
    low, high = ("ResumeTimeout", "SuspendTimeout") if reverse else ("SuspendTimeout", "ResumeTimeout")
    amounts = {low: one, high: one * factor}
    cited = [
        cite(f"{name}: by default {amounts[name]} seconds.", "Manual", "", f"S{at}") for at, name in enumerate(amounts)
    ]
    stated = " and ".join(
        f"{name} has a default of {amounts[name]} seconds" for name in ("SuspendTimeout", "ResumeTimeout")
    )
    more = one * factor - one
    for said, kind in (
        (f"the default of {{0}} is {factor} times as long as that of {{1}}", DerivationKind.COMPARISON),
        ("the default of {0} is longer than that of {1}", DerivationKind.COMPARISON),
        ("the default of {1} is shorter than that of {0}", DerivationKind.COMPARISON),
        (f"the default of {{0}} is {more} seconds longer than that of {{1}}", DerivationKind.ARITHMETIC),
        (f"the default of {{0}} is {100 * (factor - 1)} % longer than that of {{1}}", DerivationKind.ARITHMETIC),
    ):
        right, wrong = (f"{stated}, so {said.format(*pair)}." for pair in ((high, low), (low, high)))
        assert is_executed(right, cited, kind) is True, right
        assert is_executed(wrong, cited, kind) is False, wrong


@given(st.integers(20, 99), st.integers(3, 9))
def test_a_conclusion_without_a_name_is_of_the_last_amount_and_one_that_differs_has_no_order(
    one: int, factor: int
) -> None:
    few, many = (f"the {side} depot has {amount} cars" for side, amount in (("north", one), ("south", one * factor)))
    cited = [cite(f"{each.capitalize()}.", "Depots", "", f"S{at}") for at, each in enumerate((few, many))]
    kind, times = DerivationKind.COMPARISON, f"{factor} times as many"
    assert is_executed(f"{few.capitalize()} and {many}, {times}.", cited, kind) is True
    assert is_executed(f"{many.capitalize()} and {few}, {times}.", cited, kind) is False
    assert is_executed(f"The depots have {one} cars and {one * factor} cars, {times}.", cited, kind) is True
    for pair in ((one, one * factor), (one * factor, one)):
        said = "The {} cars of one depot and the {} cars of the other differ by a factor of {}."
        assert is_executed(said.format(*pair, factor), cited, kind) is True
        assert is_executed(said.format(*pair, factor + 1), cited, kind) is False


@given(NUMBERS, NUMBERS)
def test_a_number_before_is_higher_than_is_compared_and_no_difference(one: int, other: int) -> None:
    cited = [
        cite(f"The panic threshold is {one} s.", "Clock Guide", "2017-06", "S1"),
        cite(f"The stepout threshold is {other} s.", "Clock Guide", "2017-06", "S2"),
    ]
    said = f"The panic threshold of {one} s is higher than the stepout threshold of {other} s."
    assert is_executed(said, cited, DerivationKind.COMPARISON) is (one > other)
    either = f"The panic threshold of {one} s is higher than either {other} s or {other + 1} s."
    cited.append(cite(f"Another page says {other + 1} s.", "Clock Guide", "2018", "S3"))
    assert is_executed(either, cited, DerivationKind.COMPARISON) is None, "three numbers are left to a reader"


@pytest.mark.parametrize(
    ("said", "quotes"),
    [
        (
            "Under stress the timeout is 10 seconds instead of 300 seconds, and one of 20 errors is enough.",
            ("Under stress the timeout is 10 seconds instead of 300 seconds.", "One of 20 errors is enough."),
        ),
        (
            "From 10 errors on, the server delays all answers by 1 second; at 20 it breaks the connection.",
            ("From 10 errors on, the server delays all answers by 1 second.", "At 20 errors it breaks the connection."),
        ),
        (
            "One user speaks of 180 seconds, while another one in the same thread speaks of 240 seconds.",
            ("We use 180 seconds.", "The default of 240 seconds was too slow for us."),
        ),
    ],
    ids=["instead-of-is-no-share", "by-is-no-difference", "in-the-same-thread-is-no-equality"],
)
def test_what_computes_nothing_is_not_computed(said: str, quotes: tuple[str, ...]) -> None:
    found = check_derivation(said, [CitedEvidence(Evidence(each), f"S{at}") for at, each in enumerate(quotes)])
    assert not found.withholds, found
    assert found.holds is None, found


@given(NUMBERS, NUMBERS)
def test_units_that_are_written_onto_their_number_are_units(one: int, other: int) -> None:
    low, high = min(one, other), max(one, other) + (one == other)
    cited = [
        cite(f"longest_wait ({high}d)", "Guide", "2017", "S1"),
        cite(f"shortest_wait ({low}d)", "Guide", "2017", "S2"),
    ]
    assert is_executed(f"{high}d is {high - low}d longer than {low}d.", cited, DerivationKind.ARITHMETIC) is True
    assert (
        is_executed(f"{high}d is {high - low} days longer than {low}d.", cited, DerivationKind.ARITHMETIC) is not False
    )
    assert is_executed(f"{high}d is {high - low} hours longer than {low}d.", cited, DerivationKind.ARITHMETIC) is False
    assert is_executed(f"{high}d is {high - low + 1}d longer than {low}d.", cited, DerivationKind.ARITHMETIC) is False


def test_operands_may_be_found_by_their_sides() -> None:
    cited = cite_pair(8, 15)
    found = check_derivation("The New Rules ask for 7 characters more than The Old Guide.", cited)
    assert (found.holds, found.steps) == (True, ("15 - 8 = 7",))
    assert check_derivation("The New Rules ask for 8 characters more than The Old Guide.", cited).holds is False
    assert check_derivation("The New Rules ask for 7 characters more than The Third Book.", cited).holds is not True


@pytest.mark.parametrize(
    "sentence",
    [
        f"None of the 4 documents read mentions fingerprints{REST}",
        f"Of the 4 documents read, none mentions fingerprints{REST}",
        f"Fingerprints were not found in the four documents read{REST}",
        f"No document of the 4 read mentions fingerprints or voices{REST}",
        "Two of the 4 documents read mention SMS or passkeys.",
        "One of the four documents read mentions “SMS”.",
    ],
)
def test_what_is_said_of_the_reading_set_is_looked_up(sentence: str) -> None:
    assert is_about_reading(f"- {sentence}")
    assert check_derivation(sentence, (), READING).holds is True
    more = replace(READING, documents=(*READING.documents, ReadDocument("S5")))
    assert check_derivation(sentence, (), more).holds is False
    assert check_derivation(sentence, ()).holds is None  # without the reading set nothing is known


@given(st.integers(0, 9), st.integers(0, 9), st.sampled_from(sorted(TEXTS)))
def test_an_absence_falls_by_a_counter_example_and_by_what_it_hides(failed: int, unread: int, place: str) -> None:
    said = f"None of the 4 documents read mentions fingerprints{REST}"
    changed = replace(READING, failed=failed, unread=unread)
    assert check_derivation(said, (), changed).holds is ((failed, unread) == (1, 2))
    texts = {**TEXTS, place: f"{TEXTS[place]} A fingerprint is enough."}
    planted = replace(READING, find_mention=lambda name, words: find_mention(texts[name], words))
    found = check_derivation(said, (), planted)
    assert found.holds is False
    assert found.withholds
    assert found.steps == ("A fingerprint is enough.",)


JOINED = (
    "Verifiers require at least 8 characters, and none of the 4 documents read mentions fingerprints{rest}",
    "None of the 4 documents read mentions fingerprints{rest}, but verifiers require at least 8 characters.",
    "Verifiers require at least 8 characters; fingerprints are not mentioned in any of the 4 documents read{rest}",
)


@pytest.mark.parametrize("sentence", JOINED)
def test_an_absence_beside_a_claim_is_looked_up_and_its_sources_need_carry_the_claim_alone(sentence: str) -> None:
    """The number of documents stands in no source: it is that of what was read."""
    cited = [cite("Verifiers shall require at least 8 characters.", "The Rules", "2022-12", "S1")]
    said = sentence.format(rest=REST.rstrip(".") if ", but" in sentence else REST)
    assert is_about_reading(said)
    found = check_derivation(said, cited, READING)
    assert (found.holds, found.said.lower().rstrip(".")) == (None, "verifiers require at least 8 characters")
    assert found.steps
    wrong = check_derivation(said.replace("4 documents", "5 documents"), cited, READING)
    assert wrong.holds is False
    assert wrong.withholds
    assert "4 documents were read" in wrong.reason
    texts = {**TEXTS, "S3": "A fingerprint is enough."}
    planted = replace(READING, find_mention=lambda name, words: find_mention(texts[name], words))
    assert check_derivation(said, cited, planted).withholds
    assert not check_derivation(said, cited).steps, "without the reading set nothing is known"


OPEN = (
    "No figure for the cost of passkeys was found.",
    "None of the documents read compares the three methods.",
    "The documents that were read give no limit for passkeys.",
    "The sources do not say how often a passkey is renewed.",
    "This research found no benchmark of passkeys.",
    "Whether RFC 9000 limits passkeys remains open.",
    "How a passkey is revoked is not described.",
)


@pytest.mark.parametrize("sentence", OPEN)
def test_an_absence_in_ordinary_words_is_looked_up_and_falls_by_a_sentence_with_all_its_words(sentence: str) -> None:
    read = replace(READING, asked="Does RFC 9000 limit passkeys?")
    assert is_about_reading(sentence)
    found = check_derivation(sentence, (), read)
    assert (found.kind, found.holds, len(found.steps)) == (DerivationKind.ABSENCE, None, 1)
    assert not check_derivation(sentence, ()).steps  # nothing was looked up
    told = "A figure for the cost of passkeys, a limit, a benchmark. A passkey is revoked so. How often a passkey is "
    told += "renewed. RFC 9000 limits passkeys. It compares the three methods."
    texts = {**TEXTS, "S1": told}
    planted = replace(read, find_mention=lambda name, words: find_mention(texts[name], words))
    assert check_derivation(sentence, (), planted).holds is False
    assert not check_derivation("Whether RFC 9001 limits passkeys remains open.", (), read).steps, "nobody named it"
    assert not check_derivation(f"{sentence[:-1]}, because passkeys are new.", (), read).steps, "it says more"


def test_how_often_something_is_done_is_no_ratio() -> None:
    quotes = ("The default is to retry 3 times.", "The step is 0.2 seconds, and the most is 0.2 seconds.")
    cited = [CitedEvidence(Evidence(quote), "S1") for quote in quotes]
    said = "It retries 3 times, and each try waits 0.2 seconds more, up to 0.2 seconds."
    assert check_derivation(said, cited).holds is not False


@pytest.mark.parametrize("often", ["twice in 10 minutes", "twice within 10 minutes", "twice per 10 minutes"])
def test_twice_in_a_time_is_no_ratio(often: str) -> None:
    """It came out as 0.1 of two times that the sentence has: a true rule was withheld as false."""
    quote = "A client that reaches the limit 2 times within 10 minutes is banned for 1 hour."
    found = check_derivation(
        f"A client is banned for 1 hour if it reaches the limit {often}.", [cite(quote, "", "", "S1")]
    )
    assert (found.kind, found.holds) == (DerivationKind.RESTATEMENT, None)


def test_a_claim_about_the_world_is_no_absence_of_the_reading() -> None:
    for said in ("No survivors were found.", "The mill was not found in 1951.", "No bridge was found in the river."):
        assert check_derivation(said, (), READING).kind is not DerivationKind.ABSENCE


def test_an_absence_speaks_of_what_was_read_never_of_the_world() -> None:
    for said in (
        "There is no rule on fingerprints.",
        "Rules on fingerprints do not exist.",
        "No document read mentions it.",
    ):
        assert check_derivation(said, (), READING).holds is not True
    assert check_derivation("None of the 4 documents mentions fingerprints.", (), READING).holds is False
    assert check_derivation("None of the 4 documents read mentions fingerprints.", (), READING).holds is False
    for said, size in (("None of the 4 documents read compares SMS with passkeys.", True), ("None of the 5", False)):
        found = check_derivation(said if size else said + " documents read compares SMS with passkeys.", (), READING)
        assert (found.kind, bool(found.steps), found.withholds) == (DerivationKind.ABSENCE, size, not size)


def test_sources_are_counted_by_what_their_evidence_supports() -> None:
    cited = [CitedEvidence(Evidence(TEXTS[name].split(". ")[1]), name) for name in ("S1", "S2", "S4")]
    assert check_derivation("Two of the three cited sources require at least 8 characters.", cited).holds is True
    off = check_derivation("Two of the nine sources require at least 8 characters.", cited, READING)
    assert off.holds is False
    assert off.reason == f"it speaks of 9, while 3 are cited and {len(READING.documents)} were read"
    assert (
        check_derivation("Two of the 4 documents read require at least 8 characters.", cited[:2], READING).holds is True
    )
    for wrong in (
        "All three cited sources require at least 8 characters.",
        "Two of the four cited sources require 8 characters.",
    ):
        assert check_derivation(wrong, cited).holds is not True


def test_judgements_are_labelled_and_bring_no_figures_of_their_own() -> None:
    cited = cite_pair(8, 15)
    assert check_derivation("In our judgement 15 characters are wise.", cited).kind is DerivationKind.JUDGEMENT
    assert check_derivation("In our judgement 15 characters are wise.", cited).holds is None
    assert check_derivation("I infer that 15 characters are wise.", cited).kind is DerivationKind.JUDGEMENT
    assert check_derivation("We conclude that 15 characters are wise.", cited).kind is not DerivationKind.JUDGEMENT
    assert check_derivation("Judgement: 20 characters are wise.", cited).holds is False


def test_a_copy_is_a_quote_and_what_the_source_computes_itself_is_no_derivation() -> None:
    cited = [cite("Together the parts have 20 pages, 8 more than before.", "Parts", "", "S1")]
    assert check_derivation("Together the parts have 20 pages.", cited).kind is DerivationKind.QUOTE
    assert check_derivation("The parts together have 20 pages.", cited).kind is DerivationKind.RESTATEMENT


def test_a_claim_is_read_with_its_operator_direction_and_operands() -> None:
    claim = read_claim("The limit fell by 7 characters, from 15 to 8.", (), pieces=1)
    assert claim is not None
    assert (claim.operator, claim.direction, claim.over_time) == ("difference", -1, True)
    assert [one.value for one in claim.operands] == [15, 8]
    assert read_claim("The limit is 8 characters.", (), pieces=1) is None


def test_numbers_that_name_something_are_no_operands() -> None:
    assert [one.value for one in scan_numbers("Revision 3 of SP 800-63-3 asks for 8 characters, twelve in 2022.")] == [
        8,
        12,
        2022,
    ]


RAISED = "The default of retention.hours is raised from 72 to 96 hours: three days did not cover a long weekend."
LOWERED = "The default of retention.hours is lowered from 168 to 72 hours, because disks were full."


def test_a_change_that_its_source_tells_the_other_way_round_is_false():
    cited = [cite(RAISED, "Release notes", "2024-08", "S1"), cite(LOWERED, "Older notes", "2023-11", "S2")]
    for some in (cited[:1], cited):
        told = check_derivation("Version 3.1 lowered the default of retention.hours from 96 to 72 hours.", some)
        assert told.holds is False, some
        true = check_derivation("Version 3.1 raised the default of retention.hours from 72 to 96 hours.", some)
        assert true.holds is not False, some


LIMITS = (
    "The setting message.max_bytes limits the size of one message. Its default is 8 MiB. "
    "Values above 64 MiB are refused at start."
)


def test_a_bound_is_no_comparison():
    cited = [cite(LIMITS, "Reference 3.2", "2025-03", "S1")]
    cited.append(cite("Values above 16 MiB are refused at start.", "Reference 2.8", "2022-06", "S2"))
    for sentence in (
        "The reference gives a default of 8 MiB and refuses values above 64 MiB.",
        "Version 3.2 refuses values above 64 MiB at start; 2.8 refuses values above 16 MiB.",
    ):
        assert check_derivation(sentence, cited).holds is not False, sentence


@pytest.mark.parametrize(("total", "holds"), [("5000 GB", True), ("6000 GB", False), ("5000 MB", False)])
def test_a_product_of_a_count_and_an_amount_each_is_computed(total: str, holds: bool) -> None:
    quotes = ("At most 1000 segments are supported in a static object.", "A segment of an object has up to 5 GB.")
    cited = [CitedEvidence(Evidence(quote), f"S{at}") for at, quote in enumerate(quotes)]
    said = f"A static object with 1000 segments of 5 GB each has {total}."
    assert is_executed(said, cited, DerivationKind.ARITHMETIC) is holds


def test_a_stated_sum_in_words_is_not_replaced_by_a_total_of_the_quote() -> None:
    quote = "It waits one, two and then three seconds between the attempts, for a total of 5 seconds."
    cited = [CitedEvidence(Evidence(quote), "S1")]
    assert (
        check_derivation("The sum of one second, two seconds and three seconds is 6 seconds.", cited).withholds is False
    )
    assert check_derivation("It respawns a daemon at most 3 times.", cited).holds is None
