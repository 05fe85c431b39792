"""Shared by all tests: no test touches the user's cache or the network."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Nothing is tested by time limits: machines differ, and are shared.
settings.register_profile("tinyllm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tinyllm")


@pytest.fixture(autouse=True)
def _private_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Prepared data of a test goes to a folder of its own."""
    monkeypatch.setenv("TINYLLM_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def tiny_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preset `tiny` that trains in seconds."""
    from tiny_runs import TINY

    import model_config

    monkeypatch.setitem(model_config.PRESETS, "tiny", TINY)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with a small corpus of chats."""
    from tiny_runs import write_corpus

    return write_corpus(tmp_path / "logs")


@pytest.fixture(scope="session")
def shared_logs() -> Path:
    """Real logs that lie beside a developer's checkout, never inside it."""
    return beside_the_checkout("logs", "real logs")


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """Small files with one fault each, that broke other programs."""
    return beside_the_checkout("cases/logs", "files with one fault each")


def beside_the_checkout(name: str, what: str) -> Path:
    folder = Path(__file__).parent.parent.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"needs ../shared/{name} ({what}), which this checkout lacks")
    return folder
