"""Shared by all tests: no test touches the user's cache or the network."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(autouse=True)
def _private_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Prepared data of a test goes to a folder of its own."""
    monkeypatch.setenv("TINYLLM_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def shared_logs() -> Path:
    """Real logs that lie beside a developer's checkout, never inside it."""
    folder = Path(__file__).parent.parent.parent / "shared" / "logs"
    if not folder.is_dir():
        pytest.skip("needs ../shared/logs (real logs), which this checkout lacks")
    return folder
