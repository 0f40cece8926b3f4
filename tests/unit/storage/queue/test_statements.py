"""The statements of the queue touch the library's tables: the columns they rely on are there, as they rely on them."""

from __future__ import annotations

from importlib.metadata import version

from corrobora.storage.postgres.database import Database


async def test_the_library_has_the_columns_that_the_statements_use(database: Database) -> None:
    rows = await database.fetch_all(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_name LIKE 'procrastinate%'"
    )
    jobs = {column for table, column in rows if table == "procrastinate_jobs"}
    workers = {column for table, column in rows if table == "procrastinate_workers"}
    used = {"id", "queue_name", "task_name", "priority", "lock", "queueing_lock", "args", "status", "attempts"}
    assert used | {"abort_requested", "worker_id"} <= jobs
    assert workers == {"id", "last_heartbeat"}


async def test_the_library_knows_the_states_that_the_statements_write(database: Database) -> None:
    rows = await database.fetch_all("SELECT unnest(enum_range(NULL::procrastinate_job_status))::text")
    assert {"todo", "doing", "failed", "cancelled"} <= {state for (state,) in rows}


async def test_one_waiting_row_and_one_working_row_for_each_run(database: Database) -> None:
    rows = await database.fetch_all("SELECT indexdef FROM pg_indexes WHERE tablename = 'procrastinate_jobs'")
    unique = [text for (text,) in rows if "UNIQUE" in text]
    assert any("queueing_lock" in text and "todo" in text for text in unique)
    assert any("(lock)" in text and "doing" in text for text in unique)


def test_the_version_is_the_one_whose_tables_were_read() -> None:
    assert version("procrastinate").startswith("3.10.")
