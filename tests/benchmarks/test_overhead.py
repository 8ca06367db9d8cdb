import torch

from scnf.benchmarks import overhead


def test_the_record_tells_the_thread_of_the_measurement(monkeypatch):
    monkeypatch.setattr(overhead, "_WARMUP_STEPS", 1)
    before = torch.get_num_threads()
    record = overhead.measure(blocks=1, steps_per_block=1)
    assert record["machine"]["threads"] == 1
    assert record["bare_ms"] > 0
    assert record["loop_ms"] > 0
    assert torch.get_num_threads() == before
