"""Settings as a value: typed parts, and the way to a key."""

from __future__ import annotations

from typing import Any


def test_endpoints_prices_and_own_profiles_are_read(loading: Any) -> None:
    settings = loading(
        """
        [profiles.long]
        base = "timed"
        max_rounds = 7
        [models]
        lead = "lan:big"
        [models.endpoints.lan]
        base_url = "http://10.0.0.5:8000/v1/"
        api_key = { env = "LAN_KEY" }
        [models.prices."lan:big"]
        input = 0.5
        output = 1
        """,
        env={"LAN_KEY": "k"},
    )
    assert settings.profiles == {"long": {"base": "timed", "max_rounds": 7}}
    assert settings.endpoints["lan"].base_url == "http://10.0.0.5:8000/v1"
    assert settings.endpoints["lan"].api_key is not None
    assert settings.endpoints["lan"].api_key.reveal() == "k"
    assert settings.prices["lan:big"].output == 1.0
    assert settings.models == {"lead": "lan:big"}
