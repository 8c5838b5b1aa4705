"""The MCP server: tools and resources for agents, which `tacitd mcp` serves on standard input and output.

A tool is a command of tacitd, described for a model (`agent_tools`). Plugins bring theirs by the hook `PluginSpec.mcp`.
"""
