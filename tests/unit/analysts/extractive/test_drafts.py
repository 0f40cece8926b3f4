"""Drafts: the cited sentences of any Markdown draft."""

from __future__ import annotations

from corrobora.analysts.extractive.judge import parse_sentences
from corrobora.text import phrases

BODY = f"""# Title

## One

First sentence [S1:C1]. Second one is here [S2:C2][S3:C3]!

- A point without a marker.
- Marker after the stop. [S4:C4]

| Difference | Earlier | Later |
|---|---|---|
| a -> b | Old words [S1:C1]. | New words [S2:C2]. |

---

{phrases.NO_EVIDENCE} for this.
"""


def test_sentences_keep_their_markers_wherever_they_stand():
    markers = [one.markers for one in parse_sentences(BODY)]
    one, two, three, four = ("[S1:C1]", "[S2:C2]", "[S3:C3]", "[S4:C4]")
    assert markers == [(one,), (two, three), (), (four,), (one,), (two,)]


def test_headings_rules_and_wordings_of_code_are_no_sentences():
    assert not any(phrases.NO_EVIDENCE in one.text for one in parse_sentences(BODY))


def test_a_cell_that_cites_at_its_end_cites_for_all_of_it():
    said = "Old: The mill was built. Its owner was Hale. [S1:C1]"
    table = f"| Difference | One | Other |\n|---|---|---|\n| x | {said} | The mill burned [S2:C2]. |"
    assert [(s.text, s.markers) for s in parse_sentences(table)] == [
        ("Old: The mill was built. Its owner was Hale.", ("[S1:C1]",)),
        ("The mill burned.", ("[S2:C2]",)),
    ]


def test_a_gap_that_is_told_in_several_sentences_is_no_claim():
    assert parse_sentences("- No sufficient evidence: The mill. It is red. Why?") == []
