"""OpenTelemetry spans over the wire: off by default, on by the standard environment, without what a run is about."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from corrobora.app.telemetry import is_enabled

QUESTION = "When was the bridge at Arnholm opened?"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An OTLP receiver on loopback: its address, and the path and body of each request."""
    received: list[tuple[str, bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            received.append((self.path, gzip.decompress(body) if packed else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    server.server_close()


def _read_spans(received: list[tuple[str, bytes]]) -> list[Any]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found: list[Any] = []
    for _, body in received:
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        found += [span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans]
    return found


def test_a_run_is_a_span_with_its_rounds_and_calls_and_nothing_of_what_it_is_about(filled: Any, collector: Any) -> None:
    address, received = collector
    done = filled.process(
        "research", QUESTION, "-l", "docs", "-q", env=_environment(OTEL_EXPORTER_OTLP_ENDPOINT=address)
    )
    assert done.code == 0
    assert {path for path, _ in received} == {"/v1/traces"}
    spans = _read_spans(received)
    root = next(span for span in spans if span.name == "invoke_workflow corrobora")
    rounds = [span for span in spans if span.name == "invoke_agent round"]
    assert rounds
    assert all(span.parent_span_id == root.span_id for span in rounds)
    inside = [span for span in spans if span.parent_span_id in {each.span_id for each in rounds}]
    assert {"chat scope", "chat extract", "chat reflect", "execute_tool search library"} <= {
        each.name for each in inside
    }
    assert all(root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    assert all(span.end_time_unix_nano <= root.end_time_unix_nano for span in spans)
    assert any(span.end_time_unix_nano > span.start_time_unix_nano for span in inside)
    told = {each.key: each.value.string_value for each in root.attributes}
    assert told["corrobora.outcome"] == "complete"
    assert told["gen_ai.conversation.id"].startswith("r_")
    everything = b"".join(body for _, body in received)
    assert b"Arnholm" not in everything
    assert b"bridge" not in everything


def test_a_collector_that_is_away_costs_a_line_and_not_the_run(filled: Any) -> None:
    away = _environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    done = filled.process("research", QUESTION, "-l", "docs", "-q", env=away)
    assert done.code == 0
    assert "1931" in done.out


def test_spans_are_shown_on_stderr_where_the_console_is_named(filled: Any) -> None:
    done = filled.process("research", QUESTION, "-l", "docs", "-q", env=_environment(OTEL_TRACES_EXPORTER="console"))
    assert done.code == 0
    assert done.out.startswith("# ")
    assert '"name": "invoke_workflow corrobora"' in done.err
    assert "Arnholm" not in done.err


@pytest.mark.parametrize(
    ("env", "on"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": ""}, True),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_environment_decides(env: dict[str, str], on: bool) -> None:
    assert is_enabled(env) is on


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}
