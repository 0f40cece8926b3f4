"""Code in documents: it is quoted with what leads it in, and printed, checked and exported as it stands there."""

from __future__ import annotations

import json

import pytest
from tests.plugins.shell import Shell

ROTATE = '# Gaps\nrotate("kiln.log", keep=7)\nfor each in old():\n    # 2. Remove\n    each.remove()  ...'
MARKDOWN = (
    f"# Kiln\n\nTo rotate the log of a kiln, call the function below:\n\n```python\n{ROTATE}\n```\n\nThe log is text.\n"
)
INDENTED = ROTATE.replace("\n", "\n    ")
RST = f"Kiln\n====\n\nTo rotate the log of a kiln, call the function below::\n\n    {INDENTED}\n\nThe log is text.\n"
DIRECTIVE = RST.replace("below::\n", "below:\n\n.. code-block:: python\n")
HTML = (
    "<html><body><h1>Kiln</h1><p>To rotate the log of a kiln, call the function below:</p>"
    f"<pre><code>{ROTATE}</code></pre><p>The log is text.</p></body></html>"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [("kiln.md", MARKDOWN), ("kiln.rst", RST), ("kiln.rst", DIRECTIVE), ("kiln.html", HTML)],
    ids=["fenced", "literal block", "directive", "pre"],
)
def test_code_is_printed_as_it_stands_in_its_source_and_checked_as_one_statement(
    served: Shell, name: str, text: str
) -> None:
    """Its lines were joined to prose, those without letters were lost, and a comment counted as a heading."""
    (served.folder / name).write_text(text)
    assert served("library", "add", "docs", name).code == 0
    ran = served("research", "How do I rotate the log of a kiln?", "-l", "docs", "--output", "out.md", "-q", "--json")
    report = (served.folder / "out.md").read_text()
    printed = f"call the function below: [1]\n\n```\n{ROTATE}\n```\n\n[1]\n"
    assert printed in report
    copied = [each["follows"] for each in json.loads(ran.out)["checks"] if not each["withheld"]]
    assert copied == ["quote"] * len(copied)
    assert served("verify", "out.md").code == 0
    for change in ("keep=9", "keep=7, force=True"):
        (served.folder / "forged.md").write_text(report.replace("keep=7", change, 1))
        forged = served("verify", "forged.md")
        assert (forged.code != 0, "line 8" in forged.out + forged.err) == (True, True), forged.out
    exported = served("export", json.loads(ran.out)["run_id"], "--format", "html", "--output", "out.html")
    assert exported.code == 0, exported.err
    page = (served.folder / "out.html").read_text()
    assert "    # 2. Remove\n    each.remove()  ...\n</code></pre>" in page


def test_code_that_is_longer_than_a_quote_shows_that_it_goes_on(served: Shell) -> None:
    code = "\n\n".join(
        f"rotate({each}, keep=7)\n" + f"    remove_the_old_log_of_kiln({each})\n" * 6 for each in range(9)
    )
    (served.folder / "kiln.md").write_text(MARKDOWN.replace(ROTATE, code))
    served("library", "add", "docs", "kiln.md")
    assert served("research", "How do I rotate the log of a kiln?", "-l", "docs", "-o", "out.md", "-q").code == 0
    body = (served.folder / "out.md").read_text().partition("\n## ")[0]
    assert ("kiln(1)\n```\n\n… [1]\n" in body, "rotate(2" in body) == (True, False)
    assert served("verify", "out.md").code == 0


