"""``python -m consilience._cli``."""

from . import main

main()
