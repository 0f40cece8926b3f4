"""The assembly: the only place that picks adapters from settings and hands them to the engine as ports.

Knows settings, adapters, storage and the engine. Does not know faces.
"""

from corrobora.app.workspace import Workspace

__all__ = ["Workspace"]
