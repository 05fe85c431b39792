"""The one exception a user can cause, and the exit codes of every command."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class UserError(ValueError):
    """Something the user asked for can't be done.

    The message is one sentence: what was wrong, the value, what to do next.
    """


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is a `UserError`: one sentence, exit code 2, no usage."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see `{self.prog} --help`)")


def run_command(command: Callable[[], int]) -> int:
    """Run a command: a `UserError` becomes one line on stderr and exit code 2, Ctrl-C 130."""
    try:
        return command()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
