"""``python -m tunbridge`` is ``tunbridge``."""

from tunbridge.cli import main

main()
