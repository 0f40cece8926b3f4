"""What a client may ask for: checked like flags, and never a path, server or folder of this machine."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import list_flags
from corrobora.faces.web.new_run import NewRun, make_request

QUESTION = "When was the bridge opened?"


def test_a_request_can_say_all_that_the_command_can() -> None:
    of_the_operator = {"display", "sources.refresh"}  # his terminal and his folders
    said = {each.key for each in list_flags().values() if {each.attribute, each.parameter} & set(NewRun.model_fields)}
    assert said | of_the_operator == {each.key for each in list_flags().values()}


def test_values_override_the_settings_of_the_server(made) -> None:
    wanted = NewRun(
        question=QUESTION,
        libraries=["docs"],
        profile="rounds",
        time=2,
        max_rounds=3,
        max_cost=0.5,
        models={"lead": "ollama:small"},
        fields={"reads_per_round": 4},
        authorize=True,
    )
    request = make_request(made(), wanted)
    assert (request.profile, request.libraries, request.authorized) == ("rounds", ("docs",), "policy")
    assert ("minutes", "2.0") in request.overrides
    assert ("max_rounds", "3") in request.overrides
    assert request.overrides[-1] == ("reads_per_round", "4")
    assert dict(request.metadata)["max_usd"] == "0.5"
    assert dict(request.models)["lead"] == "ollama:small"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"time": 0}, "config_value"),
        ({"angles": 9}, "config_value"),
        ({"models": {"lead": "nothing"}}, "config_value"),
        ({"models": {"lead": "openai:a@http://127.0.0.1:1/v1"}}, "model_address"),
        ({"models": {"judge": "anthropic:a@https://thief.example"}}, "model_address"),
        ({"profile": "./own.toml"}, "unknown_profile"),
        ({"deliver": ["folder:/tmp"]}, "delivery_target"),
        ({"offline": True, "providers": ["wikipedia"]}, "flags_conflict"),
        ({"libraries": []}, "sources_missing"),
    ],
)
def test_what_cannot_be_is_refused_with_its_code(made, more: dict[str, object], code: str) -> None:
    with pytest.raises(UserError) as caught:
        make_request(made(), NewRun.model_validate({"question": QUESTION, "libraries": ["docs"], **more}))
    assert caught.value.code == code


def test_unknown_fields_and_wrong_types_are_refused() -> None:
    for more in ({"home": "/tmp"}, {"max_rounds": "3"}, {"deep": "yes"}, {"question": 7}):
        with pytest.raises(ValidationError):
            NewRun.model_validate({"question": QUESTION, **more})
