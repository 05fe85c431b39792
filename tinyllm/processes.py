"""What a run's processes compute on, and what one of them finds out for all."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from accelerate import PartialState

from tinyllm.console import is_main_process
from tinyllm.errors import UserError
from tinyllm.plan import world_size

T = TypeVar("T")


def device_type() -> str:
    """The kind of device Trainer will use."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def from_main_process(find: Callable[[], T]) -> T:
    """`find()`, called in the main process alone; every process gets its result or UserError.

    For what must be the same everywhere and may rename or create files.
    """
    if world_size() == 1:
        return find()
    PartialState(cpu=not torch.cuda.is_available())  # joins the processes, as Trainer does later
    answer: list[Any] = [None]
    if is_main_process():
        try:
            answer = [(find(), None)]
        except UserError as error:
            answer = [(None, str(error))]
    torch.distributed.broadcast_object_list(answer, src=0)
    found, refusal = answer[0]
    if refusal is not None:
        raise UserError(refusal)
    result: T = found
    return result
