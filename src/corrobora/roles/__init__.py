"""The ten roles: typed functions that an analyst plays.

Each module of a role holds its input type, its output type and its `Role` value; its prompt lies in `prompts/`.
Knows types and prompts. Does not know who plays a role, nor when.
"""
