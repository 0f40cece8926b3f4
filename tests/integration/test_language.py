"""A research in German with a model, over the wire: every prompt names the language, and a German text is checked."""

from __future__ import annotations

import json

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import open_harness

from corrobora.app.verification import verify_report
from corrobora.reporting.seal import SealStatus

DOCUMENTS = {
    "muehle.md": "# Die Mühle von Orrin\n\nDie Schleusentore der Mühle von Orrin müssen alle 14 Tage gefettet werden, "
    "sagt der Müller. Das Rad der Mühle von Orrin ist 5,4 Meter hoch.\n"
}
QUESTION = "Wie oft müssen die Schleusentore der Mühle von Orrin gefettet werden?"
OPENING = "Die Antwort steht in einem einzigen Dokument."


def write_german(asked: WireRequest) -> str:
    """Answer as the scripted model does, and open the report with a sentence that claims nothing."""
    said = answer_prompt(asked.system, asked.user)
    if "# Role: synthesize\n" not in asked.system:
        return said
    fields = json.loads(said)
    return json.dumps({**fields, "body": f"{OPENING}\n\n{fields['body']}"})


async def test_every_prompt_names_the_language_and_the_report_verifies(database_url: str):
    metadata = (("language", "de"),)
    async with ModelServer(answers=write_german) as server, open_harness(database_url, DOCUMENTS) as harness:
        ended = await harness.run(server, "timed", question=QUESTION, metadata=metadata)
        assert server.asked
        told = "The language of this research is German (de)"
        assert [asked.system[:60] for asked in server.asked if told not in asked.system] == []
        assert ended.report is not None
        assert "alle 14 Tage gefettet" in ended.markdown
        assert OPENING in ended.markdown, "nouns of German are no names that need a source"
        assert "## Methodik" in ended.markdown
        found = await verify_report(harness.workspace, ended.markdown)
        assert (found.seal, found.passed, found.carried) == (SealStatus.DELIVERED, True, found.cited)
