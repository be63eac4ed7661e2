"""``python -m consilience.cli``."""

from . import main

main()
