"""``python -m graphfnp`` is the command ``graphfnp``."""

from graphfnp.cli.app import main

main()
