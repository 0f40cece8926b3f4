"""Certificates: checked, and read once; `tests/paths/test_way_out.py` has those that the environment names."""

from __future__ import annotations

import ssl

from corrobora.adapters.http import tls_context


def test_certificates_and_names_are_checked_by_one_context():
    context = tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert tls_context() is context
