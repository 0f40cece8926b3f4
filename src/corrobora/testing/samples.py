"""Samples: one full input for every role, about an imaginary pump, with every field filled.

Knows the registry of roles. Does not know analysts. For conformance suites, prompt tests and measurements.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from corrobora.ports import Role
from corrobora.roles import find_roles
from corrobora.roles.examples import FACTS, PASSAGES, TEXT, make_fact

__all__ = ["FACTS", "PASSAGES", "SAMPLES", "TEXT", "field_names", "find_sample", "make_fact"]

SAMPLES: tuple[tuple[Role[Any, Any], Any], ...] = tuple(
    (role, role.example()) for role in find_roles() if role.example is not None
)


def find_sample(prompt: str) -> tuple[Role[Any, Any], Any]:
    """Return the role with this prompt and its full input."""
    return next((role, given) for role, given in SAMPLES if role.prompt == prompt)


def field_names(role: Role[Any, Any]) -> frozenset[str]:
    """Return the names of the fields of a role's input."""
    return frozenset(each.name for each in fields(role.takes))
