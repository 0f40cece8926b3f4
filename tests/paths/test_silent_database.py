"""A run whose database falls silent while the program goes on: it can be left, and resumed without repeated calls."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter

from bench.model_server.server import Latency, ModelServer
from tests.paths.conftest import Serve
from tests.paths.starts import CLEAR
from tests.plugins.proxy import open_proxy
from tests.plugins.shell import DOCUMENTS, Shell

LEAVE_SECONDS = 45.0


def test_a_run_whose_database_fell_silent_is_left_at_once_and_repeats_nothing_when_it_is_resumed(
    served: Shell, serve: Serve[ModelServer], database_url: str
) -> None:
    server = serve(ModelServer(latency=Latency(0.5)))
    (served.folder / "docs").mkdir()
    (served.folder / "docs" / "bridge.md").write_text(DOCUMENTS["bridge.md"])
    with open_proxy(database_url) as proxy:
        served.setenv(CORROBORA_DATABASE_URL=proxy.url)
        model = f"openai-compatible:scripted-large@{server.url}/v1"
        process = served.start("research", CLEAR, "-l", "docs", "-m", model)
        end = time.monotonic() + 60
        while server.received < 3:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        proxy.goes.clear()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=LEAVE_SECONDS)
        assert process.returncode == 143
        assert b"corrobora resume r_" in said
        assert b"Traceback" not in said
        proxy.goes.set()
    served.setenv(CORROBORA_DATABASE_URL=database_url)
    found = served("resume", "last")
    assert found.code == 0, found.err
    assert "1931" in found.out
    sent = Counter(json.dumps(each.body, sort_keys=True) for each in server.asked)
    assert sent.total() - len(sent) <= 1, "at most the call that was in flight"
