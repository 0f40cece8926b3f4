"""MCP: research, its evidence and the libraries as tools, resources and prompts of the Model Context Protocol.

`server` speaks the protocol and its extension for tasks, `tools` holds what a model may call, `resources` what a client
may read and how a run is described to it; `faces.serve` has the command. Needs the extra `corrobora[serve]`.
"""
