"""The obedient reader: its answers are made of the prompt's own words, and fit every role."""

from __future__ import annotations

import json

import pytest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from pydantic import TypeAdapter

from corrobora.analysts.language_model.rendering import render_prompt
from corrobora.roles.forms import FACTS, PASSAGES
from corrobora.testing.conformance import SAMPLES


@pytest.mark.parametrize(("role", "given"), SAMPLES, ids=[role.prompt for role, _ in SAMPLES])
def test_every_role_gets_an_answer_that_its_type_accepts(role, given):
    prompt = render_prompt(role, given)
    answer = answer_prompt(prompt.system, prompt.user)
    filled = TypeAdapter(role.wire).validate_json(answer, strict=True)
    assert isinstance(role.convert(given, filled), role.gives)


def test_quotes_and_reports_use_the_words_and_markers_of_the_prompt():
    pairs = {role.prompt: render_prompt(role, given) for role, given in SAMPLES}
    extract = json.loads(answer_prompt(pairs["extract"].system, pairs["extract"].user))
    assert extract["quotes"]
    assert all(quote["quote"] in PASSAGES[0].text for quote in extract["quotes"])
    report = json.loads(answer_prompt(pairs["synthesize"].system, pairs["synthesize"].user))["body"]
    assert all(f"{fact.quote.rstrip('.')} {fact.marker}." in report for fact in FACTS)


def test_a_page_without_a_known_role_gets_an_empty_object():
    assert answer_prompt("You are a pirate.", "Hello <data-0123456789>x</data-0123456789>") == "{}"
    assert ParsedPrompt.read("# Role: judge", "Say: <data-012345>x</data-012345>").after("Say:") == "x"
