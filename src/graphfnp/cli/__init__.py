"""The command line: its subcommands are the verbs."""
