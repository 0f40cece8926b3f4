"""The Python call for a follow-up question on a stored run.

Knows how a stored run is opened. Does not know how its evidence is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrobora.faces.python import open_run, run_blocking

if TYPE_CHECKING:
    from corrobora.config import Settings
    from corrobora.domain.report import Report


def ask(run: str, question: str, *, search: bool = True, settings: Settings | None = None) -> Report:
    """Answer a follow-up question on the evidence of a stored run, by its id, the start of one, or `last`.

    Its facts and passages are read first; if they do not answer, its libraries and providers are searched, unless
    `search` is False. `Report.from_previous` has the numbers of the citations that stand in its sources.

    Raises:
        UserError: there is no such run, or the question cannot be used.
        NoEvidence: the run has no report, or nothing answers.
    """
    return run_blocking(_ask_run(run, question, search=search, settings=settings))


async def _ask_run(run: str, question: str, *, search: bool, settings: Settings | None) -> Report:
    async with open_run(run, settings=settings) as handle:
        return await handle.ask(question, search=search)
