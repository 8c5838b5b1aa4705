"""The MCP server: tools and resources for agents, which `tacitd mcp` serves on standard input and output."""
