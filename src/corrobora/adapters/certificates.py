"""Certificates: the one TLS context of this process. Does not know who is asked."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context for every connection: certificates are checked, the environment is not asked.

    Made once: reading the machine's certificates takes tens of milliseconds and a megabyte.
    """
    return httpx2.create_ssl_context(trust_env=False)
