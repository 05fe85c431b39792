"""Real servers on this machine for tests of stores: S3, WebDAV, SFTP. Each gives an address."""

import asyncio
import contextlib
import json
import logging
import os
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@contextlib.contextmanager
def fsspec_settings(protocol: str, **settings: Any) -> Iterator[None]:
    """Defaults of a protocol, as a user's FSSPEC_… variable or configuration file gives them."""
    import fsspec.config

    before = fsspec.config.conf.get(protocol)
    fsspec.config.conf[protocol] = settings
    try:
        yield
    finally:
        fsspec.config.conf.pop(protocol)
        if before is not None:
            fsspec.config.conf[protocol] = before


@contextlib.contextmanager
def s3_address() -> Iterator[str]:
    """moto's server, an S3 in memory; the address of a folder in a new bucket."""
    pytest.importorskip("s3fs", reason="s3fs isn't installed: pip install -r requirements-dev.txt")
    server_module = pytest.importorskip("moto.server", reason="moto[server] isn't installed")
    import fsspec

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "key": "test",
        "secret": "test",
        "client_kwargs": {"endpoint_url": f"http://{host}:{port}"},
    }
    try:
        with fsspec_settings("s3", **settings):
            bucket = f"models-{uuid.uuid4().hex[:8]}"  # the server's memory outlives it
            fsspec.filesystem("s3").mkdir(bucket)
            yield f"s3://{bucket}/run"
    finally:
        server.stop()


@contextlib.contextmanager
def webdav_address(folder: Path) -> Iterator[str]:
    """A WebDAV server that shows `folder`."""
    wsgi = pytest.importorskip("cheroot.wsgi", reason="cheroot isn't installed")
    app_module = pytest.importorskip("wsgidav.wsgidav_app", reason="wsgidav isn't installed")
    pytest.importorskip("webdav4.fsspec", reason="webdav4[fsspec] isn't installed")
    import fsspec

    with contextlib.suppress(ValueError):  # it registers itself in newer versions
        fsspec.register_implementation("webdav", "webdav4.fsspec.WebdavFileSystem")
    app = app_module.WsgiDAVApp(
        {
            "provider_mapping": {"/": str(folder)},
            "simple_dc": {"user_mapping": {"*": True}},
            "logging": {"enable": False},
            "verbose": 0,
        }
    )
    server = wsgi.Server(("127.0.0.1", 0), app)
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    port = server.bind_addr[1]
    try:
        with fsspec_settings("webdav", base_url=f"http://127.0.0.1:{port}"):
            yield "webdav://run"
    finally:
        server.stop()
        thread.join()


@contextlib.contextmanager
def sftp_address(folder: Path, password: str = "s3cret-word") -> Iterator[str]:
    """An SFTP server whose root is `folder`; the address holds the password."""
    pytest.importorskip("sshfs", reason="sshfs isn't installed")
    asyncssh = pytest.importorskip("asyncssh", reason="asyncssh isn't installed")

    class Server(asyncssh.SSHServer):  # type: ignore[name-defined,misc]
        def begin_auth(self, username: str) -> bool:
            return True

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, given: str) -> bool:
            return given == password

    class Rooted(asyncssh.SFTPServer):  # type: ignore[name-defined,misc]
        def __init__(self, channel: Any) -> None:
            super().__init__(channel, chroot=os.fsencode(folder))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> Any:
        key = asyncssh.generate_private_key("ssh-ed25519")
        return await asyncssh.create_server(
            Server, "127.0.0.1", 0, server_host_keys=[key], sftp_factory=Rooted
        )

    async def stop(server: Any) -> None:
        server.close()
        await server.wait_closed()
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        with fsspec_settings("ssh", known_hosts=None):
            yield f"ssh://me:{password}@127.0.0.1:{server.get_port()}/run"
    finally:
        asyncio.run_coroutine_threadsafe(stop(server), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def settings_for_a_child(protocol: str) -> dict[str, str]:
    """The environment that gives a process of its own the same settings."""
    import fsspec.config

    return {f"FSSPEC_{protocol.upper()}": json.dumps(fsspec.config.conf[protocol])}
