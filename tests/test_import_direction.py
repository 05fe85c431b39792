"""Imports go one way: scripts -> tinyllm -> libraries."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = {"train", "data", "model_config", "export_gguf"}
WITHOUT_TORCH = (
    "documents",
    "errors",
    "corpus",
    "ledger",
    "cleaning",
    "dedup",
    "assembly",
    "checkpoints",
    "checkpoints.mirror",
    "gguf.export",
    "plan",
    "runs",
    "cache",
    "packing",
    "tokenization",
)
STANDARD_LIBRARY_ONLY = ("checkpoints", "checkpoints.mirror")


def imports_of(path: Path) -> set[str]:
    """Every module name that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            if (node.module or "").startswith("tinyllm"):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def reachable(module: str) -> set[str]:
    """Everything that importing `module` of tinyllm brings in, tinyllm's own modules followed."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name.startswith("tinyllm."):
            base = ROOT.joinpath(*name.split("."))
            path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
            if path.exists():
                waiting += imports_of(path)
    return seen


@pytest.mark.parametrize("path", sorted((ROOT / "tinyllm").rglob("*.py")), ids=lambda p: p.stem)
def test_nothing_in_tinyllm_imports_a_script(path: Path):
    assert not {name.split(".")[0] for name in imports_of(path)} & SCRIPTS


@pytest.mark.parametrize("name", WITHOUT_TORCH)
def test_the_data_and_file_rooms_do_without_torch(name: str):
    roots = {module.split(".")[0] for module in reachable(f"tinyllm.{name}")}
    assert not roots & {"torch", "accelerate"}


@pytest.mark.parametrize("name", STANDARD_LIBRARY_ONLY)
def test_code_that_can_delete_files_needs_the_standard_library_alone(name: str):
    outside = {
        module
        for module in reachable(f"tinyllm.{name}")
        if module.split(".")[0] not in sys.stdlib_module_names and module.split(".")[0] != "tinyllm"
    }
    assert not outside
