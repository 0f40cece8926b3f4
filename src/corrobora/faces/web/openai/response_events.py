"""The stream of a response: events with numbers that are the same in every stream of it, however often one comes back.

Knows the events of the responses API and their order. What happened comes from the log of the run, which only grows, so
a stream begun anew gives the same events under the same numbers. Does not know how a run is started or described.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

_PIECE_CHARS = 400
Values = Mapping[str, Any]


class EventWriter:
    """Writes the events of one response in order and leaves out those that the client has: the ones up to `after`."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._next = 0
        self._items = 0

    def write_begin(self, response: Values) -> Iterator[str]:
        """Write that the response is there and worked on."""
        for kind, status in (("created", "queued" if response["background"] else "in_progress"), ("in_progress",) * 2):
            yield from self._write(f"response.{kind}", response={**response, "status": status})

    def write_search(self, item: Values) -> Iterator[str]:
        """Write a search as an item of the output."""
        yield from self._write("response.output_item.added", **self._at_item, item={**item, "status": "in_progress"})
        for state in ("in_progress", "searching", "completed"):
            yield from self._write(f"response.web_search_call.{state}", **self._at_item, item_id=item["id"])
        yield from self._end_item(item)

    def write_message(self, message: Values) -> Iterator[str]:
        """Write the answer: its text in pieces, each citation after the piece that it ends in."""
        part: Values = message["content"][0]
        where = {**self._at_item, "item_id": message["id"], "content_index": 0}
        begun: Values = {**message, "status": "in_progress", "content": ()}
        yield from self._write("response.output_item.added", **self._at_item, item=begun)
        empty: Values = {**part, "text": "", "annotations": ()}
        yield from self._write("response.content_part.added", **where, part=empty)
        text = str(part["text"])
        cited = list(enumerate(cast("list[Values]", part["annotations"])))
        for at in range(0, len(text), _PIECE_CHARS):
            piece = text[at : at + _PIECE_CHARS]
            yield from self._write("response.output_text.delta", **where, delta=piece, logprobs=[])
            while cited and cited[0][1]["end_index"] <= at + len(piece):
                number, each = cited.pop(0)
                told = {"annotation_index": number, "annotation": each}
                yield from self._write("response.output_text.annotation.added", **where, **told)
        yield from self._write("response.output_text.done", **where, text=text, logprobs=[])
        yield from self._write("response.content_part.done", **where, part=part)
        yield from self._end_item(message)

    def write_end(self, response: Values) -> Iterator[str]:
        """Write how the response ended; one that was cancelled has failed, with its own status."""
        kind = "completed" if response["status"] == "completed" else "failed"
        yield from self._write(f"response.{kind}", response=response)

    @property
    def _at_item(self) -> dict[str, int]:
        return {"output_index": self._items}

    def _end_item(self, item: Values) -> Iterator[str]:
        yield from self._write("response.output_item.done", **self._at_item, item=item)
        self._items += 1

    def _write(self, kind: str, **values: Any) -> Iterator[str]:
        number, self._next = self._next, self._next + 1
        if number > self._after:
            event = {"type": kind, "sequence_number": number, **values}
            yield f"event: {kind}\ndata: {json.dumps(event)}\n\n"
