"""Settings: flags, environment and files merged into one checked value whose every part knows its origin.

Knows names, kinds, precedence and secrets by reference. Does not know what the engine or the adapters do with them.
"""

from corrobora.settings.kinds import MINUTES_FORMS
from corrobora.settings.load import load_settings, user_config_file
from corrobora.settings.secrets import Secret
from corrobora.settings.values import Endpoint, Origin, Price, Settings

__all__ = ["MINUTES_FORMS", "Endpoint", "Origin", "Price", "Secret", "Settings", "load_settings", "user_config_file"]
