"""At which moments."""
