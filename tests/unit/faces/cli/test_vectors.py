"""Dense vectors through the command and the API: a loopback server for embeddings, with faults, and an ONNX model."""

from __future__ import annotations

import json
import os
import runpy
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

import corrobora
from corrobora.policies import queries
from corrobora.storage.index import vectors

WORDS = ("lake", "freeze", "winter", "perch", "cold", "tram")
LIKE = {"ice": "freeze", "seas": "lake", "chilly": "cold"}


def embed(text: str) -> list[float]:
    """A vector that knows a few words, and which of them mean the same."""
    said = [LIKE.get(word, word) for word in text.lower().replace(".", " ").split()]
    return [0.01 + sum(each.startswith(word) for each in said) for word in WORDS]


OVER = threading.Event()


class Embeddings:
    """An endpoint for embeddings; `answer` changes what it says."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        self.asked: list[int] = []
        self.answer: Callable[[list[list[float]]], tuple[int, Any]] = lambda rows: (200, rows)


@pytest.fixture
def embeddings() -> Iterator[Embeddings]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            found.asked.append(len(texts))
            status, rows = found.answer([embed(text) for text in texts])
            data = json.dumps({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    class QuietServer(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Print nothing where a client hangs up early: the tests read what the command prints."""

    with QuietServer(("127.0.0.1", 0), Handler) as server:
        found = Embeddings(server)
        OVER.clear()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        OVER.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def library(folder: Any, embeddings: Embeddings) -> Any:
    """A folder with documents, and the settings of an embedder."""
    (folder.folder / "papers" / "trams.md").write_text("# Trams\n\nA tram to the harbour leaves every hour.\n")
    folder.setenv(CORROBORA_EMBEDDER_URL=embeddings.url, CORROBORA_EMBEDDER_MODEL="m")
    return folder


def search(library: Any, text: str = "chilly ice") -> Any:
    return library("library", "search", "papers", text, "--json")


def test_documents_that_share_no_word_with_the_question_are_found(library: Any, embeddings: Embeddings) -> None:
    added = library("library", "add", "papers", "papers")
    assert (added.code, "vectors  2 computed" in added.err) == (0, True)
    found = search(library)
    assert json.loads(found.out)[0]["title"] == "Lakes of the north"
    assert "vectors" not in found.err
    (hit, *_) = corrobora.hybrid_search("chilly ice", library="papers")
    assert hit.title == "Lakes of the north"
    asked = len(embeddings.asked)
    assert "vectors" not in library("library", "add", "papers", "papers").err
    assert len(embeddings.asked) == asked
    assert json.loads(library("library", "add", "papers", "papers", "--json").out)["vector_problem"] == ""


def test_a_stray_word_does_not_hide_what_fits_by_meaning_nor_meaning_what_the_words_tell(library: Any) -> None:
    for at in range(12):
        (library.folder / "papers" / f"other{at}.md").write_text(f"# Hall {at}\n\nHall {at} has a calendar of songs.\n")
    library("library", "add", "papers", "papers")
    titles = [hit["title"] for hit in json.loads(search(library, "seas ice calendar").out)]
    assert titles[0] == "Lakes of the north"
    assert "Hall 3" in titles
    told = json.loads(search(library, "hall 3 has a calendar of songs, chilly ice").out)
    assert told[0]["title"] == "Hall 3"
    library.setenv(CORROBORA_EMBEDDER_URL="", CORROBORA_EMBEDDER_MODEL="")
    assert "Lakes of the north" not in [hit["title"] for hit in json.loads(search(library, "seas ice calendar").out)]


@pytest.mark.covers("setting embedder.model", "setting embedder.url")
def test_a_library_from_before_is_embedded_by_the_next_add_and_a_new_model_embeds_anew(
    library: Any, embeddings: Embeddings
) -> None:
    library.setenv(CORROBORA_EMBEDDER_URL="", CORROBORA_EMBEDDER_MODEL="")
    library("library", "add", "papers", "papers")
    assert json.loads(search(library).out) == []
    library.setenv(CORROBORA_EMBEDDER_URL=embeddings.url, CORROBORA_EMBEDDER_MODEL="m")
    assert "The library has no vectors yet." in search(library, "perch").err
    assert "vectors  2 computed" in library("library", "add", "papers", "papers").err
    assert json.loads(search(library).out)
    library.setenv(CORROBORA_EMBEDDER_MODEL="n")
    assert "those of the model m, not of n" in search(library, "perch").err
    assert "vectors  2 computed" in library("library", "add", "papers", "papers").err
    assert "vectors" not in search(library).err


