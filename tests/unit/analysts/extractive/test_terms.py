"""Statements below a term: whatever the markup of a list of definitions, what is quoted and printed names its term."""

from __future__ import annotations

import pytest
from tests.unit.analysts.extractive.samples import document, facts_of

from corrobora.adapters.readers.parser import find_reader
from corrobora.adapters.readers.worker import parse_bytes
from corrobora.analysts.extractive.citations import cite_fact
from corrobora.analysts.extractive.fact_selection import rank_facts
from corrobora.domain.plan import SubQuestion

ALL = "All ignored berries are hoarded as well, whatever the season and whoever has gathered them in the wood so far."
MORE = "They are taken out of the basket afterwards. Nobody counts how many of the ignored berries the basket had held."
KEEP = "Berries that were sorted before stay in the tray."
APART = "Nuts that nobody has shelled are never touched by this, nor are the shells which lie beside the old tray."
ABOUT = "       It hoards what the wood gives\n       to those who know it, on rainy\n       days, too.\n"
FORMS = {
    "man.txt": (
        f"HOARD(1)\n\nDESCRIPTION\n{ABOUT}\nOPTIONS\n       -a, --all\n              {ALL}\n              {MORE}\n\n"
        f"       -k, --keep\n              {KEEP}\n\n              {APART}\n\nSEE ALSO\n       basket(1)\n"
    ),
    "apart.txt": (
        f"HOARD(1)\n\nDESCRIPTION\n{ABOUT}\nOPTIONS\n"
        f"       gather [-q] [--size=N] [--colour[=always|never]] [--fuzz=N]\n       [--all]\n\n"
        f"              {ALL}\n              {MORE}\n\n"
        f"       keep [--keep]\n\n              {KEEP}\n\n              {APART}\n"
    ),
    "tabs.txt": (
        f"HOARD(1)\n\nDESCRIPTION\n{ABOUT}\nOPTIONS\n       -a, --all\n\t      {ALL}\n\t      {MORE}\n\n"
        f"       -k, --keep\n\t      {KEEP}\n\n"
        f"\t      {APART}\n"
    ),
    "columns.txt": (
        f"Options of hoard\n\n  -a, --all   {ALL}\n              {MORE}\n"
        f"  -k, --keep  {KEEP}\n\n              {APART}\n"
    ),
    "ascii.txt": f"== OPTIONS\n\n-a::\n--all::\n\t{ALL}\n\t{MORE}\n\n-k::\n--keep::\n\t{KEEP}\n+\n{APART}\n",
    "list.html": (
        f"<title>hoard</title><h1>hoard</h1><p>It hoards what the wood gives to those who know it.</p><h2>Options</h2>"
        f"<dl><dt>-a</dt><dt>--all</dt><dd><p>{ALL}</p><p>{MORE}</p></dd>"
        f"<dt>-k, --keep</dt><dd><p>{KEEP}</p><p>{APART}</p></dd></dl>"
    ),
    "list.md": f"# hoard\n\n`-a`, `--all`\n:   {ALL}\n    {MORE}\n\n`-k`, `--keep`\n:   {KEEP}\n\n    {APART}\n",
    "items.md": f"# hoard\n\n- `--all`: {ALL} {MORE}\n- **--keep** - {KEEP} {APART}\n",
    "list.rst": f"hoard\n=====\n\n-a, --all\n    {ALL}\n    {MORE}\n\n-k, --keep\n    {KEEP}\n\n    {APART}\n",
    "options.rst": (
        f"hoard\n=====\n\n.. option:: --all\n\n   {ALL}\n   {MORE}\n\n.. option:: --keep\n\n   {KEEP}\n\n   {APART}\n"
    ),
    "columns.rst": f"hoard\n=====\n\n-a, --all    {ALL}\n             {MORE}\n-k, --keep   {KEEP} {APART}\n",
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    ("asked", "said", "term"),
    [
        ("Does anybody count how many ignored berries the basket had held?", "Nobody counts", "--all"),
        ("Are nuts that nobody has shelled touched?", "Nuts that nobody", "--keep"),
    ],
)
def test_a_statement_below_a_term_is_printed_with_it(name: str, asked: str, said: str, term: str):
    data = FORMS[name].encode()
    parsed = parse_bytes(find_reader(name, data).read, data)
    read = document(1, parsed.title, parsed.text)
    facts = facts_of(read, question=asked, parts=(SubQuestion("sq-1", asked),))
    best = rank_facts(asked, facts)[0]
    printed = cite_fact(best.fact, core=best.core)
    assert said in printed
    assert term in printed[: printed.index(said)]
    assert not {"--all", "--keep"} - {term} & set(printed.split())


def test_a_statement_about_a_term_that_is_not_asked_for_comes_behind_one_about_all():
    text = (
        "hoard\n\n- --deep: The red berries are sorted into bowls by size if the basket is emptied at noon in June.\n\n"
        "The red berries are sorted into cups by size if the basket is emptied at noon in June.\n"
    )
    asked = "How are red berries sorted if the basket is emptied at noon in June?"
    facts = facts_of(document(1, "hoard", text), question=asked, parts=(SubQuestion("sq-1", asked),))
    first = rank_facts(asked, facts)[0]
    assert "cups" in first.core
    named = rank_facts(asked.replace("How", "With --deep, how"), facts)[0]
    assert "--deep" in cite_fact(named.fact)
