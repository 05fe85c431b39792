"""The one exception a user can cause, and the exit codes of every command."""

import sys
from collections.abc import Callable

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2


class UserError(ValueError):
    """Something the user asked for can't be done.

    The message is one sentence: what was wrong, the value, what to do next.
    """


def run_command(command: Callable[[], int]) -> int:
    """Run a command; a `UserError` becomes one line on stderr and exit code 2."""
    try:
        return command()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
