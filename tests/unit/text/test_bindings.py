"""Bindings: a number or a place that belongs to something else in the evidence is never supported."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.bindings import find_rebindings
from corrobora.text.claims import CitedEvidence
from corrobora.text.derivations import check_derivation
from corrobora.text.support import Evidence, check_support

FERRY = "The ferry line is forecast by Harbour Watch to earn 3 million euros and crowded out Sailmaster's boats."
LOCKS = "A small lock is 2^3 = 8 metres wide, a medium lock is 2^4 = 16 metres wide, a large lock is 32 metres wide."
QUAY = "Berth 16: a quay has 40 cranes, and 16 sheds per crane."
KILN = "The glaze was melting at 900 degrees and the clay was cracking at 1,200."
VAULT = "After the flood the vault was sealed. Mayor Ada Quist thanked the masons."
CHECKS = "The porter opens the gate only after its lock has been checked by the warden."
GLASSES = "Glasses were associated with fewer awakenings in nurses over 40, but not in younger ones."
CAUSE = "In the mill of Varn it was not the bearing but a loose base plate."
MINT = "Torv Mint bought Ostra Bank in 2014 for 2 million crowns."
TOLL = "The long-standing toll was 16 crowns until release 2023a of the tariff."


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("A small lock is 32 metres wide.", LOCKS),
        ("In nurses over 40, glasses caused fewer awakenings.", GLASSES),
        ("In the mill of Varn it was not a loose base plate but the bearing.", CAUSE),
        ("A quay has 16 cranes and 16 sheds per crane.", QUAY),
        ("The long-standing toll was 16 crowns from release 2023a of the tariff on.", TOLL),
        ("The ferry line has earned 3 million euros.", FERRY),
        ("The clay was cracking at 900 degrees and the glaze was melting at 1,200.", KILN),
        ("The vault was sealed before the flood.", VAULT),
        ("The warden opens the gate after the porter checked its lock; the lock is checked by the porter.", CHECKS),
    ],
)
def test_truth_3_what_belongs_to_something_else_is_not_supported(said: str, quote: str) -> None:
    found = check_support(said, [Evidence(quote)])
    assert found.support is not Support.SUPPORTED
    assert found.reasons


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("Harbour Watch forecasts that the ferry line will earn 3 million euros.", FERRY),
        ("A large lock is 32 metres wide.", LOCKS),
        ("The toll was 16 crowns until release 2023a of the tariff.", TOLL),
        ("At 900 degrees the glaze was melting, and at 1,200 the clay was cracking.", KILN),
        ("In 2014 Torv Mint acquired Ostra Bank for 2 million crowns.", MINT),
        ("The vault was sealed after the flood.", VAULT),
    ],
)
def test_what_belongs_together_is_no_problem(said: str, quote: str) -> None:
    reasons = check_support(said, [Evidence(quote)]).reasons
    told = ("something else", "of what it says")
    assert not any(words in each for each in reasons for words in told)


def test_truth_3_as_many_as_is_a_bound_and_compares_nothing() -> None:
    said = "A quay has as many as 16 cranes and 16 sheds per crane."
    cited = Evidence("A quay has up to 40 cranes, and 16 sheds per crane.")
    assert check_derivation(said, [CitedEvidence(cited, "source")]).holds is None
    assert check_support(said, [cited]).support is not Support.SUPPORTED


def test_a_number_that_stands_beside_the_words_of_another_part_is_told() -> None:
    told = ["The bridge was first priced at £165m, but the final plan of the council puts it at £207m."]
    swapped = list(find_rebindings("The final plan of the council put the bridge at £165m.", told))
    assert [each.words for each in swapped] == ["£165m"]
    assert not list(find_rebindings("The final plan of the council put the bridge at £207m.", told))


def test_a_name_to_which_another_one_does_something_is_not_who_does_it() -> None:
    assert [each.words for each in find_rebindings("In 2014 Ostra Bank acquired Torv Mint.", [MINT])] == ["Ostra Bank"]
    assert not list(find_rebindings("In 2014 Torv Mint acquired Ostra Bank.", [MINT]))
