"""``python -m tunbridge.cli`` is ``tunbridge``."""

from tunbridge.cli import main

main()
