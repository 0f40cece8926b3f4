"""Office documents: minutes of several short sections, and tables whose rows are asked for."""

from __future__ import annotations

from tests.plugins.shell import Shell

MARCH = (
    "# Minutes of the harbour committee, 12 March 2026\n\n## 1. Ferry charging station at Holm\n\n"
    "Bo reported that the motor was delivered on 3 March, two weeks late. The foundation is cured. "
    "Commissioning moves from 20 April to 11 May 2026.\n\n## 2. Budget\n\nSpent to date: 31 of 38 million.\n"
)
APRIL = (
    "# Minutes of the harbour committee, 16 April 2026\n\n## 1. Second berth\n\nIt was rejected: 2 for, 3 against.\n\n"
    "## 2. Ferry charging station at Holm\n\nCable pulling is complete. Bo expects commissioning on 18 May.\n"
)
NOTE = (
    "# Commissioning failed today\n\nAda,\n\nthe station tripped at 3.2 MW during the acceptance test this afternoon. "
    "They will repeat the test on Wednesday.\n"
)
TABLE = "month,openings,stops\n2026-06,212,3\n2026-07,305,1\n2026-08,298,0\n2026-09,187,5\n"
RATES = (("Austria", 50, 140), ("Japan", 62, 190), ("Portugal", 44, 120), ("Switzerland", 70, 210))


def _ask(served: Shell, question: str) -> str:
    """Return what the report says before its first heading."""
    ran = served("research", question, "--library", "docs", "-q")
    assert ran.code == 0, ran.err
    return ran.out.partition("\n\n")[2].partition("\n## ")[0]


def test_a_statement_counts_what_the_heading_inside_its_passage_says(served: Shell) -> None:
    """The report opened with what happened that day, and with "Cable pulling is complete."."""
    for name, text in (("march.md", MARCH), ("april.md", APRIL), ("note.md", NOTE)):
        (served.folder / name).write_text(text)
    served("library", "add", "docs", "march.md", "april.md", "note.md")
    opening = _ask(served, "When will the charging station be commissioned?")
    assert "Bo expects commissioning on 18 May." in opening, opening
    assert "Commissioning moves from 20 April to 11 May 2026." in opening.partition("tripped")[0], opening


def test_a_month_is_found_in_the_rows_of_a_table_that_writes_it_in_digits(served: Shell) -> None:
    (served.folder / "bridge.csv").write_text(TABLE)
    served("library", "add", "docs", "bridge.csv")
    opening = _ask(served, "How many openings were there in August 2026?")
    rows = [line for line in opening.splitlines() if "openings:" in line]
    assert "2026-08; openings: 298" in rows[0], opening


def test_the_rows_of_a_table_that_begin_with_a_date_are_no_heads_of_a_mail(served: Shell) -> None:
    """No row was quoted: "Date: ..." below "Date: ..." was taken for the header of a message."""
    rows = "2026-02-03,Cryostat,Sousa,6\n2026-02-04,Cryostat,Mori,3\n2026-02-10,Furnace,Brandt,2\n"
    (served.folder / "hours.csv").write_text(f"Date,Instrument,Group,Hours\n{rows}")
    served("library", "add", "docs", "hours.csv")
    opening = _ask(served, "How many hours did the Mori group use the cryostat?")
    assert "Group: Mori; Hours: 3" in opening.splitlines()[2], opening


def test_of_a_table_the_rows_that_are_asked_for_open_a_report(served: Shell) -> None:
    """The rows of other countries stood beside that of Japan."""
    rows = "".join(f"{name},EUR {day},EUR {night}\n" for name, day, night in RATES)
    (served.folder / "rates.csv").write_text(f"Country,Daily allowance,Hotel limit per night\n{rows}")
    served("library", "add", "docs", "rates.csv")
    opening = _ask(served, "What is the hotel limit in Japan?")
    assert ("Country: Japan" in opening, opening.count("Country: ")) == (True, 1), opening
    both = _ask(served, "What are the hotel limits in Japan and in Portugal?")
    assert ("Japan" in both, "Portugal" in both, "Austria" in both) == (True, True, False), both


def test_what_is_most_in_a_table_comes_first_and_is_not_told_as_complete(served: Shell) -> None:
    """Any five rows stood as the complete answer; others, which were not read, may hold more."""
    rows = "".join(f"Place {at:02d},2022,{400 + at * 37 % 1000}\n" for at in range(40))
    (served.folder / "rain.csv").write_text(f"station,year,rainfall (mm)\n{rows}")
    served("library", "add", "docs", "rain.csv")
    for word, first in (("highest", "Place 27"), ("lowest", "Place 00")):
        ran = served("research", f"Which station had the {word} rainfall in 2022?", "-l", "docs", "-q")
        shown = [line for line in ran.out.splitlines() if "rainfall (mm):" in line]
        assert first in shown[0], ran.out
        assert "Status: partial" in ran.out
    mean = served("research", "What was the average rainfall in 2022?", "-l", "docs", "-q").out
    assert "Status: complete" not in mean


def test_what_stands_behind_a_label_that_is_asked_for_answers(served: Shell) -> None:
    """ "Assembly point: ..." was only near the question, as no place was named in it."""
    (served.folder / "fire.md").write_text(
        "# Fire\n\n- Assembly point: car park north of the barn\n- Wardens wear yellow\n"
    )
    served("library", "add", "docs", "fire.md")
    report = served("research", "Where is the assembly point in case of fire?", "-l", "docs", "-q").out
    assert ("Status: complete" in report, "car park north of the barn" in report) == (True, True), report


