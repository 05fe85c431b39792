"""Which files are read, in which order, and what is refused."""

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tinyllm.errors import UserError
from tinyllm.reading import inputs
from tinyllm.reading.inputs import find_files, has_changed


def names(files) -> list[str]:
    return [Path(file.path).name for file in files]


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_folder_is_walked_to_the_bottom_in_order_of_names(tmp_path):
    for name in ("b.jsonl", "a/z.jsonl", "a/deep/er/y.txt", "c.json"):
        write(tmp_path / name)
    assert names(find_files([tmp_path])) == ["y.txt", "z.jsonl", "b.jsonl", "c.json"]


def test_the_order_does_not_depend_on_the_order_of_the_paths(tmp_path):
    paths = [write(tmp_path / name) for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl")]
    forward = find_files([*paths, tmp_path])
    assert forward == find_files([tmp_path, *reversed(paths)])
    assert len(forward) == 3


def test_size_and_time_are_those_on_disk(tmp_path):
    path = write(tmp_path / "a.jsonl", "12345")
    (file,) = find_files([path])
    assert (file.size, file.mtime_ns) == (5, path.stat().st_mtime_ns)


def test_globs_reach_into_folders(tmp_path):
    for name in ("a.jsonl", "x/b.jsonl", "x/y/c.jsonl", "x/d.txt"):
        write(tmp_path / name)
    assert names(find_files([f"{tmp_path}/**/*.jsonl"])) == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_a_name_with_brackets_is_no_glob_if_it_exists(tmp_path):
    write(tmp_path / "log[1].jsonl")
    assert names(find_files([f"{tmp_path}/log[1].jsonl"])) == ["log[1].jsonl"]


def test_the_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "logs" / "a.jsonl")
    (file,) = find_files(["~/logs"])
    assert file.path == str(tmp_path / "logs" / "a.jsonl")


def test_hidden_entries_of_a_folder_are_listed_but_not_entered(tmp_path):
    for name in (".git/config", ".hidden.jsonl", "a.jsonl"):
        write(tmp_path / name)
    hidden = {Path(file.path).name: file.passed_by for file in find_files([tmp_path])}
    assert hidden == {".git": "hidden", ".hidden.jsonl": "hidden", "a.jsonl": ""}


def test_a_log_that_its_program_hides_is_read(tmp_path):
    (tmp_path / ".aider.chat.history.md").write_text("#### hi")
    (tmp_path / ".env").write_text("KEY=1")
    assert [(Path(file.path).name, file.passed_by) for file in find_files([tmp_path])] == [
        (".aider.chat.history.md", ""),
        (".env", "hidden"),
    ]


@pytest.mark.parametrize(
    ("copy", "log"),
    [("ui_messages.json", "api_conversation_history.json"), ("context.jsonl", "wire.jsonl")],
)
def test_of_two_files_that_say_the_same_one_is_read(tmp_path, copy, log):
    for folder in ("both", "one"):
        write(tmp_path / folder / copy)
    write(tmp_path / "both" / log)
    found = {file.path: file.passed_by for file in find_files([tmp_path]) if file.passed_by}
    assert found == {str(tmp_path / "both" / copy): f"said in {log} too"}


@pytest.mark.parametrize("change", ["longer", "rewritten", "gone"])
def test_a_file_that_is_no_longer_as_it_was_listed_is_told(tmp_path, change):
    path = tmp_path / "a.jsonl"
    path.write_text("12345678")
    file = find_files([path])[0]
    assert not has_changed(file)
    if change == "gone":
        path.unlink()
    else:
        path.write_text("12345678" + ("9" if change == "longer" else ""))
        os.utime(path, ns=(file.mtime_ns + 1, file.mtime_ns + 1))
    assert has_changed(file)


def test_a_hidden_folder_that_is_named_is_read(tmp_path):
    write(tmp_path / ".agent" / "a.jsonl")
    assert names(find_files([tmp_path / ".agent"])) == ["a.jsonl"]


def test_links_to_one_file_make_it_one_input(tmp_path):
    write(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "a.jsonl")
    os.link(tmp_path / "a.jsonl", tmp_path / "c.jsonl")
    assert names(find_files([tmp_path])) == ["a.jsonl"]


def test_a_circle_of_links_between_folders_ends(tmp_path):
    write(tmp_path / "a" / "one.jsonl")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert names(find_files([tmp_path])) == ["one.jsonl"]


