"""The estimate of a run before anything is paid: what its plan may take in tokens, dollars and minutes.

Knows the models of a request and their prices. Does not decide whether the run may start: `Estimate.needs_yes` says
whether a person must be asked, and the session asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from corrobora.app.models import ModelPool
from corrobora.config import Settings
from corrobora.domain.plan import Plan
from corrobora.domain.run import Request, RequestOption
from corrobora.policies.budget import Estimate, estimate_run
from corrobora.policies.profile import Profile, derive_numbers


def open_estimator(
    settings: Settings, request: Request, profile: Profile, models: ModelPool
) -> Callable[[Plan], Estimate] | None:
    """Return what estimates the plans of a run, or None if none of its models costs anything."""
    wishes = {**settings.models, **dict(request.models)}
    prices = models.list_prices(wishes, thinking=profile.lead_thinking)
    known = [price for price in prices.values() if price is not None]
    if len(known) == len(prices) and not any(price.input or price.output for price in known):
        return None
    limits = (request.get_option(name) for name in (RequestOption.ASK_ABOVE_USD, RequestOption.MAX_USD))
    ask_above, cap = (float(limit) if limit else None for limit in limits)
    cheapest = min(known, key=lambda price: price.output) if len(known) == len(prices) else None
    dearest = max(known, key=lambda price: price.output) if len(known) == len(prices) else None

    def estimate_plan(plan: Plan) -> Estimate:
        found = estimate_run(plan, derive_numbers(profile, models=True), cheapest, dearest)
        if found.high.dollars is not None and cap:
            capped = [replace(end, dollars=min(end.dollars or 0.0, cap)) for end in (found.low, found.high)]
            found = replace(found, low=capped[0], high=capped[1])
        return replace(
            found,
            models=tuple(sorted(prices)),
            unpriced=tuple(sorted(name for name, price in prices.items() if price is None)),
            ask_above=ask_above,
        )

    return estimate_plan
