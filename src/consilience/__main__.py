"""``python -m consilience``: the command line."""

from ._cli import main

main()
