"""Targets of a delivery: what the operator has set, and nothing that a request names."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from corrobora.app.delivery import open_target
from corrobora.config import load_settings
from corrobora.domain.errors import UserError

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


def test_angles_the_address_of_a_webhook_is_the_operators_alone():
    settings = load_settings(
        env={"CORROBORA_DELIVERY_WEBHOOK_URL": "https://hook.example.org", "WEBHOOK_SECRET": SECRET},
        user_file=Path("/nonexistent"),
    )
    assert open_target("webhook", "", settings).name == "webhook"
    with pytest.raises(UserError):
        open_target("webhook", "https://elsewhere.example.org", settings)


@pytest.mark.parametrize("kind", ["email", "webhook", "pigeon"])
def test_angles_a_target_without_a_server_is_refused_before_the_run(kind: str):
    settings = load_settings(env={}, user_file=Path("/nonexistent"))
    with pytest.raises(UserError):
        open_target(kind, "a@b.org" if kind == "email" else "", settings)
