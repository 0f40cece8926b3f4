"""MCP: research, its evidence and the libraries as tools, resources and prompts of the Model Context Protocol.

`command` starts the server, `tools` holds what a model may call, `tasks` the tasks extension, `resources` what a client
may read, `views` how a run is told to a program. Needs the extra `corrobora[serve]`.
"""
