"""The one exception a user can cause, and the exit codes of every command."""

import argparse
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tinyllm.console import in_one_line

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

LARGEST_NUMBER = 2**31 - 1


class UserError(ValueError):
    """Something the user asked for can't be done.

    The message is one sentence: what was wrong, the value, what to do next.
    """


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is a `UserError`: one sentence, exit code 2, no usage.

    Flags with `type=int` and `float` take numbers up to LARGEST_NUMBER in size, those with
    `type=Path` a path that isn't empty, as an unset variable is, with `~` expanded.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.register("type", int, _whole_number)
        self.register("type", float, _number)
        self.register("type", Path, _path)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see `{self.prog} --help`)")


def _whole_number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if abs(number) > LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text} is too large: {LARGEST_NUMBER} is the most")
    return number


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if math.isnan(number) or abs(number) > LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text} is not a number of {LARGEST_NUMBER} or less")
    return number


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a path: give one that can be written")
    try:
        return Path(text).expanduser()
    except RuntimeError:  # `~somebody` whose home is unknown
        raise argparse.ArgumentTypeError(f"{text!r} is in no known home: give a path") from None


def place(text: str) -> str:
    """The type of a flag that takes a folder or an address; `""`, as of an unset variable, isn't.

    Raises argparse.ArgumentTypeError."""
    _path(text)
    return text


def run_command(command: Callable[[], int]) -> int:
    """Run a command: a `UserError` becomes one line on stderr and exit code 2, Ctrl-C 130.

    Standard streams that were closed before the start (`>&-`, some services) lead to nowhere.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    try:
        return command()
    except UserError as error:
        print(f"error: {in_one_line(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
