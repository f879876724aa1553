"""Pictures of what the library computes (needs matplotlib)."""
