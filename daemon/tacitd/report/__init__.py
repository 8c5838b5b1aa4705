"""The report: tables and series of the engine and of the plugins, as one HTML page or as JSON. Nothing here is stored."""