def test_an_edit_that_drops_what_leads_in_code_drops_the_code_and_says_so(served: Shell) -> None:
    (served.folder / "kiln.md").write_text(MARKDOWN)
    served("library", "add", "docs", "kiln.md")
    ran = served("research", "How do I rotate the log of a kiln?", "-l", "docs", "-q", "--json")
    outline = json.loads(served("edit", "last", "--outline", "--json").out)["sentences"]
    (lead,) = (each["id"] for each in outline if each["text"].endswith("below:"))
    assert [each["text"] for each in outline if "[" in each["text"] or "rotate(" in each["text"]] == []
    assert "a sentence that leads in code" in served("edit", "last", "--move", f"{lead}=0", "-q").complaint
    waits = json.loads(served("edit", json.loads(ran.out)["run_id"], "--drop", lead, "--json", "-q").out)["changes"]
    assert any("rotate(" in each["text"] for each in waits[0]["losses"])
    assert (
        served("edit", json.loads(ran.out)["run_id"], "--drop", lead, "--accept", "1", "-q", "-o", "out.md").code == 0
    )
    report = (served.folder / "out.md").read_text()
    assert ("call the function" in report.partition("## Sources")[0], "```" in report) == (False, False)
    assert served("verify", "out.md").code == 0


def test_code_that_no_sentence_leads_in_is_not_quoted_with_one(served: Shell) -> None:
    """Below "Buffers are sent unmodified" stood an example of something else."""
    text = "# Kiln\n\nThe glaze of a kiln melts at 1240 degrees in all weathers.\n\n```\nopen_door(3)\n```\n"
    named = (
        "## Doors\n\nA door of a kiln is closed by close_door and stays so for 8 hours.\n\n```\nclose_door(4)\n```\n"
    )
    (served.folder / "kiln.md").write_text(f"{text}\n{named}")
    served("library", "add", "docs", "kiln.md")
    glaze = served("research", "At how many degrees does the glaze of a kiln melt?", "-l", "docs", "-q").out
    assert ("1240" in glaze.partition("\n## ")[0], "open_door" in glaze.partition("\n## ")[0]) == (True, False)
    door = served("research", "How is a door of a kiln closed?", "-l", "docs", "-q").out
    assert "```\nclose_door(4)\n```" in door


def test_code_that_holds_a_fence_of_its_own_breaks_no_report(served: Shell) -> None:
    inner = "```\nrotate(7)\n```"
    (served.folder / "kiln.md").write_text(
        f"# Kiln\n\nTo show the log of a kiln, write a fence:\n\n````\n{inner}\n````\n"
    )
    served("library", "add", "docs", "kiln.md")
    assert served("research", "How do I show the log of a kiln?", "-l", "docs", "-o", "out.md", "-q").code == 0
    report = (served.folder / "out.md").read_text()
    assert ("rotate(7)" in report.partition("\n## ")[0], "\n```" in report) == (True, False)
    assert served("verify", "out.md").code == 0


def test_prose_that_is_set_as_code_stays_prose(served: Shell) -> None:
    said = "The glaze of a kiln melts at 1240 degrees, and it is not to be touched while it is hot."
    (served.folder / "kiln.html").write_text(f"<html><body><h1>Kiln</h1><pre>{said}</pre></body></html>")
    served("library", "add", "docs", "kiln.html")
    report = served("research", "At how many degrees does the glaze of a kiln melt?", "-l", "docs", "-q").out
    assert ("1240 degrees" in report, "```" in report) == (True, False)


def test_a_program_is_read_by_what_its_comments_say_and_its_definitions_are_named(served: Shell) -> None:
    """Its lines were read as prose, and a comment did not say what it is about."""
    program = (
        'def fire(kiln):\n    """Heat the clay in 8 hours.\n\n    The lid must be shut.\n    """\n    kiln.lid.shut()\n'
    )
    (served.folder / "kiln.py").write_text(f"import clay\n\n\n{program}\n\ndef cool(kiln):\n    kiln.lid.open()\n")
    served("library", "add", "docs", "kiln.py")
    report = served("research", "In how many hours does fire heat the clay?", "-l", "docs", "-q").out
    opening, sources = report.partition("\n## ")[0], report.partition("\n## Sources")[2]
    assert "Heat the clay in 8 hours. [1]" in opening
    assert ("import clay" in opening, "kiln.lid" in opening, '"""' in report) == (False, False, False)
    assert sources.strip().startswith("[1] **kiln**")
