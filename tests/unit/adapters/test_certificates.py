"""Certificates: checked, read once, whatever the environment says."""

from __future__ import annotations

import ssl

import pytest

from corrobora.adapters.http import tls_context


def test_certificates_and_names_are_checked_by_one_context(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    context = tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert tls_context() is context
