from pathlib import Path

import pytest
import torch
from hypothesis import settings

from scnf import shipped
from scnf.data import places
from tests.census_files import write_census
from tests.idx_files import small_files, write_files
from tests.small_images import small_image_model

# One thread: small tensors gain nothing from more, and sums come out in one order.
torch.set_num_threads(1)
settings.register_profile("scnf", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("scnf")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def small_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with small stand-ins for the published images, and for the census table."""
    folder = tmp_path_factory.mktemp("images")
    for seed, name in enumerate(("mnist", "fashion-mnist")):
        write_files(folder / name, small_files(seed), ".gz")
    write_census(folder / "adult", train_rows=240, test_rows=120)
    return folder


@pytest.fixture
def small_images_found(small_images: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, where they are looked for first."""
    monkeypatch.setenv("SCNF_DATA_DIR", str(small_images))
    return small_images


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which no data set is found; its folders lie in the path returned, which is the current one too."""
    monkeypatch.delenv("SCNF_DATA_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "SYSTEM_FOLDER", tmp_path / "system")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of shipped models, with ``tiny-100`` in it; the current folder is an empty one."""
    folder, here = tmp_path / "shelf", tmp_path / "here"
    for path in (folder, here):
        path.mkdir()
    monkeypatch.setattr(shipped, "FOLDER", folder)
    monkeypatch.chdir(here)
    small_image_model().save(folder / "tiny-100.safetensors")
    return folder
