"""The app: the only place that picks adapters from settings and hands them to the engine as ports.

`Workspace` holds what is open: settings, the database, and handles that are made when they are first used, so that a
command imports what it needs and no more. What is done with them are functions of the modules here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from corrobora.app.wiring import WebAccess, Wiring
    from corrobora.config import Settings
    from corrobora.engine.session import Session
    from corrobora.ports import Clock, Embedder
    from corrobora.storage.index.catalog import Catalog
    from corrobora.storage.index.terms import Tokenizer
    from corrobora.storage.journal import JournalWriter
    from corrobora.storage.journal.events import Dialogues, EventLog
    from corrobora.storage.journal.runs import Runs
    from corrobora.storage.postgres import Database
    from corrobora.storage.queue import Queue, Schedules
    from corrobora.storage.queue.statements import Webhooks

    OpenWeb = Callable[[Settings, Clock], WebAccess]

__all__ = ["Workspace"]


class Workspace:
    """One database with its runs and libraries. Open it with `Workspace.open` as an async context."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: JournalWriter,
        events: EventLog,
        open_web: OpenWeb | None = None,
    ) -> None:
        self.settings = settings
        self.database = database
        self.writer = writer
        self.events = events
        self.sessions: dict[str, Session] = {}  # of the runs that this process works on
        self._open_web = open_web

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, web: OpenWeb | None = None) -> AsyncGenerator[Self]:
        """Connect (starting the embedded server if no other is named) and migrate; disconnect at the end.

        `web` opens what reads pages; one of your own may have other limits or other names for addresses.

        Raises:
            JournalError: the database is down, damaged, of another version or refuses.
        """
        from corrobora.storage.journal import JournalWriter  # noqa: PLC0415
        from corrobora.storage.journal.events import EventLog  # noqa: PLC0415
        from corrobora.storage.postgres import Database  # noqa: PLC0415

        own = settings.database_url
        target = settings.home / "database" if own is None else own.reveal()
        async with (
            await Database.connect(target, wait_seconds=settings.database_wait_seconds) as database,
            JournalWriter(database) as writer,
            EventLog(database) as events,
        ):
            workspace = cls(settings, database, writer, events, web)
            try:
                yield workspace
            finally:
                if "wiring" in vars(workspace):
                    await workspace.wiring.close()

    @property
    def place(self) -> str:
        """Where the journal is, for people: no secret in it."""
        from corrobora.storage.postgres import describe_database  # noqa: PLC0415

        own = self.settings.database_url
        return describe_database(self.database.conninfo) if own else str(self.settings.home / "database")

    @cached_property
    def runs(self) -> Runs:
        from corrobora.storage.journal.runs import Runs  # noqa: PLC0415

        return Runs(self.database)

    @cached_property
    def dialogues(self) -> Dialogues:
        from corrobora.storage.journal.events import Dialogues  # noqa: PLC0415

        return Dialogues(self.database)

    @cached_property
    def catalog(self) -> Catalog:
        from corrobora.storage.index.catalog import Catalog  # noqa: PLC0415

        return Catalog(self.database)

    @cached_property
    def queue(self) -> Queue:
        from corrobora.storage.queue import Queue  # noqa: PLC0415

        return Queue(self.database)

    @cached_property
    def webhooks(self) -> Webhooks:
        from corrobora.storage.queue.statements import Webhooks  # noqa: PLC0415

        return Webhooks(self.database)

    @cached_property
    def schedules(self) -> Schedules:
        from corrobora.storage.queue import Schedules  # noqa: PLC0415

        return Schedules(self.database)

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder of the settings; loading a model takes seconds, so it is loaded once, for the first library."""
        from corrobora.app.libraries import open_embedder  # noqa: PLC0415

        return open_embedder(self.settings)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all libraries of this process."""
        from corrobora.storage.index.terms import Tokenizer  # noqa: PLC0415

        return Tokenizer()

    @cached_property
    def wiring(self) -> Wiring:
        """The adapters that all runs of this process share."""
        from corrobora.app.wiring import Wiring  # noqa: PLC0415

        return Wiring(self.settings, self.database, self._open_web)
