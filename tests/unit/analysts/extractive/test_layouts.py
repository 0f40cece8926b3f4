"""Layouts: how a statement is cited and set."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, facts_of

from corrobora.analysts.extractive.citations import cite_fact
from corrobora.analysts.extractive.layouts import (
    FURTHER,
    Page,
    Section,
    layout_by_angles,
    layout_by_questions,
)
from corrobora.domain.evidence import FactId
from corrobora.text import phrases

OLD, NEW = facts_of(OLD_DOCUMENT), facts_of(NEW_DOCUMENT)


def page(*sections: Section, **more: object) -> Page:
    facts = {fact.id: fact for section in sections for fact in section.facts}
    values: dict[str, object] = {
        "title": "Kilns", "question": "What of kilns?", "sections": sections, "rows": (), "facts": facts, "gaps": (),
        "enough": True, "uncovered": (), "sub_questions": (),
    }  # fmt: skip
    return Page(**{**values, **more})  # type: ignore[arg-type]


def test_each_sentence_has_its_marker_before_the_stop():
    fact = facts_of(OLD_DOCUMENT)[0]
    two = replace(fact, quote="One rule. Two rules!")
    assert cite_fact(two) == "One rule [S1:C1]. Two rules [S1:C1]!"


def test_what_leads_in_a_list_and_a_heading_are_no_statements_alone():
    fact = facts_of(OLD_DOCUMENT)[0]
    led = replace(fact, quote="Doors include:\n\n- iron ones\n- oak ones")
    assert cite_fact(led).startswith("Doors include [S1:C1]:")
    assert cite_fact(led, printed={"iron ones", "oak ones"}) == ""
    assert cite_fact(replace(fact, quote="Inspection\n\nIt is due in May.")) == "It is due in May [S1:C1]."
    shown = cite_fact(replace(fact, quote="Open a door like this:\n\ndoors open wide\n\nor close it with a key."))
    assert shown == "Open a door like this [S1:C1]: doors open wide [S1:C1]. or close it with a key [S1:C1]."
    for numbered in ("§ 4 Inspection", "Chapter 2: Inspection", "TOP 3 Inspection"):
        assert cite_fact(replace(fact, quote=f"{numbered}\n\nIt is due in May.")) == "It is due in May [S1:C1]."
    long = replace(fact, quote="6.15.7. Inspection\n\nIt is due in May.")
    assert cite_fact(long) == "It is due in May [S1:C1]."
    for numbers in ("Version 3.0", "Version 3.0 beta", "5 GB"):
        assert cite_fact(replace(fact, quote=f"{numbers}\n\nIt is fast.")).startswith(f"{numbers} [S1:C1]. It is")


def test_an_item_whose_lead_in_stands_above_does_not_lead_in_the_items_below_it():
    led = replace(
        facts_of(OLD_DOCUMENT)[0], quote="Doors of any old kiln may be:\n\n- iron ones\n- oak ones\n- elm ones"
    )
    other = replace(led, id=FactId("other"), quote="Lids are flat.")
    sections = (Section("Doors", "", (other, led), had_facts=True),)
    body = layout_by_questions(page(*sections, printed={"Doors of any old kiln may be", "iron ones"}))
    assert "\n- oak ones [S1:C1].\n- elm ones [S1:C1]." in body


def test_facts_that_say_the_same_share_a_sentence():
    one, other = facts_of(OLD_DOCUMENT)[0], facts_of(NEW_DOCUMENT)[0]
    assert cite_fact(one, other).count("[S2:C2]") == cite_fact(one, other).count("[S1:C1]") > 0


def test_key_figures_are_bold_where_asked():
    fact = replace(facts_of(OLD_DOCUMENT)[0], quote="Inspect them every 12 months by a fitter.")
    assert "**12 months**" in cite_fact(fact, bold=True)
    assert "**" not in cite_fact(fact)


def test_a_section_of_one_edition_names_it_where_the_page_has_several():
    body = layout_by_questions(
        page(Section("Opening", "", OLD, had_facts=True), Section("Fuel", "", NEW, had_facts=True))
    )
    for edition, said in (("2015 edition", "SHOULD NOT open"), ("2021 edition", "SHALL NOT open")):
        assert said in body.partition(f"{phrases.STATED_IN} {edition}:")[2].partition(phrases.STATED_IN)[0], body
    alone = layout_by_questions(page(Section("Opening", "", OLD, had_facts=True), Section(FURTHER, "", OLD[:1])))
    assert "2015 edition" not in alone, "where there is one edition, no statement needs its name"


def test_timed_a_page_of_several_editions_opens_with_its_best_statement_below_the_name_of_its_edition():
    lines = layout_by_questions(page(Section("Opening", "", (*OLD, *NEW), had_facts=True))).splitlines()
    assert lines[2:4] == [f"{phrases.STATED_IN} 2015 edition:", ""]
    assert lines[4].startswith(f"- {cite_fact(OLD[0]).partition(' [')[0]}")
    headings = [line for line in lines if line.startswith("#")]
    assert headings[1].startswith("## "), "no part of a section stands above the first section"


def test_angles_a_report_by_angles_lists_no_gaps_itself_and_names_angles_without_coverage():
    sections = (Section("Opening", "", OLD, had_facts=True), Section("Fuel", "", (), had_facts=False))
    body = layout_by_angles(page(*sections, gaps=("Nothing speaks of fuel",), uncovered=("Accidents",)))
    assert "Nothing speaks of fuel" not in body, "the engine lists the gaps, in every report"
    assert f"{phrases.NO_COVERAGE}." in body.partition("## 2. Fuel")[2].partition("---")[0]
    assert f"- {phrases.NO_COVERAGE}: Accidents" in body.partition("## Conclusion")[2]


def test_the_opening_prints_the_sentence_that_answers_with_what_limits_it_and_leaves_the_rest_for_later():
    built = " ".join(f"It was built by the guild in the year {year}." for year in (1801, 1817, 1844, 1902, 1920))
    said = f"The kiln hall stands by the river. {built} The kiln burns beech wood. However, it is not lit in summer."
    fact = replace(OLD[0], quote=said, version="")
    section = Section("Fuel", "", (fact,), had_facts=True, cores={fact.id: "The kiln burns beech wood."})
    opening, rest = layout_by_questions(page(section)).split("\n## ")
    assert "beech wood [S1:C1]. However, it is not lit in summer" in opening
    assert "river" not in opening
    assert "river" in rest


def test_of_a_long_list_the_first_sentence_of_each_item_is_printed():
    said = " ".join(f"It says more of this in word {n}." for n in range(9))
    quote = f"The box takes three shapes:\n- Round. {said}\n- Square. {said}\n- Flat. {said}"
    fact = replace(OLD[0], quote=quote)
    lines = cite_fact(fact, core="The box takes three shapes:").splitlines()
    assert [line.split(" [")[0].strip(" -") for line in lines] == [
        "The box takes three shapes", "Round", "Square", "Flat"
    ]  # fmt: skip


def test_items_of_the_list_around_stand_under_no_lead_in_of_the_inner_list():
    said = "which is told to each guest of the works once a year by letter, in words that everybody understands"
    quote = f"Since 1.2, two kilns are lit:\n  - An oak kiln, {said}\n  - An iron kiln, {said}\n- Since 1.3, none is."
    fact = replace(OLD[0], quote=quote)
    assert cite_fact(fact, core="- Since 1.3, none is.", room=75) == "Since 1.3, none is [S1:C1]."
    for shown in (fact, replace(fact, quote=quote.replace(f", {said}", ""))):
        lines = cite_fact(shown, core="Since 1.2, two kilns are lit:", room=75).split("\n")
        assert [line.split(" kiln")[0].strip() for line in lines] == ["Since 1.2, two", "- An oak", "- An iron"]


def test_what_refers_back_to_a_sentence_left_out_is_left_out_too():
    fact = replace(OLD[0], quote="Secrets are long. (See section 4.) They last a year.")
    assert cite_fact(fact, printed={"Secrets are long"}) == ""
    assert cite_fact(fact, printed=set()).count("[S1:C1]") == 3


def test_of_nested_lists_the_item_that_answers_is_printed_below_its_own_condition():
    said = "which is told to each of them once a year by letter, in words that everybody at the works understands"
    quote = (
        f"Of the works, these matter:\n- Fires are lit by two, {said}.\n- When a guest comes:\n"
        f"  - Tell the guest the rules, {said}.\n  - Lend the guest 64 gloves.\n  - Shut the door."
    )
    fact = replace(OLD[0], quote=quote)
    said = "When a guest comes [S1:C1]:\n  - Lend the guest 64 gloves [S1:C1]."
    assert cite_fact(fact, core="- Lend the guest 64 gloves.") == said


def test_a_short_list_is_printed_whole_and_without_the_words_between_its_items():
    told = "which is told to each of them once a year by letter, in words that everybody at the works understands"
    quote = (
        f"The works have a rule, {told}.\n\nNo glove is lent to a guest:\n\n(a) who came late;\n   or\n\n"
        "(b) whose own gloves are dry; or\n\n(c) under seven years of age."
    )
    said = cite_fact(replace(OLD[0], quote=quote), core="(b) whose own gloves are dry; or")
    assert said.split("\n  - ") == [
        "No glove is lent to a guest [S1:C1]:",
        "(a) who came late [S1:C1].",
        "(b) whose own gloves are dry [S1:C1].",
        "(c) under seven years of age [S1:C1].",
    ]


def test_only_the_best_statements_open_a_report():
    facts = NEW[:2]
    few = layout_by_questions(
        page(Section("Fuel", "Which fuel?", facts, had_facts=True, opening=frozenset({facts[0].id})))
    )
    many = layout_by_questions(page(Section("Fuel", "Which fuel?", facts, had_facts=True)))
    opening = [text.split("\n\n")[1].count("[S") for text in (few, many)]
    assert opening[0] < opening[1]


def test_what_leads_in_a_list_is_a_paragraph_above_it_and_no_item_among_its_items():
    fact = facts_of(OLD_DOCUMENT)[0]
    led = replace(fact, id=FactId("F1"), quote="Doors include:\n\n- iron ones\n- oak ones")
    plain = replace(fact, id=FactId("F2"), quote="They are shut at night.")
    body = layout_by_questions(page(Section("Doors", "Which doors?", (led, plain), had_facts=True)))
    listed = "Doors include [S1:C1]:\n\n- iron ones [S1:C1].\n- oak ones [S1:C1].\n\nThey are shut at night [S1:C1]."
    assert listed in body
    below = page(Section("Doors", "Which doors?", (led,), had_facts=True), Section(FURTHER, "", (plain, led)))
    assert "- They are shut" in layout_by_questions(replace(below, printed=set()))


LIMIT = (
    "--most=NUM\u2003This tells the fitter to open no more than NUM kilns in the course of one single working day. "
    "If that number is exceeded, all further kilns stay closed through the end of the day. "
    "At the end, the fitter writes a warning and leaves with the number 25.\n\n"
    "  The keeper may also count the kilns of the other hall, those by the river, those that are still under repair, "
    "and those that nobody has lit since the spring of the year before, if one of them asks for it."
)


def test_the_opening_has_six_statements_at_most_and_no_more_words_than_fit():
    facts = [
        replace(OLD[0], id=f"F{n}", quote=f"Kiln number {n} burns {n} logs of oak, ash and elm in a night.", version="")
        for n in range(100, 110)
    ]
    section = Section("Logs", "What do kilns burn?", tuple(facts), had_facts=True)
    opening = layout_by_questions(page(section)).split("\n## ")[0]
    assert opening.count("burns") == 6
    long = [replace(one, quote=f"{one.quote[:-1]}, {'and much more of it, ' * 5}and ash.") for one in facts]
    opening = layout_by_questions(page(replace(section, facts=tuple(long)))).split("\n## ")[0]
    assert 2 <= opening.count("burns") <= 3


def test_the_opening_goes_on_with_the_quote_of_its_best_statement_as_far_as_there_is_room():
    fact = replace(OLD[0], quote=LIMIT, version="")
    core = "If that number is exceeded, all further kilns stay closed through the end of the day."
    section = Section("Limit", "What if more are opened?", (fact,), had_facts=True, cores={fact.id: core})
    opening, rest = layout_by_questions(page(section)).split("\n## ")
    assert "no more than NUM kilns" in opening
    assert "leaves with the number 25" in opening
    assert "other hall" not in opening
    assert "other hall" in rest
    turns = replace(fact, quote=f"Ann: {core}\nBob: {LIMIT}")  # a turn of another speaker is not what goes on
    assert "25" not in cite_fact(turns, core=f"Ann: {core}", room=75)


def test_a_list_of_several_things_that_are_asked_for_has_more_room_than_other_statements():
    more = "It was introduced by the guild in the year of the flood, and most of the small mills have kept {} since."
    items = [f"- {named}: The mill {does}. {more.format(does)}" for named, does in (("no", "rests"), ("half", "turns"))]
    core = "- full: The mill turns fast."
    listed = "\n".join((*items, f"{core} {more.format('it')}"))
    fact = replace(OLD[0], quote=f"The gear field holds one of three values:\n\n{listed}", version="")
    section = Section("Gear", "Which values can the field have?", (fact,), had_facts=True, cores={fact.id: core})
    assert "\n- no: " in layout_by_questions(page(section)).split("\n## ")[0]
    single = replace(section, asked="What does the field hold?")
    assert "- no: " not in layout_by_questions(page(single)).split("\n## ")[0]


def test_code_is_written_with_its_indents_and_with_what_leads_it_in():
    fact = facts_of(OLD_DOCUMENT)[0]
    code = "\u2002    close(3)\n\u2002  wait()"
    led = replace(fact, quote=f"Close the kiln so:\n\n{code}")
    block = "```\n  close(3)\nwait()\n```"
    assert cite_fact(led) == f"Close the kiln so [S1:C1]:\n\n{block}"
    words = "The kiln stands by the river and is fired with wood by those who live near it in winter. " * 3
    core = "The lid is shut by wait alone."
    long = replace(fact, quote=f"{words}{core}\n\n{code.replace('wait', 'shut_lid')}")
    assert cite_fact(long, core=core) == "The lid is shut by wait alone [S1:C1]."
    named = core.replace("wait", "close_lid")
    assert cite_fact(replace(long, quote=f"{words}{named}\n\n\u2002close_lid()\n\u2002wait()"), core=named).endswith(
        "alone [S1:C1].\n\n```\nclose_lid()\nwait()\n```"
    )
