"""Scout without a model (TREE-36)."""

from __future__ import annotations

from tests.unit.analysts.extractive.samples import play

from corrobora.roles.scout import Candidate, Sweep, scout

CANDIDATES = (
    Candidate(
        "https://a.example.gov/kiln", "Kiln safety rules", "rules on kiln opening", published="2021", found_by=("q",)
    ),
    Candidate("https://copy.example/kiln", "Kiln safety rules", "rules on kiln opening", published="2021", cluster=0),
    Candidate(
        "https://old.example/kiln", "Kiln inspection", "inspection of kilns", published="1990", publisher="Guild"
    ),
    Candidate("https://forum.example/gulls", "Gulls", "gulls in the harbour"),
)


def test_candidates_are_ranked_tagged_and_justified():
    found = play(
        scout, Sweep("root", "kiln opening and inspection rules", ("kiln opening", "kiln inspection"), CANDIDATES)
    )
    assert found.sources[0].reference == "https://a.example.gov/kiln"
    assert "official" in found.sources[0].balance
    for one in found.sources:
        assert one.rationale
        assert all(0.0 <= score <= 1.0 for score in (one.authority, one.recency, one.coverage, one.diversity))
    assert ("https://forum.example/gulls", "speaks to none of the themes") in found.excluded
    assert "kiln inspection: " in found.balance


def test_copies_share_one_place_and_the_limit_holds():
    first, second = (Candidate(f"https://{n}.example", "Kiln rules", "kiln rules", cluster=7) for n in "ab")
    found = play(scout, Sweep("root", "kiln rules", (), (second, first)))
    assert [one.reference for one in found.sources] == ["https://a.example"]
    assert "copy" in found.excluded[0][1]
    limited = play(scout, Sweep("root", "kiln rules", (), CANDIDATES[:3], limit=1))
    assert len(limited.sources) == 1


def test_the_order_of_candidates_does_not_matter():
    one = play(scout, Sweep("root", "kiln rules", ("kiln opening",), CANDIDATES))
    assert one.sources == play(scout, Sweep("root", "kiln rules", ("kiln opening",), CANDIDATES[::-1])).sources
