"""OpenTelemetry spans of an attempt at a run, if the standard environment asks for them.

Knows which variables switch it on, and how journaled calls and events become spans; the exporter reads its address and
headers from the environment itself. The spans are a fold of what was stored, made when the attempt ends, so that they
cost a run nothing while it works. They carry no question, query, answer or title: what a run is about stays here.
Attribute names: OpenTelemetry semantic conventions for generative AI, in development.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from corrobora.domain.run import Event, EventType, RunRow
from corrobora.engine.session.journal import CallMeta, decode_meta
from corrobora.ports import Entry

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from corrobora.app import Workspace

log = logging.getLogger("corrobora")
_SWITCHES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_CONSOLE = "console"  # spans as JSON on stderr: stdout is the report
_FLUSH_MILLISECONDS = 5_000
_PATH = "corrobora.path"
Attributes = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A span with its times and attributes, before any library sees it."""

    name: str
    begin: datetime
    end: datetime
    attributes: Attributes = field(default_factory=dict[str, str | int | float | bool])
    failed: str = ""
    children: tuple[TraceSpan, ...] = ()


def is_enabled(env: Mapping[str, str] | None = None) -> bool:
    """True if the environment names where spans go and does not switch them off."""
    given = os.environ if env is None else env
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = given.get("OTEL_TRACES_EXPORTER") or "otlp"
    return exporter == _CONSOLE or (exporter == "otlp" and any(given.get(name) for name in _SWITCHES))


async def export_attempt(workspace: Workspace, run: str, epoch: int) -> None:
    """Send the spans of an attempt that has ended. Never fails: what cannot be sent is a line in the log."""
    if not is_enabled():
        return
    from corrobora.storage.journal.events import list_events, read_call_times  # noqa: PLC0415 - only where it is on

    try:
        provider = _open_provider()
        row = await workspace.runs.get(run)
        calls = await read_call_times(workspace.database, run, epoch)
        events = await list_events(workspace.database, run)
        await asyncio.to_thread(_send_spans, provider, fold_spans(row, calls, events))
    except ImportError:
        log.warning("OpenTelemetry is asked for, but not installed: pip install '.[telemetry]' in its checkout")
    except Exception as error:  # noqa: BLE001 - a run does not fail for its telemetry
        log.warning("The spans of run %s were not sent: %s: %s", run, type(error).__name__, error)


def fold_spans(row: RunRow, calls: Sequence[tuple[str, str, datetime]], events: Sequence[Event]) -> TraceSpan:
    """Return the attempt as a span with its rounds, and in each the calls that ended in it."""
    made = list(_iter_calls(calls))
    bare = list(_iter_rounds(events, min((each.begin for each in made), default=None)))
    rounds = [_fill_round(each, made, bare) for each in bare]
    inside = {id(call) for each in rounds for call in each.children}
    below = (*rounds, *(call for call in made if id(call) not in inside))
    stored = datetime.fromisoformat(row.updated_at).astimezone(UTC)
    begin = min((each.begin for each in below), default=stored)
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.conversation.id": row.id,
        "corrobora.profile": row.request.profile,
        "corrobora.attempt": row.epoch,
        "corrobora.outcome": row.outcome or row.status.value,
    }
    failed = row.outcome if row.status.value == "failed" else ""
    end = max((each.end for each in below), default=stored)
    return TraceSpan("invoke_workflow corrobora", begin, max(end, begin), attributes, failed, below)


def _iter_calls(calls: Sequence[tuple[str, str, datetime]]) -> Iterator[TraceSpan]:
    for key, text, at in calls:
        meta = decode_meta(Entry(key, "null", text))
        if not (meta.role or meta.provider):
            continue
        end = at.astimezone(UTC)
        yield TraceSpan(_name_call(meta), end - timedelta(seconds=meta.seconds), end, _describe_call(key, meta))


def _name_call(meta: CallMeta) -> str:
    if meta.role:
        return f"chat {meta.role}"
    return f"execute_tool search {meta.provider}"


def _describe_call(key: str, meta: CallMeta) -> Attributes:
    found: dict[str, str | int | float | bool] = {_PATH: key.partition("#")[0]}
    if not meta.role:
        return found | {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": meta.provider}
    found |= {"gen_ai.operation.name": "chat", "corrobora.role": meta.role, "corrobora.analyst": meta.analyst}
    if meta.model:
        found["gen_ai.request.model"] = meta.model
    if meta.usage is not None:
        found["gen_ai.usage.input_tokens"] = meta.usage.input_tokens
        found["gen_ai.usage.output_tokens"] = meta.usage.output_tokens
        found["corrobora.dollars"] = meta.usage.dollars
    return found


def _iter_rounds(events: Sequence[Event], since: datetime | None) -> Iterator[TraceSpan]:
    """Yield the rounds that ended in this attempt: after `since`, where its first call began."""
    began: dict[tuple[str, int], datetime] = {}
    for event in events:
        at = datetime.fromisoformat(event.at).astimezone(UTC)
        place = (event.path.partition("/round/")[0], event.round or 0)
        if event.type is EventType.ROUND_STARTED:
            began[place] = at
        elif event.type is EventType.ROUND_FINISHED and place in began and since is not None and at >= since:
            attributes = {"gen_ai.operation.name": "invoke_agent", _PATH: place[0], "corrobora.round": place[1]}
            yield TraceSpan("invoke_agent round", max(began[place], since), at, attributes)


def _fill_round(span: TraceSpan, calls: Sequence[TraceSpan], rounds: Sequence[TraceSpan]) -> TraceSpan:
    """Put the calls into the round in whose path they were, or, if only one round was open then, that one."""
    name = f"{span.attributes[_PATH]}/round/{span.attributes['corrobora.round']}/"
    inside = tuple(
        call
        for call in calls
        if str(call.attributes[_PATH]).startswith(name)
        or ("/round/" not in str(call.attributes[_PATH]) and _open_rounds(call, rounds) == [span])
    )
    return TraceSpan(span.name, span.begin, span.end, span.attributes, span.failed, inside)


def _open_rounds(call: TraceSpan, rounds: Sequence[TraceSpan]) -> list[TraceSpan]:
    return [each for each in rounds if each.begin <= call.end <= each.end]


@cache
def _open_provider() -> TracerProvider:
    """Return the one provider of this process. Raises `ImportError` without the extra `telemetry`."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter  # noqa: PLC0415

    console = os.environ.get("OTEL_TRACES_EXPORTER") == _CONSOLE
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "corrobora"}
    provider = TracerProvider(resource=Resource.create({**named, "service.version": version("corrobora")}))
    provider.add_span_processor(
        BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr) if console else OTLPSpanExporter())
    )
    return provider


def _send_spans(provider: TracerProvider, span: TraceSpan) -> None:
    _start_span(provider.get_tracer("corrobora"), span, None)
    provider.force_flush(_FLUSH_MILLISECONDS)


def _start_span(tracer: Any, span: TraceSpan, parent: Any) -> None:
    from opentelemetry.trace import Status, StatusCode, set_span_in_context  # noqa: PLC0415 - an extra

    made = tracer.start_span(
        span.name,
        context=set_span_in_context(parent) if parent is not None else None,
        attributes=dict(span.attributes),
        start_time=_nanoseconds(span.begin),
    )
    if span.failed:
        made.set_status(Status(StatusCode.ERROR, span.failed))
    for child in span.children:
        _start_span(tracer, child, made)
    made.end(_nanoseconds(span.end))


def _nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1_000
