"""Export a trained model to GGUF, for llama.cpp, KoboldCpp and Ollama.

python export_gguf.py                        # the model in checkpoints/, as f16
python export_gguf.py checkpoints/checkpoint-500 --type q8_0 --out small.gguf
"""

import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tinyllm import __version__
from tinyllm.console import say
from tinyllm.errors import EXIT_OK, Parser, UserError, run_command
from tinyllm.gguf.export import (
    CONFIG_FILE,
    WEIGHTS_FILE,
    SourceModel,
    read_model,
    replacing,
    write_gguf,
)
from tinyllm.gguf.ollama import HEADER, MODELFILE, modelfile
from tinyllm.gguf.tensors import FILE_TYPES, few
from tinyllm.runs import read_run

MAGIC = b"GGUF"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def build_parser() -> Parser:
    """The command's arguments."""
    parser = Parser(prog="export_gguf.py", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"tinyllm {__version__}")
    parser.add_argument("model", nargs="?", type=Path, default=Path("checkpoints"), metavar="MODEL",
                        help="folder of a final model or a checkpoint (default: checkpoints); "
                        "without a final model, its newest checkpoint")  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: a name by size and type "
                        "beside the model")  # fmt: skip
    parser.add_argument("--type", choices=FILE_TYPES, default="f16", dest="file_type",
                        help="of the matrices; f16 is nearest for its size (default)")  # fmt: skip
    return parser


def find_model(folder: Path) -> Path:
    """`folder` if it holds a model, otherwise its newest checkpoint that does.

    Raises UserError if there is neither.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give the --out of a training run")
    if _holds_model(folder):
        return folder
    steps = {
        int(match[1]): path
        for path in folder.iterdir()
        if (match := _CHECKPOINT.fullmatch(path.name)) and _holds_model(path)
    }
    if not steps:
        raise UserError(
            f"{folder} holds no model ({CONFIG_FILE} and {WEIGHTS_FILE}) and no checkpoint: "
            "train one with `python train.py`"
        )
    newest = steps[max(steps)]
    say(f"{folder} holds no final model: taking its newest checkpoint, {newest.name}")
    return newest


def _holds_model(folder: Path) -> bool:
    return (folder / CONFIG_FILE).is_file() and (folder / WEIGHTS_FILE).is_file()


def model_name(source: Path) -> str:
    """By run.json `tinyllm-nano`, for a checkpoint `tinyllm-nano-step500`; or the folder's name."""
    try:
        name = f"tinyllm-{read_run(source).settings['size']}"
    except (UserError, KeyError):
        return source.resolve().name
    step = _CHECKPOINT.fullmatch(source.resolve().name)
    return f"{name}-step{step[1]}" if step else name


def default_out(source: Path, name: str, file_type: str) -> Path:
    """Beside the model; for a checkpoint, outside it: its contents are sealed by a manifest."""
    resolved = source.resolve()
    parent = source.parent if source.name else resolved.parent
    folder = parent if _CHECKPOINT.fullmatch(resolved.name) else source
    return folder / f"{name}-{file_type}.gguf"


def check_out(out: Path) -> None:
    """Raise UserError unless `out` is free in an existing folder, or a GGUF file to replace."""
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"--out {out} is not a file in an existing folder: give another name")
    if not os.path.lexists(out):
        return
    if out.is_file():
        with out.open("rb") as file:
            if file.read(len(MAGIC)) in (MAGIC, b""):
                return
    raise UserError(f"--out {out} is there already and no GGUF file: give another name")


def export(args: Namespace) -> int:
    """Find, read, write, tell."""
    started = time.monotonic()
    source = find_model(args.model)
    name = model_name(source)
    out = args.out or default_out(source, name, args.file_type)
    model = read_model(source)
    try:
        check_out(out)
        written = write_gguf(model, out, args.file_type, name)
        wrote_modelfile = write_modelfile(model, out)
    except OSError as error:
        raise UserError(
            f"{out} can't be written ({error.strerror or error}): give another place with --out"
        ) from error
    if written.fallbacks:
        say(
            f"f16 in place of {args.file_type}, whose blocks the rows don't fill: "
            f"{few(written.fallbacks)}"
        )
    if model.tokens.chat_template is None:
        say("the tokenizer has no chat template, so the file has none: use it for completion")
    say(
        f"{out}: {args.file_type}, {written.nbytes / 1e6:,.1f} MB, "
        f"{written.parameters / 1e6:,.2f}M parameters, {time.monotonic() - started:.1f} s"
    )
    if wrote_modelfile:
        say(f"for Ollama: ollama create {name} -f {out.parent / MODELFILE}")
    return EXIT_OK


def write_modelfile(model: SourceModel, out: Path) -> bool:
    """Write the Modelfile beside `out`, unless one that isn't this program's lies there."""
    target = out.parent / MODELFILE
    if target.exists() and not target.read_text(errors="replace").startswith(HEADER):
        say(f"{target} is not this program's and was left as it is")
        return False
    text = modelfile(out.name, model.settings.context_length, model.tokens.chat_template)
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(
        lambda: export(build_parser().parse_args(sys.argv[1:] if argv is None else argv))
    )


if __name__ == "__main__":
    raise SystemExit(main())
