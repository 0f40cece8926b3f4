"""The body of a report in another language: lines of code change, sentences of a writer stay."""

from __future__ import annotations

from corrobora.domain.run import Request
from corrobora.reporting.report_format import read_frame, translate_body
from corrobora.text.phrases import ENGLISH, find_frame

BODY = """The rate is 3 %. [1] It may fall. *(unclear)* [2]

*[One sentence withheld: its citation leads to no source.]*

Stated in Revision 3:

- Still open: No statement that was read gives a date: When was it built?

## 2. Differences between sources

| Difference | Earlier or first | Later or second |
|---|---|---|
| 3 -> 4 | all [1] | partly [2] |

## Conclusion

A sentence of the writer names the read sources.
"""
GERMAN = """The rate is 3 %. [1] It may fall. *(unklar)* [2]

*[Ein Satz zurückgehalten: seine Quellenangabe führt zu keiner Quelle.]*

Steht in Revision 3:

- Noch offen: No statement that was read gives a date: When was it built?

## 2. Unterschiede zwischen den Quellen

| Unterschied | Früher oder zuerst | Später oder danach |
|---|---|---|
| 3 -> 4 | all [1] | partly [2] |

## Fazit

A sentence of the writer names the read sources.
"""


def test_only_lines_of_code_are_translated():
    assert translate_body(BODY, find_frame("de")) == GERMAN
    assert translate_body(BODY, ENGLISH) == BODY


def test_the_language_is_stored_with_the_request():
    assert read_frame(Request("Q?")) == ENGLISH
    assert read_frame(Request("Q?", metadata=(("language", "de"),))).translate("Gaps") == "Lücken"
