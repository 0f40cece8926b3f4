"""Profiles: the five research methods, and the presets made of them, as data.

Knows the fields of a profile and how TOML becomes one. Does not know the engine: it only names policies.
"""

from corrobora.profiles.load import load_profile, profile_as_dict, profile_names
from corrobora.profiles.profile import Profile, Review
from corrobora.profiles.resolve import allowance_of, estimate_inputs, resolve_advance, resolve_rules

__all__ = [
    "Profile",
    "Review",
    "allowance_of",
    "estimate_inputs",
    "load_profile",
    "profile_as_dict",
    "profile_names",
    "resolve_advance",
    "resolve_rules",
]
