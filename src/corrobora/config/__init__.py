"""Configuration: settings and profiles, declared once, merged from flags, environment and files, with trust.

Knows names, types, precedence, secrets by reference, and what a stranger's folder may set. Does not know what the
engine or the adapters do with the values. Profiles (`corrobora.config.profiles`) are loaded with the policies that they
choose among, so a command that needs none of them does not import them.
"""

from corrobora.config.layers import find_user_file
from corrobora.config.loading import load_settings, resolve_language
from corrobora.config.settings import Endpoint, Settings
from corrobora.config.values import Origin, Secret, read_small_file

__all__ = [
    "Endpoint",
    "Origin",
    "Secret",
    "Settings",
    "find_user_file",
    "load_settings",
    "read_small_file",
    "resolve_language",
]
