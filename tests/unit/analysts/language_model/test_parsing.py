"""Loading: whatever a model writes becomes an object or a typed failure."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from corrobora.analysts.language_model.analyst import _make_form
from corrobora.analysts.language_model.parsing import drop_nulls, extract_object, fill_form, is_whole_object
from corrobora.domain.errors import RoleError
from corrobora.domain.limits import LIMITS
from corrobora.roles.extract import extract

CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")  # a NUL is left out, see below
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS, max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS, max_size=5), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(CHARACTERS, max_size=5), VALUES, max_size=5)


@given(OBJECTS, st.booleans(), st.sampled_from(["", "Here:\n```json\n", "<think>a { b</think>"]))
def test_every_object_survives_as_it_is(value: dict, ascii_only: bool, before: str):
    text = before + json.dumps(value, ensure_ascii=ascii_only) + ("\n```" if "```" in before else "")
    assert json.loads(extract_object(text, role="extract")) == value


@given(st.text(max_size=200))
def test_any_text_gives_an_object_or_a_typed_failure(text: str):
    try:
        loaded = extract_object(text, role="extract")
    except RoleError as error:
        code = error.code
    else:
        assert isinstance(json.loads(loaded), dict)
        return
    assert code in {"empty_output", "json_invalid", "json_too_deep"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "x\\ud83d y"}', "x\ufffd y"),
        ('{"a": "x\ude00 y"}', "x\ufffd y"),
        ('{"a": "x\ud83d\ude00 y"}', "x\U0001f600 y"),
        ('{"a": "漢 x"}', "漢 x"),
    ],
)
def test_half_a_character_is_joined_with_its_other_half_or_replaced(text: str, said: str):
    """A stream may end a part within a character; else a whole answer would be lost for one sign."""
    assert json.loads(extract_object(text, role="extract")) == {"a": said}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"a": {"b": 1}}', True),
        ('```json\n{"a": 1}\n```', True),
        ('<think>hm</think>{"a": 1}', True),
        ('{"a": {"b": 1}', False),
        ('{"a": 1} and {"b', False),
        ('"a"', False),
        ("# A report\n\nIt moves [S1:C1].", False),
        ("", False),
    ],
)
def test_an_answer_is_whole_if_it_is_one_object(text: str, whole: bool):
    assert is_whole_object(text) is whole


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_output"),
        ("<think>never closed", "empty_output"),
        ("no object", "json_invalid"),
        ('{"a": 1', "json_invalid"),
        ('{"a": 1, "a": 2}', "json_invalid"),
        ('{"a": {"b": 1, "b": 2}}', "json_invalid"),
        ('{"a": NaN}', "json_invalid"),
        ('{"a": -Infinity}', "json_invalid"),
        ('{"a": 1e400}', "json_invalid"),
        ('{"a": ' + "9" * 5_000 + "}", "json_invalid"),
        ('{"a": ' * 100_000, "json_too_deep"),
        ('{"a": ' * 40_000 + "1" + "}" * 40_000, "output_too_large"),
        ('{"a": ' + "[" * 65 + "]" * 65 + "}", "json_too_deep"),
        ("x" * (LIMITS.model_output_max_chars + 1), "output_too_large"),
    ],
)
def test_what_cannot_be_used_has_a_code(text: str, code: str):
    with pytest.raises(RoleError) as raised:
        extract_object(text, role="extract")
    expected = {code, "output_too_large"} if len(text) > LIMITS.model_output_max_chars else {code}
    assert raised.value.code in expected


def test_depth_is_allowed_up_to_the_limit():
    inside = "[" * (LIMITS.json_max_depth - 1) + "]" * (LIMITS.json_max_depth - 1)
    assert extract_object(f'{{"a": {inside}}}', role="extract")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{"a": 1, // b\n "c": "x//y,}"}', {"a": 1, "c": "x//y,}"}),
        ('{"a": /* , */ 1}', {"a": 1}),
        ('{"a": "\\",]", }', {"a": '",]'}),
    ],
)
def test_trailing_commas_and_comments_are_repaired_outside_strings(text: str, value: object):
    assert json.loads(extract_object(text, role="extract")) == value


def test_a_long_text_is_not_repaired():
    with pytest.raises(RoleError, match="not valid JSON"):
        extract_object('{"a": "' + "x" * LIMITS.repair_max_chars + '",}', role="extract")


def test_a_nul_is_left_out_and_what_only_looks_like_one_stays():
    text = r'{"a": "x\u0000y", "b": "\\u0000", "c": "\\\u0000z"}'
    assert json.loads(extract_object(text, role="extract")) == {"a": "xy", "b": r"\u0000", "c": "\\z"}


def test_members_that_are_null_are_left_out_at_every_depth():
    assert drop_nulls('{"a": 1}') is None
    assert drop_nulls('{"a": "null", "b": ["null"]}') is None
    assert drop_nulls('{"a": [null, 1]}') == '{"a": [1]}'
    assert json.loads(drop_nulls('{"a": null, "b": {"c": null, "d": [{"e": null}]}}') or "") == {"b": {"d": [{}]}}


def test_an_unfit_quote_is_asked_for_again_and_the_last_answer_keeps_all_that_fit():
    made = _make_form(extract)
    fit, unfit = (
        {"passage": "C1", "quote": "It is open.", "confidence": 0.7},
        {"passage": "C1", "quote": ["It is shut."], "confidence": 0.7},
    )

    def fill(*quotes: object, last: bool) -> list[str]:
        filled = fill_form(made.adapter, json.dumps({"quotes": quotes}), made.form.schema, last=last)
        return [each.quote for each in filled.quotes]

    assert fill(fit, unfit, last=True) == ["It is open."]
    assert fill(fit | {"confidence": "sure"}, last=False) == ["It is open."]
    assert fill(fit | {"subjects": "gate"}, last=False) == ["It is open."], "only its subjects are left out"
    for quotes, last in (((fit, unfit), False), ((unfit,), True)):
        with pytest.raises(ValidationError):
            fill(*quotes, last=last)
