import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from scnf.tensorfile import FileFormatError, read_tensors, write_tensors


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.safetensors"


def test_round_trip(path):
    tensors = {
        "a": torch.randn(3, 4).T,
        "b": torch.tensor(2),
        "c": torch.randn(2).double().requires_grad_(),
        "d": torch.tensor([True, False]),
        "e": torch.empty(0, 3),
    }
    values = {"text": "é", "list": [1, 2.5, None, True], "nested": {"x": float("inf")}}
    write_tensors(path, tensors, values)
    read, read_values = read_tensors(path)
    assert read_values == values
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


def test_tensors_that_share_memory_can_be_written(path):
    shared = torch.randn(3)
    write_tensors(path, {"a": shared, "b": shared[1:]}, {})
    assert torch.equal(read_tensors(path)[0]["b"], shared[1:])


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    write_tensors(path, {"a": torch.ones(2)}, {"n": 1})

    def broken(target, content):
        target.write_text("half")
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(OSError, match="no space"):
        write_tensors(path, {"a": torch.zeros(2)}, {"n": 2})
    assert read_tensors(path)[1] == {"n": 1}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("old", "new"), [(b"\x00\x00\x80\x3f", b"\x00\x00\x80\x3e"), (b'\\"n\\": 1', b'\\"n\\": 2')])
def test_one_changed_byte_is_noticed(path, old, new):
    write_tensors(path, {"a": torch.ones(2)}, {"n": 1})
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))
    with pytest.raises(FileFormatError, match="is damaged: its content is not what was written"):
        read_tensors(path)


def test_a_file_without_a_digest_is_read(path):
    save_file({"a": torch.ones(2)}, path, metadata={"scnf": '{"n": 1}'})
    assert read_tensors(path)[1] == {"n": 1}


def test_a_missing_file_is_named(path):
    with pytest.raises(FileNotFoundError, match=r"file\.safetensors does not exist"):
        read_tensors(path)


@pytest.mark.parametrize("content", [b"", b"not a file of tensors", b"\xff" * 100])
def test_a_foreign_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="damaged or not a safetensors file"):
        read_tensors(path)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, share):
    write_tensors(path, {"a": torch.randn(100)}, {})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(FileFormatError, match="damaged"):
        read_tensors(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_tensors_of_another_program_are_refused(path, metadata):
    save_file({"a": torch.ones(2)}, path, metadata)
    with pytest.raises(FileFormatError, match="scnf did not write"):
        read_tensors(path)


@pytest.mark.parametrize("header", ["{", "[1, 2]", "3"])
def test_a_damaged_header_is_refused(path, header):
    save_file({"a": torch.ones(2)}, path, {"scnf": header})
    with pytest.raises(FileFormatError, match=r"file\.safetensors is damaged: its header holds no JSON"):
        read_tensors(path)


class Trap:
    """Opens a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return open, (str(self.target), "w")


def test_a_pickle_is_refused_and_not_run(path, tmp_path):
    trap = tmp_path / "trap"
    for write in (lambda: path.write_bytes(pickle.dumps(Trap(trap))), lambda: torch.save({"a": Trap(trap)}, path)):
        write()
        with pytest.raises(FileFormatError, match="not a safetensors file"):
            read_tensors(path)
        assert not trap.exists()


def test_two_processes_do_not_write_into_one_another(path, monkeypatch):
    """The other one writes the same file while this one does."""
    original, written = Path.write_bytes, []

    def beside_another(target, content):
        written.append(target)
        if len(written) == 1:
            with monkeypatch.context() as other:
                other.setattr(os, "getpid", lambda: -7)
                write_tensors(path, {"a": torch.zeros(2)}, {"n": 2})
        return original(target, content)

    monkeypatch.setattr(Path, "write_bytes", beside_another)
    write_tensors(path, {"a": torch.ones(2)}, {"n": 1})
    assert len(set(written)) == 2
    assert read_tensors(path)[1] == {"n": 1}
    assert list(path.parent.iterdir()) == [path]
