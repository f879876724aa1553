"""Decision theory for known densities: regions, boundaries and errors."""
