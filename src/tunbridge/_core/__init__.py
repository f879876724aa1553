"""What every room uses: checks and their messages, memory forecasts, threads, seeds, the registry."""
