"""Scope: from what a thread does not know to the queries of one round (TRIPLET-11).

Knows one thread's needs. Does not know the clock or the budget.
"""

from __future__ import annotations

from corrobora.domain.thread import Intent, ScopeInput
from corrobora.ports import Role

scope: Role[ScopeInput, Intent] = Role("scope", ScopeInput, Intent, "scope")
