"""Pricing: tokens and dollars of one reply.

Knows reported usage, stated prices and the public price list (genai-prices). Does not trust a report that cannot be
true: zero, negative or missing counts are replaced by an estimate that is rather too high.
"""

from __future__ import annotations

from corrobora.adapters.models.registry import Target, Tokens
from corrobora.domain.limits import Usage

_USUAL_TOKENS = 5_000  # of one call: the price of some models depends on the size of the call
_BYTES_PER_TOKEN = 2  # English has about four, code and other scripts two to three: an estimate from above


def meter_reply(target: Target, tokens: Tokens, *, sent: int, received: int) -> Usage:
    """Return the usage of one call; `sent` and `received` are bytes of text that really went over the wire.

    `priced` is False where no price is known, and where the provider's report could not be used.
    """
    honest = tokens.sent > 0 and (tokens.received > 0 or received == 0) and tokens.cache_read >= 0
    counted = (
        tokens
        if honest
        else Tokens(
            max(tokens.sent, sent // _BYTES_PER_TOKEN + 1), max(tokens.received, received // _BYTES_PER_TOKEN + 1)
        )
    )
    dollars = _calculate_dollars(target, counted)
    return Usage(
        input_tokens=counted.sent,
        output_tokens=counted.received,
        cached_tokens=max(0, counted.cache_read),
        dollars=dollars or 0.0,
        calls=1,
        priced=dollars is not None and (honest or target.free),
    )


def has_price(target: Target) -> bool:
    """Tell whether calls of this model can be priced: by a stated price, by the public list, or because it is free."""
    return _calculate_dollars(target, Tokens(1, 1)) is not None


def find_price(target: Target) -> tuple[float, float] | None:
    """Return the dollars for a million tokens of input and of output in a call of usual size, None if not known."""
    sent, received = (
        _calculate_dollars(target, tokens) for tokens in (Tokens(_USUAL_TOKENS, 0), Tokens(0, _USUAL_TOKENS))
    )
    scale = 1_000_000 / _USUAL_TOKENS
    return None if sent is None or received is None else (sent * scale, received * scale)


def _calculate_dollars(target: Target, tokens: Tokens) -> float | None:
    if target.price is not None:
        price = target.price
        return (tokens.sent * price.input_per_million + tokens.received * price.output_per_million) / 1_000_000
    if target.free:
        return 0.0
    from genai_prices import Usage as Priced  # noqa: PLC0415 - 0.15 CPU-s, for billed models only
    from genai_prices import calc_price  # noqa: PLC0415

    usage = Priced(
        input_tokens=tokens.sent,
        output_tokens=tokens.received,
        cache_read_tokens=max(0, tokens.cache_read),
        cache_write_tokens=max(0, tokens.cache_written),
    )
    try:
        return float(calc_price(usage, target.model, provider_api_url=target.base_url).total_price)
    except (LookupError, ValueError):
        return None
