"""Corrobora: deep research you can check.

A question goes in; a report comes out in which every statement points to a passage that was really read, is stored,
and can be re-opened and re-checked offline. The public names below are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corrobora.domain.errors import CorroboraError, NeedsHuman, NoEvidence, ProviderError, UserError
    from corrobora.domain.report import Outcome, Report
    from corrobora.faces.python import (
        Conversation,
        ahybrid_search,
        aresearch,
        ask,
        chat,
        hybrid_search,
        open_run,
        research,
        start,
        stream,
    )
    from corrobora.faces.structured import StructuredAnswer, aextract_fields, extract_fields, fill_rows, fill_schema

__version__ = "0.1.0"
__all__ = [
    "Conversation",
    "CorroboraError",
    "NeedsHuman",
    "NoEvidence",
    "Outcome",
    "ProviderError",
    "Report",
    "StructuredAnswer",
    "UserError",
    "__version__",
    "aextract_fields",
    "ahybrid_search",
    "aresearch",
    "ask",
    "chat",
    "extract_fields",
    "fill_rows",
    "fill_schema",
    "hybrid_search",
    "open_run",
    "research",
    "start",
    "stream",
]

_HOMES = {
    "corrobora.domain.errors": ("CorroboraError", "NeedsHuman", "NoEvidence", "ProviderError", "UserError"),
    "corrobora.domain.report": ("Outcome", "Report"),
    "corrobora.faces.python": (
        "Conversation",
        "ahybrid_search",
        "aresearch",
        "ask",
        "chat",
        "hybrid_search",
        "open_run",
        "research",
        "start",
        "stream",
    ),
    "corrobora.faces.structured": ("StructuredAnswer", "aextract_fields", "extract_fields", "fill_rows", "fill_schema"),
}


def __getattr__(name: str) -> object:
    """Load a public name where it lives (PEP 562): `import corrobora` alone must cost nothing."""
    from importlib import import_module  # noqa: PLC0415 - only where a name is asked for

    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'corrobora' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not: a notebook completes them."""
    return sorted(__all__)
