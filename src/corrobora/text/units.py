"""Units: what a symbol or name of a unit measures, and how many base units it is.

Knows a table of units with their prefixes. Does not read numbers. A unit library was weighed: pint costs 3.7 MB and
2.3 s before the first conversion, and reads the words "at", "as" and "in" as units.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Unit(NamedTuple):
    """What a unit measures and how many base units it is; months and days do not convert into each other."""

    dimension: str
    factor: float


_PREFIXES = {"n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2, "d": 0.1, "h": 1e2, "k": 1e3, "K": 1e3,
             "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}  # fmt: skip
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_LONG = {"nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "centi": 1e-2, "deci": 0.1, "kilo": 1e3, "mega": 1e6, "giga": 1e9,
         "tera": 1e12, "peta": 1e15}  # fmt: skip
_METRIC = (  # dimension, factor, symbols and names of one unit, prefixes of the symbols
    ("mass", 1e-3, "g gram gramme", "nµμumk"), ("time", 1, "s sec second", "nµμum"),
    ("length", 1, "m metre meter", "nµμumck"),
    ("volume", 1, "l L litre liter", "nµμumcdkM"), ("data", 8, "B byte octet", "kKMGTP"), ("data", 1, "b bit", "kKMGT"),
    ("frequency", 1, "Hz hertz", "kMGT"), ("power", 1, "W watt", "mkMGT"), ("energy", 3600, "Wh watt-hour", "kMGT"),
    ("energy", 1, "J joule", "kMGT"), ("energy", 4.184, "cal calorie", "k"), ("pressure", 1, "Pa pascal", "hkMG"),
    ("voltage", 1, "V volt", "mkM"), ("current", 1, "A amp ampere", "µμm"), ("amount", 1, "mol mole M", "nµμm"),
    ("dose", 1, "Sv sievert", "µμm"), ("absorbed", 1, "Gy gray", "m"), ("force", 1, "N newton", "kM"),
)  # fmt: skip
_OTHER = {
    "mass": "t tonne=1000 ton=1000 lb lbs pound=0.45359237 oz ounce=0.028349523125 mcg=1e-9",
    "time": "min minute mins=60 h hr hrs hour=3600 day=86400 week wk=604800 fortnight=1209600",
    "month": "month=1 quarter-year=3 year yr yrs=12 decade=120 century centuries=1200",
    "length": "mile mi miles=1609.344 ft foot feet=0.3048 inch inches=0.0254 yd yard=0.9144",
    "length2": "ha hectare=10000 acre=4046.8564224",
    "volume": "gallon=3.785411784 barrel=158.987294928 pint=0.473176473",
    "length/time": "mph=0.44704 kn knot=0.514444444 kph kmh=0.277777777778",
    "pressure": "bar=100000 mbar=100 mmHg=133.322387415 psi=6894.757293168 atm=101325",
    "temperature": "°c celsius=1",
    "fahrenheit": "°f fahrenheit=1",
    "ratio": "% percent pct=0.01 ‰=0.001 ppm=1e-6 ppb=1e-9",
    "points": "percentage-point pp=1",
    "$": "$ usd dollar=1",
    "€": "€ eur euro=1",
    "£": "£ gbp=1",
    "¥": "¥ jpy yen=1",
}


@lru_cache(maxsize=1)
def _units() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for dimension, factor, names, prefixes in _METRIC:
        for name in names.split():
            long = len(name) > 2 and name.islower() and name not in ("sec", "mol", "cal", "bit", "amp")  # noqa: PLR2004 - a symbol
            found[name] = Unit(dimension, factor)
            for prefix in _LONG if long or name == "bit" else prefixes:
                found[prefix + name] = Unit(dimension, factor * (_LONG if prefix in _LONG else _PREFIXES)[prefix])
    found |= {f"{prefix}B": Unit("data", 8 * factor) for prefix, factor in _BINARY.items()}
    for dimension, rows in _OTHER.items():
        waiting: list[str] = []  # names before the factor that they share
        for word in rows.split():
            name, _, factor = word.partition("=")
            waiting.append(name)
            if factor:
                found.update((each, Unit(dimension, float(factor))) for each in waiting)
                waiting = []
    return found


def find_unit(word: str) -> Unit | None:
    """Return the unit of a symbol or name, in the singular or plural; None if the word is no unit."""
    units = _units()
    plain = word.replace("° ", "°")
    low = plain.lower()
    shape = {"²": "2", "2": "2", "³": "3", "3": "3"}.get(plain[-1:], "")
    if shape and (base := units.get(plain[:-1])) is not None and base.dimension == "length":
        return Unit(base.dimension + shape, base.factor ** int(shape))
    for each in (plain, low, low.removesuffix("s")):
        if each in units and not (each != plain and len(each) < 3 and each not in ("h", "kb", "mb", "gb", "°c", "°f")):  # noqa: PLR2004 - "M" is no "m"
            return units[each]
    return {"kb": units["kB"], "mb": units["MB"], "gb": units["GB"], "tb": units["TB"]}.get(low)
