"""What a run may touch, picked from settings and request: analysts, searches, readers, an embedder, and how much.

Knows which adapter stands for which name. Imports the heavy ones only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from corrobora.adapters.readers.library import LibraryReader, LibrarySearch
from corrobora.assembly.models import Models
from corrobora.assembly.web import LimiterOf, Web, web_readers, web_searches
from corrobora.config import Settings
from corrobora.domain.limits import Allowance
from corrobora.domain.run import Request
from corrobora.policies.profile import Profile, derive_allowance
from corrobora.ports import Analyst, Clock, Embedder, Library, Reader, SearchProvider
from corrobora.roles.extractive.analyst import ExtractiveAnalyst

ACCEPTED = "accept_unknown_price"  # in a request's metadata: the user accepts models without a known price


def analysts(settings: Settings, request: Request, profile: Profile, models: Models) -> tuple[Analyst, ...]:
    """The chain of analysts: the models that were named, then the extractive analyst, which always answers.

    Raises:
        UserError: a model cannot be used; or none may be without a price, and nobody accepted it (safety C16).
    """
    last = ExtractiveAnalyst()
    wishes = {**settings.models, **dict(request.models)}
    asked = dict(request.metadata)
    if asked.get("max_usd") and not (settings.accept_unknown_price or asked.get(ACCEPTED)):
        models.check_prices(wishes, thinking=profile.lead_thinking)
    model = models.analyst(wishes, thinking=profile.lead_thinking)
    return (last,) if model is None else (model, last)


def allowance(request: Request, profile: Profile) -> Allowance:
    """What a run may use: the time of its profile, and the tokens, dollars and searches of its request."""
    limits = dict(request.metadata)
    tokens, dollars, searched = (limits.get(name) for name in ("max_tokens", "max_usd", "max_searches"))
    return derive_allowance(
        profile,
        tokens=int(tokens) if tokens else None,
        dollars=float(dollars) if dollars else None,
        searches=int(searched) if searched else None,
    )


def searches(
    settings: Settings, request: Request, library: Library, limiter: LimiterOf, clock: Clock
) -> Mapping[str, SearchProvider]:
    """The search providers of a run, by name: the libraries as one, and the web where providers are named."""
    found: dict[str, SearchProvider] = dict(web_searches(settings, request, limiter, clock=clock))
    if request.libraries or not found:
        found = {"library": LibrarySearch(library), **found}
    return found


def readers(  # noqa: PLR0913 - the parts of the readers
    settings: Settings, request: Request, web: Web, library: Library, space: str, *, limiter: LimiterOf
) -> tuple[Reader, ...]:
    """The readers of a run: the library's, and safe ones for pages where the web is allowed."""
    return (LibraryReader(library), *web_readers(settings, request, web, library, space, limiter=limiter))


def embedder(settings: Settings) -> Embedder | None:
    """The embedder that the settings name, or None: vectors are an option."""
    if not settings.embedder_model and not settings.embedder_url:
        return None
    from corrobora.assembly.vectors import configured_embedder  # noqa: PLC0415 - onnxruntime only where it is used

    return configured_embedder(settings)
