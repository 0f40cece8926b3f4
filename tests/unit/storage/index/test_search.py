"""Search: the same order for the same content; named sources and dates; clauses."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.storage.index import shelves

from corrobora.ports import Heading
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database


async def test_the_order_does_not_depend_on_how_documents_came(database):
    items = [shelves.made(at) for at in range(600)]
    await shelves.fill(database, items, space="bulk", batch=600)
    await shelves.fill(database, items, space="steps", batch=50)
    for question in ("king of rome", "war peace", "gold judge n17"):
        one, two = [
            [(hit.url, hit.score) for hit in await PostgresLibrary(database, [space]).hybrid_search(question, limit=30)]
            for space in ("bulk", "steps")
        ]
        assert one == two
        again = await PostgresLibrary(database, ["bulk"]).hybrid_search(question, limit=30)
        assert [(hit.url, hit.score) for hit in again] == one


async def test_a_source_that_the_question_names_comes_first(database):
    about = "The court decided on the merger of the two harbour companies."
    items = [
        shelves.item(1, "News", about, publisher="The Verge", published="2023-10-07"),
        shelves.item(2, "News", about, publisher="TechCrunch", published="2023-10-08"),
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(10, 40)]])
    library = PostgresLibrary(database, ["lib"])
    for question, first in (
        ("What did TechCrunch say of the merger?", "doc:2"),
        ("merger on October 7, 2023", "doc:1"),
    ):
        assert (await library.hybrid_search(question))[0].url == first


async def test_each_clause_of_a_long_question_finds_its_document(database):
    items = [
        shelves.item(1, "", "The harbour was built of stone."),
        shelves.item(2, "", "A judge of the court liked gold."),
        *[shelves.item(10 + at, "", "War and peace, peace and war, crown and war.") for at in range(8)],
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(30, 60)]])
    question = "Who fought the war for the crown, which judge liked court gold, and was the harbour built of stone?"
    hits = await PostgresLibrary(database, ["lib"]).hybrid_search(question, limit=4)
    assert {"doc:1", "doc:2"} <= {hit.url for hit in hits}


async def test_a_name_on_which_clauses_agree_leads_to_what_says_the_rest_in_other_words(database):
    items = [
        shelves.item(1, "Deals", "It paid for the default place on every phone: so the firm Orbis won the market."),
        shelves.item(2, "Courts", "A newspaper sued over lost readers, and the judge told Orbis to answer."),
        shelves.item(3, "Views", "People suspect foul play whenever they read about Orbis."),
        *[shelves.item(10 + at, "Views", "People suspect foul play whenever they read.") for at in range(5)],
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(30, 60)]])
    question = (
        "Which firm paid for the default place on every phone, was sued by a newspaper over lost readers, "
        "and do people suspect foul play?"
    )
    hits = await PostgresLibrary(database, ["lib"]).hybrid_search(question, limit=3)
    assert {"doc:1", "doc:2", "doc:3"} == {hit.url for hit in hits}


async def test_candidates_that_no_boost_can_move_are_ranked_without_a_look_at_them(database):
    names = ("King Rome", "Stone Bridge", "War Peace", "Gold Judge")
    items = [
        shelves.item(
            at,
            names[at] if at < len(names) else shelves.made(at).source.title,
            f"{shelves.made(at).text} {names[at % 4]} was here, and {names[at % 3]} too." * (1 + at % 2),
            path=f"/{at}",
            publisher=("The Verge", "TechCrunch", "")[at % 3],
            published=("2023-10-07", "")[at % 2],
        )
        for at in range(700)
    ]
    catalog = await shelves.fill(database, items, batch=300)
    questions = (
        "king of rome",
        "War and peace, and who was at the Stone Bridge of the river?",
        "gold judge n17",
        "What did King Rome say to Gold Judge of the law and the court?",
        "What did The Verge say of gold?",
        "peace and stone on October 7, 2023",
    )

    async def asked():
        library = PostgresLibrary(database, ["lib"])
        return [await library.hybrid_search(text, limit=limit) for text in questions for limit in (1, 2, 10, 60)]

    await catalog.retire(await catalog.open("lib"), [f"/{at}" for at in range(4, 700, 7)])
    quick = await asked()
    assert any(hit.linked_from for hits in quick for hit in hits)
    await database.execute("update lex_seg set publishers = null")  # not known: every candidate is looked at
    await database.execute("update lex_new set publisher = null")
    assert await asked() == quick


async def test_a_search_is_two_trips_to_the_server_and_a_third_if_links_lead_on(database_url, tmp_path):
    async with await Database.connect(database_url, size=1) as database:
        items = [
            shelves.item(1, "Stone Bridge", "Built of stone."),
            shelves.item(2, "", "The Stone Bridge and a lantern."),
        ]
        await shelves.fill(database, [*items, *[shelves.made(at) for at in range(10, 40)]])
        library = PostgresLibrary(database, ["lib"])
        for question, trips in (("war peace", 2), ("a lantern", 3)):
            for _ in range(7):  # until the driver has prepared the statements
                await library.hybrid_search(question)
            path = tmp_path / question
            with path.open("wb") as messages:
                async with database.connection() as only:
                    only.pgconn.trace(messages.fileno())
                await library.hybrid_search(question)
                only.pgconn.untrace()
            sent = [line for line in path.read_text().splitlines() if "\tF\t" in line and "Sync" in line]
            assert len(sent) == trips


async def test_a_section_of_the_release_that_is_asked_about_is_found_among_many_nearer_ones(database):
    policies = [shelves.item(n, "Law", f"What changed in the policy, version 6.4.1, is law {n}.") for n in range(150)]
    parts = [(at, f"1{at}.3.2") for at in range(1, 12)] + [(0, "4.6.1")]
    text, headings = "", []
    for at, release in parts:
        headings.append(Heading(len(text), 1, f"10.{at}. Version {release}"))
        text += (
            f"10.{at}. Version {release}\n\n" + "The wheels of stone and of gold are oiled by the court. " * 9 + "\n\n"
        )
    news = replace(shelves.item(999, "News", text), headings=tuple(headings))
    await shelves.fill(database, [*policies, news])
    best, *_ = await PostgresLibrary(database, ["lib"]).hybrid_search("What changed in version 4.6.1 of the policy?")
    assert best.url == "doc:999"
    assert "4.6.1" in best.snippet


async def test_of_passages_alike_in_words_the_one_that_begins_with_what_is_asked_comes_first(database):
    aside = "The king of the harbour liked gold and the crown. " * 6
    items = [
        shelves.item(1, "Notes", f"{aside} A kiln burns wood."),
        shelves.item(2, "Notes", f"A kiln burns wood. {aside}"),
        shelves.item(3, "Notes", f"{aside} A kiln burns wood. {aside}"),
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(30, 60)]])
    hits = await PostgresLibrary(database, ["lib"]).hybrid_search("What does a kiln burn?", limit=2)
    assert hits[0].url == "doc:2"
    assert hits[0].score > hits[1].score


async def test_a_name_is_found_where_it_stands_and_not_where_its_words_do(database):
    words = "The mill waits for grain: a delay of the grain is a delay of the mill."
    items = [
        shelves.item(
            1, "", f"Among the settings of Tarnholm are {', '.join(shelves.WORDS[:20])} and Mill.grain_delay."
        ),
        *[shelves.item(2 + at, "", f"{words} {shelves.WORDS[at]}.") for at in range(8)],
        shelves.item(
            20, "", "Start it with --grain-delay, among other things; more is said of the delay of grain below."
        ),
    ]
    await shelves.fill(database, [*items, *[shelves.made(at) for at in range(30, 60)]])
    library = PostgresLibrary(database, ["lib"])
    for question, first in (("What is grain_delay?", "doc:1"), ("What does --grain-delay do?", "doc:20")):
        assert (await library.hybrid_search(question))[0].url == first
