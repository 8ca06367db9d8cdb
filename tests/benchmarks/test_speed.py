import json
from collections import Counter
from pathlib import Path

import pytest
import torch

from scnf.benchmarks import class_count, glow_peer, speed
from scnf.benchmarks.memory import peak_memory
from scnf.benchmarks.roofline import BareLoop, Convolution, convolutions_of
from scnf.benchmarks.timing import interleaved, median_ratio
from scnf.benchmarks.workload import LABELLED, ROWS, images, images_at_once, workload
from scnf.data.batches import Batches
from scnf.errors import UserError
from scnf.nets import ConvResNet

TINY = """
name = "tiny"
[model.f]
kind = "multiscale"
hidden = 4
levels = [{channel = 1, keep = 1}, {channel = 1, keep = 1}]
[model.h]
kind = "coupling"
steps = 1
hidden = [4]
"""


@pytest.fixture
def tiny(tmp_path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return str(path)


def test_tasks_take_turns():
    turns = []
    times = interleaved({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, blocks=3, block_seconds=0.0)
    assert "".join(turns) == "aabb" + 3 * "ab"  # each warms up and is timed once before
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}


def test_a_short_task_is_repeated_in_its_block(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("scnf.benchmarks.timing.time.perf_counter", lambda: next(clock))
    calls = []
    interleaved({"a": lambda: calls.append(1)}, blocks=1, block_seconds=5.0)
    assert len(calls) == 1 + 1 + 5


def test_the_ratio_is_taken_block_by_block():
    assert median_ratio([1.0, 10.0, 6.0], [2.0, 20.0, 3.0]) == 0.5


def test_the_roofline_holds_every_convolution_of_the_net():
    net = ConvResNet(1, 2, 8, blocks=3)
    found = convolutions_of(net, lambda: net(torch.randn(2, 1, 6, 4)))
    inner = Convolution(8, 8, 6, 4, 3)
    assert found == Counter({inner: 6, Convolution(1, 8, 6, 4, 3): 1, Convolution(8, 2, 6, 4, 3): 1})
    assert inner.macs == 8 * 8 * 6 * 4 * 9
    assert not any(module._forward_hooks for module in net.modules())
    loop = BareLoop(found, batch_size=2)
    loop.train()
    loop.infer()


def test_the_paper_does_the_work_that_was_counted():
    work = workload("paper-mnist", 2)
    convolutions = convolutions_of(work.model, work.infer)
    assert sum(convolutions.values()) == 21 * 10
    assert sum(shape.macs * count for shape, count in convolutions.items()) == pytest.approx(1.26e9, rel=0.01)


def test_training_and_inference_are_tasks(tiny):
    work = workload(tiny, 4)
    before = [parameter.clone() for parameter in work.model.parameters()]
    work.train()
    assert any(not torch.equal(a, b) for a, b in zip(before, work.model.parameters(), strict=True))
    assert work.infer().shape == (4, 10)


def test_images_are_bytes_and_as_many_as_mnist_has():
    data = images(ROWS, LABELLED)
    assert (data.x.dtype, data.x.shape) == (torch.uint8, (60_000, 1, 28, 28))
    assert int((data.y >= 0).sum()) == 100
    assert (data.x == 0).float().mean() == pytest.approx(0.81, abs=0.01)


def test_every_batch_that_is_drawn_is_another(tiny):
    draw = workload(tiny, 4).draw
    (x, y, weights), (other, _, _) = draw(), draw()
    assert (x.shape, y.shape, float(weights.sum())) == ((4, 1, 28, 28), (4,), pytest.approx(1))
    assert not torch.equal(x.mul(256).floor(), other.mul(256).floor())


def test_altered_copies_are_drawn_and_trained_on_where_a_recipe_has_them(monkeypatch):
    work = workload(speed.WITH_COPIES, 16)
    x, _, _, copies, places = work.draw()
    assert len(copies) == len(places)
    assert 0 <= len(copies) - len(x) / 2 <= 1  # half of the labelled rows and half of the others, rounded
    asked, original = [], Batches.copies
    monkeypatch.setattr(Batches, "copies", lambda *inputs: asked.append(1) or original(*inputs))
    work.train()  # progress is 0, and the copies come after it
    work.train()
    assert asked == [1]


def test_memory_is_that_of_the_process_alone(tiny):
    ballast = torch.ones(300_000_000)  # 1.1 GiB here
    peak = peak_memory(tiny, 2, "inference")
    assert 50 < peak < ballast.nbytes / 2**20


def test_a_run_writes_record_table_and_plot(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "peak_memory", lambda *arguments: 1.0)
    said = []
    record = speed.run([tiny], tmp_path / "bench", quick=True, say=said.append)
    folder = tmp_path / "bench"
    assert {path.name for path in folder.iterdir()} == {"speed.json", "speed.md", "labels-tiny.png"}
    assert json.loads((folder / "speed.json").read_text(encoding="utf-8")) == record
    page = (folder / "speed.md").read_text(encoding="utf-8")
    assert "numbers mean nothing" in page
    assert (glow_peer.MISSING in page) == (not glow_peer.is_installed())
    (row,) = record["speed"]
    assert row["train_images_per_second"] > 0
    assert row["images_at_once"] == row["batch_size"] == 4
    assert row["infer_percent_of_roofline"] > 0
    assert row["loader_percent_of_step"] > 0
    assert record["rows"] == 60_000
    assert record["copies"]["recipe"] == "mnist-consistency"
    assert record["copies"]["loader_percent_of_step"] > 0
    assert [entry["classes"] for entry in record["labels"][tiny]] == [1, 10]
    assert said


@pytest.mark.parametrize(("effort", "size"), [(speed.FULL, 256), (speed.QUICK, 4)])
def test_a_recipe_is_measured_on_batches_of_its_own_size(effort, size):
    assert speed._batch_size("paper-mnist", effort) == size


@pytest.mark.parametrize(("part_size", "size", "at_once"), [(None, 256, 256), (64, 256, 64), (64, 4, 4)])
def test_parts_of_a_batch_go_through_the_model_at_once(tiny, part_size, size, at_once):
    if part_size is not None:
        Path(tiny).write_text(f"{TINY}[training]\npart_size = {part_size}\n", encoding="utf-8")
    assert images_at_once(tiny, size) == at_once


def test_the_share_of_the_roofline_is_that_of_a_whole_batch(tiny, monkeypatch):
    """Tasks of a second each: of a batch of four, in parts of two, the bare loop does the half in that time."""
    monkeypatch.setattr(speed, "peak_memory", lambda *arguments: 1.0)
    monkeypatch.setattr(speed, "interleaved", lambda tasks, blocks, seconds: {key: [1.0] for key in tasks})
    monkeypatch.setattr("scnf.benchmarks.workload.images_at_once", lambda recipe, size: 2)
    row = speed.measure(tiny, speed.QUICK)
    assert (row["batch_size"], row["images_at_once"]) == (4, 2)
    assert row["train_images_per_second"] == 4
    assert row["train_roofline_images_per_second"] == row["infer_images_per_second"] == 2
    assert (row["train_percent_of_roofline"], row["infer_percent_of_roofline"]) == (200, 100)


def test_a_flow_on_vectors_is_refused(tmp_path):
    with pytest.raises(UserError, match="f of recipe 'toy' is none"):
        speed.run(["toy"], tmp_path)


def test_the_figure_shows_both_costs():
    rows = [{"classes": k, "log_joint_ms": 1.0 + k / 10, "all_passes_ms": 2.0 * k} for k in (1, 10, 100)]
    (axes,) = class_count.figure(rows, "title").axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[2.0, 20.0, 200.0], [1.1, 2.0, 11.0]]


@pytest.mark.skipif(not glow_peer.is_installed(), reason="normflows is an extra")
@pytest.mark.filterwarnings("ignore")  # normflows calls torch.lu
@pytest.mark.parametrize(
    ("recipe", "expected"), [("paper-mnist", {14: {64}, 7: {64}}), ("mnist", {14: {48}, 7: {128}})]
)
def test_the_peer_trains_with_the_widths_of_the_recipe(recipe, expected):
    work = glow_peer.glow_workload(recipe, 2)
    assert work is not None
    widths: dict[int, set[int]] = {}
    for shape in convolutions_of(work.model, work.infer):
        if shape.kernel == 1:
            widths.setdefault(shape.height, set()).add(shape.in_channels)
    assert widths == expected
    work.train()
    assert torch.isfinite(work.infer()).all()