def slow(rows: list[list[float]]) -> tuple[int, Any]:
    OVER.wait(60)  # until the test is over: however loaded the machine is, no answer comes in time
    return 200, rows


FAULTS = [
    pytest.param(lambda _: (500, []), "HTTP 500", id="an error"),
    pytest.param(lambda _: (401, []), "refused the key", id="a refused key"),
    pytest.param(lambda rows: (200, [*rows, rows[0]]), "vectors for", id="too many"),
    pytest.param(lambda _: (200, []), "0 vectors for", id="none"),
    pytest.param(lambda rows: (200, [[float("nan")] * 5 for _ in rows]), "NaN", id="no numbers"),
    pytest.param(slow, "did not answer", id="slow"),
]


@pytest.mark.parametrize(("fault", "why"), FAULTS)
def test_an_embedder_that_answers_badly_costs_the_vectors_only(
    library: Any, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch, fault: Any, why: str
) -> None:
    embeddings.answer = fault
    with monkeypatch.context() as patch:
        patch.setattr(vectors, "BATCH_SECONDS", 0.2 if fault is slow else 60.0)
        added = library("library", "add", "papers", "papers")
    assert added.code == 0
    assert "2 read" in added.err
    assert why in added.err
    assert "Traceback" not in added.err
    embeddings.answer = lambda rows: (200, rows)
    assert "vectors  2 computed" in library("library", "add", "papers", "papers").err
    embeddings.answer = fault
    monkeypatch.setattr(vectors, "QUESTION_SECONDS", 0.2 if fault is slow else 60.0)
    found = search(library, "which fish: perch?")
    assert found.code == 0
    assert json.loads(found.out)[0]["title"] == "Lakes of the north"
    assert why in found.err
    assert "words alone" in found.err


def test_other_dimensions_than_stored_cost_the_vectors_only(library: Any, embeddings: Embeddings) -> None:
    library("library", "add", "papers", "papers")
    embeddings.answer = lambda rows: (200, [row[:3] for row in rows])
    found = search(library, "perch")
    assert found.code == 0
    assert json.loads(found.out)
    assert "have 6 dimensions, and those of m now have 3" in found.err


def test_a_run_goes_on_by_words_when_the_embedder_is_down_and_says_so(library: Any, embeddings: Embeddings) -> None:
    library("library", "add", "papers", "papers")
    embeddings.answer = lambda _: (500, [])
    result = library("Which fish do the lakes of the north hold?", "-l", "papers", "--display", "plain")
    assert result.code == 0
    assert "perch and pike" in result.out
    assert "HTTP 500" in result.err


def test_nobody_listens_at_the_address(library: Any) -> None:
    library.setenv(CORROBORA_EMBEDDER_URL="http://127.0.0.1:9/v1")
    added = library("library", "add", "papers", "papers")
    assert (added.code, "failed: nobody listens there" in added.err) == (0, True)
    assert json.loads(search(library, "perch").out)


def test_a_model_folder_of_the_user(folder: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    made = runpy.run_path(str(Path(__file__).parents[2] / "adapters" / "test_embedders.py"))
    model = tmp_path / "model"
    model.mkdir()
    made["write_model"](model)
    (folder.folder / "papers" / "rule.md").write_text("# Rule\n\nThe queen.\n")
    folder.setenv(CORROBORA_EMBEDDER_MODEL=str(model))
    assert "vectors  2 computed" in folder("library", "add", "papers", "papers").err
    found = folder("library", "search", "papers", "king", "--json")
    assert json.loads(found.out)[0]["title"] == "Rule"
    assert "vectors" not in found.err


def test_a_busy_embedder_is_asked_again(library: Any, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "BASE_SECONDS", 0.01)
    answers = iter([429, 429, 200, 429, 503, 200])
    embeddings.answer = lambda rows: (next(answers), rows)
    added = library("library", "add", "papers", "papers")
    assert "vectors  2 computed" in added.err
    found = search(library)
    assert (json.loads(found.out)[0]["title"], "vectors" in found.err) == ("Lakes of the north", False)
    assert next(answers, None) is None


def test_a_search_with_vectors_only_reads_the_database(library: Any) -> None:
    library("library", "add", "papers", "papers")
    url = os.environ["CORROBORA_DATABASE_URL"]
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("alter database {} set default_transaction_read_only = on").format(sql.Identifier(str(name)))
        )
    found = search(library)
    assert (found.code, json.loads(found.out)[0]["title"]) == (0, "Lakes of the north")
    assert "vectors" not in found.err