def test_dangling_and_circular_links_are_faults(tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    faults = {Path(file.path).name: file.fault for file in find_files([tmp_path])}
    assert faults["dangling"] == "dangling link"
    assert "symbolic links" in faults["loop"]


def test_pipes_and_sockets_are_faults_of_no_size(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(str(tmp_path / "s"))
        except OSError:
            pytest.skip("the temporary folder's path is too long for a socket")
        files = find_files([tmp_path])
    assert {(file.fault, file.size) for file in files} == {("named pipe", 0), ("socket", 0)}


@contextmanager
def nobodys_folder() -> Iterator[Path]:
    """A folder, and rights that end at those of files and folders, also where root runs tests."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        if is_root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            for path in folder.rglob("*"):
                path.chmod(0o755)
            if is_root:
                os.seteuid(0)


def test_a_folder_that_lists_names_but_opens_none_gives_a_fault_for_each():
    with nobodys_folder() as folder:
        write(folder / "closed" / "a.jsonl")
        write(folder / "open" / "b.jsonl")
        (folder / "closed").chmod(0o400)
        faults = {Path(file.path).name: file.fault for file in find_files([folder])}
    assert faults == {"a.jsonl": "permission denied", "b.jsonl": ""}


def test_a_path_into_a_closed_folder_is_refused_as_such():
    with nobodys_folder() as folder:
        write(folder / "closed" / "a.jsonl")
        (folder / "closed").chmod(0)
        with pytest.raises(UserError, match="denies permission"):
            find_files([folder / "closed" / "a.jsonl"])


@pytest.fixture
def deep_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """2,500 folders in each other, with files at levels 1,200 and 2,400."""
    levels = 2500
    monkeypatch.chdir(tmp_path)
    for level in range(levels):
        if level in (1200, 2400):
            Path("a.jsonl").write_text("{}")
        Path("d").mkdir()
        os.chdir("d")
    here = os.open(".", os.O_RDONLY)
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "d"
    os.fchdir(here)
    os.close(here)
    for _ in range(levels):  # not all at once: neither can `shutil.rmtree` go so deep
        Path("a.jsonl").unlink(missing_ok=True)
        os.chdir("..")
        Path("d").rmdir()


def test_folders_nested_deeper_than_a_path_may_be_are_read_as_far_as_paths_go(deep_folder):
    found = find_files([deep_folder])
    assert [Path(file.path).name for file in found if not file.fault] == ["a.jsonl"]
    assert [file.fault for file in found if file.fault] == ["file name too long"]


def test_a_pattern_that_goes_too_deep_is_refused(tmp_path, monkeypatch):
    def too_deep(*_, **__):
        raise RecursionError

    monkeypatch.setattr(inputs, "glob", too_deep)
    with pytest.raises(UserError, match="lie too deep"):
        find_files([tmp_path / "**"])


def test_a_link_to_a_hidden_file_is_read(tmp_path):
    write(tmp_path / ".hidden.jsonl")
    (tmp_path / "seen.jsonl").symlink_to(".hidden.jsonl")
    assert [(Path(file.path).name, file.passed_by) for file in find_files([tmp_path])] == [
        ("seen.jsonl", "")
    ]


@pytest.mark.parametrize("step", [1, -1])
def test_a_hidden_file_that_is_named_is_read_beside_its_folder(tmp_path, step):
    hidden = write(tmp_path / ".hidden.jsonl")
    (file,) = find_files([tmp_path, hidden][::step])
    assert file.passed_by == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_fault_of_its_full_size(tmp_path):
    path = write(tmp_path / "a.jsonl", "123")
    path.chmod(0)
    (file,) = find_files([path])
    assert (file.fault, file.size) == ("permission denied", 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("missing.jsonl", "no such file or folder"),
        ("*.jsonl", "no file matches the pattern"),
        ("empty", "holds no files"),
        ("", "no such file or folder"),
        ("a\0b", "no such file or folder"),
    ],
)
def test_paths_without_files_are_refused_by_name(tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=words) as caught:
        find_files([given])
    assert repr(given) in str(caught.value)


def test_no_path_at_all_is_refused():
    with pytest.raises(UserError, match="no input was named"):
        find_files([])


def test_a_name_longer_than_a_file_system_allows_is_one_sentence():
    with pytest.raises(UserError, match="no such file or folder"):
        find_files(["x" * 5000])
