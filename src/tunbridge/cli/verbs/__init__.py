"""The verbs of the command line, a file each; the registry finds them by their decorators."""