def test_a_weekday_in_a_question_is_no_subject_that_documents_must_name(served: Shell) -> None:
    """Every document was off the subject "Saturday", and the report without evidence."""
    rule = "Drilling is allowed on weekdays from 8:00 to 12:00 and from 14:00 to 19:00."
    (served.folder / "rules.md").write_text(f"# House rules\n\n## Quiet hours\n\n{rule}\n\n## Cellar\n\nIt is dry.\n")
    served("library", "add", "docs", "rules.md")
    for day in ("a Saturday", "Sundays"):
        report = served("research", f"May I drill on {day} at 16:00?", "-l", "docs", "-q").out
        assert (rule in report, "withheld" in report) == (True, False), report


def test_the_subject_and_the_headers_of_a_mail_are_no_statements(served: Shell) -> None:
    """A report printed "From: ..." with its address, as the subject above it has the words of the question."""
    text = "The move is postponed to Saturday, 17 October, as the new rack arrives late.\n"
    head = "From: Rosa Klein <rosa@firm.example>\nTo: team@firm.example\nSubject: Re: Server move\n"
    (served.folder / "move.eml").write_text(f"{head}Date: Fri, 02 Oct 2026 08:15:00 +0200\n\n{text}")
    served("library", "add", "docs", "move.eml")
    opening = _ask(served, "When does the server move take place?")
    assert ("17 October" in opening, "From:" in opening) == (True, False), opening


def test_what_a_code_means_is_told_by_its_row(served: Shell) -> None:
    """ "mean" asks for no mean of a column, and "at least" for no least."""
    rows = "".join(f"error {at},Valve {at} does not close\n" for at in range(30, 36))
    (served.folder / "codes.csv").write_text(f"Code,Meaning\n{rows}")
    served("library", "add", "docs", "codes.csv")
    report = served("research", "What does error 32 mean?", "-l", "docs", "-q").out
    assert ("Status: complete" in report, "Valve 32 does not close" in report) == (True, True), report


def test_whether_something_may_be_is_told_by_what_denies_it(served: Shell) -> None:
    """The report told what a card costs and how long it is valid, and not the sentence that answers."""
    (served.folder / "cards.md").write_text(
        "# Library cards\n\nA card costs five euros at the desk. A card is valid for two years from the day of issue. "
        "A card shows the name of the user. A card is not transferable to others.\n"
    )
    served("library", "add", "docs", "cards.md")
    ran = served("research", "Can I lend my card to my brother?", "-l", "docs", "-q")
    assert ran.out.partition("follow.\n\n")[2].startswith("A card is not transferable to others."), ran.out


def test_a_month_without_its_year_is_found_in_the_rows_of_a_table(served: Shell) -> None:
    """The row of June stood last of all."""
    rows = "".join(
        f"2026-{month:02d},{depot},{1800 + 7 * month},{refused}\n"
        for depot, first in (("Didcot", 11), ("Leeds", 3))
        for month, refused in enumerate(range(first, first + 4), start=5)
    )
    (served.folder / "deliveries.csv").write_text(f"Month,Depot,Deliveries,Refused pallets\n{rows}")
    served("library", "add", "docs", "deliveries.csv")
    opening = _ask(served, "How many pallets were refused in Didcot in June?")
    assert "Month: 2026-06; Depot: Didcot" in opening.partition(" [1]")[0], opening


def test_a_statement_without_a_reason_is_no_complete_answer_to_why(served: Shell) -> None:
    (served.folder / "minutes.md").write_text("# Minutes\n\nEmil Farkas did not stand again after twelve years.\n")
    served("library", "add", "docs", "minutes.md")
    asked = "Why did Emil Farkas not stand again?"
    assert "Status: complete" not in served("research", asked, "-l", "docs", "-q").out
    (served.folder / "letter.md").write_text("# Letter\n\nEmil Farkas did not stand again because he moves to Graz.\n")
    served("library", "add", "docs", "letter.md")
    assert "Status: complete" in served("research", asked, "-l", "docs", "-q").out


def test_rows_beside_prose_are_no_complete_answer_to_what_is_least(served: Shell) -> None:
    """Three rows and four sentences of prose stood as the complete answer."""
    rows = "".join(f"{house},{house * 6},{charge}\n" for house, charge in ((1, 1.32), (2, 1.41), (3, 1.18)))
    (served.folder / "charges.csv").write_text(f"House,Flats,Heating charge\n{rows}")
    (served.folder / "rules.md").write_text(
        "# House rules\n\nThe heating charge is due in May.\n\nThe house is heated from October.\n\n"
        "The charge of a house is settled in June.\n\nEach house has a heating of its own.\n"
    )
    served("library", "add", "docs", "charges.csv", "rules.md")
    ran = served("research", "Which house has the lowest heating charge?", "-l", "docs", "-q")
    assert "House: 3" in ran.out
    assert "Status: complete" not in ran.out


def test_a_list_that_is_asked_for_is_printed_whole_and_not_told_as_complete(served: Shell) -> None:
    """Of three items only the last was printed, which has most words of the question, as the list is long."""
    more = "It was introduced by the guild in the year of the {}, and most of the small mills have kept it since then."
    items = f"- no: The mill rests. {more.format('flood')}\n- half: The mill turns slowly. {more.format('fire')}\n"
    lead = "The mill turns by one of the following three values:"
    last = "- full: The mill turns fast. The gear field can have this value only where the guild allows it.\n"
    (served.folder / "mill.md").write_text(f"# Mill\n\n## Gear field\n\n{lead}\n\n{items}{last}")
    served("library", "add", "docs", "mill.md")
    ran = served("research", "Which values can the gear field have?", "--library", "docs", "-q")
    opening = ran.out.partition("\n\n")[2].partition("\n## ")[0]
    assert all(each in opening for each in (lead, "- no: ", "- half: ", "- full: ")), ran.out
    assert "Status: complete" not in ran.out
