"""What is said of the systems follows from the numbers, in every case that they can take."""

import pytest

from scnf.experiments.systems_verdict import (
    cost_verdict,
    errors_verdict,
    growth_of,
    ratio_at_one_class,
    sampling_verdict,
    verdicts,
)


def summary_of(errors=None, speeds=None):
    """A summary with the errors and the samples a second of (data, system)."""
    errors, speeds = errors or {}, speeds or {}
    return {
        "rows": [
            {"data": data, "system": name, "error": {"mean": errors.get(key)}, "samples_per_second": speeds.get(key)}
            for key in {**errors, **speeds}
            for data, name in [key]
        ]
    }


def costs_of(ours, theirs, counts=(1, 10, 100)):
    """Costs by the number of classes: (ms, MiB) for each, of SCNF and of one flow per class."""
    return [
        {"system": system, "classes": classes, "step_ms": step, "memory_mib": memory}
        for system, values in (("scnf", ours), ("flow-per-class", theirs))
        for classes, (step, memory) in zip(counts, values, strict=False)
    ]


FLAT = [(10.0, 400.0), (10.0, 400.9), (20.0, 409.9)]
GROWS = [(20.0, 400.0), (210.0, 490.0), (2000.0, 1390.0)]
TIME_ALONE = "holds for time and does not hold for memory."
MEMORY_ALONE = "holds for memory and does not hold for time."


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ({}, "not put to the test yet."),
        ({("moons", "scnf"): 1.0}, "not put to the test yet."),
        ({("moons", "m1-m2"): 1.0}, "not put to the test yet."),
        ({("moons", "scnf"): 1.0, ("digits", "m1-m2"): 2.0}, "not put to the test yet."),
        ({("moons", "scnf"): None, ("moons", "m1-m2"): 2.0}, "not put to the test yet."),
        ({("moons", "scnf"): 1.0, ("moons", "m1-m2"): 2.0}, "holds on moons, in this time."),
        ({("moons", "scnf"): 0.0, ("moons", "m1-m2"): 2.0}, "holds on moons, in this time."),
        ({("moons", "scnf"): 2.0, ("moons", "m1-m2"): 1.0}, "does not hold on moons, in this time."),
        ({("moons", "scnf"): 1.0, ("moons", "m1-m2"): 1.0}, "does not hold on moons, in this time."),
        (
            {("moons", "scnf"): 1.0, ("moons", "m1-m2"): 2.0, ("digits", "scnf"): 4.0, ("digits", "m1-m2"): 3.0},
            "holds on moons and does not hold on digits, in this time.",
        ),
    ],
)
def test_errors_are_judged_data_set_by_data_set(errors, words):
    assert errors_verdict(summary_of(errors)) == f"SCNF makes fewer errors than M1 + M2: {words}"


@pytest.mark.parametrize(
    ("speeds", "words"),
    [
        ({}, "not put to the test yet."),
        ({("moons", "scnf"): 10.0, ("moons", "autoregressive"): None}, "not put to the test yet."),
        (
            {("digits", "scnf"): 50.0, ("digits", "autoregressive"): 10.0},
            "holds on digits (64 components: 5.0 times slower).",
        ),
        (
            {("mnist", "scnf"): 300.0, ("mnist", "autoregressive"): 10.0},
            "holds on mnist (784 components: 30 times slower).",
        ),
        (
            {("moons", "scnf"): 10.0, ("moons", "autoregressive"): 31.0},
            "does not hold on moons (2 components: 3.1 times faster).",
        ),
        (
            {("moons", "scnf"): 10.0, ("moons", "autoregressive"): 10.0},
            "does not hold on moons (2 components: 1.0 times faster).",
        ),
        (
            {
                ("moons", "scnf"): 10.0, ("moons", "autoregressive"): 31.0, ("digits", "scnf"): 50.0,
                ("digits", "autoregressive"): 10.0,
            },
            "holds on digits (64 components: 5.0 times slower) and does not hold on moons (2 components: 3.1 times "
            "faster).",
        ),
    ],
)  # fmt: skip
def test_sampling_is_judged_by_its_speed_and_not_by_its_name(speeds, words):
    sentence = sampling_verdict(summary_of(speeds=speeds))
    assert sentence.startswith("An autoregressive flow samples one component after the other and so slower than SCNF: ")
    assert sentence.endswith(f": {words}")


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([], "not measured yet."),
        (costs_of(FLAT, []), "not measured yet."),
        (costs_of([], GROWS), "not measured yet."),
        (costs_of(FLAT[:1], GROWS[:1]), "not measured yet."),
        (
            costs_of(FLAT, GROWS),
            "holds for time, memory. With 100 times the classes, a step takes 100 times as long (SCNF's 2.0); each "
            "class adds 10 MiB (SCNF's 0.1).",
        ),
        # SCNF grows as well, in one or the other.
        (costs_of([(10.0, 400.0), (100.0, 400.9), (1000.0, 409.9)], GROWS), MEMORY_ALONE),
        (costs_of([(10.0, 400.0), (10.0, 490.0), (20.0, 1390.0)], GROWS), TIME_ALONE),
        # One flow per class grows less than K does, in one or the other.
        (costs_of(FLAT, [(20.0, 400.0), (200.0, 490.0), (900.0, 1390.0)]), MEMORY_ALONE),
        (costs_of(FLAT, [(20.0, 400.0), (200.0, 490.0), (2000.0, 590.0)]), TIME_ALONE),
        (costs_of(FLAT, FLAT), "does not hold for time, memory."),
    ],
)  # fmt: skip
def test_the_cost_of_classes_is_judged_by_how_each_system_grows(costs, words):
    assert f"in proportion to K, SCNF does not: {words}" in cost_verdict(costs)


def test_growth_does_not_depend_on_how_large_one_flow_is_nor_on_the_order_of_rows():
    twice = [(2 * step, memory) for step, memory in GROWS]
    assert growth_of(costs_of(FLAT, GROWS), "flow-per-class") == growth_of(
        costs_of(FLAT, twice)[::-1], "flow-per-class"
    )


@pytest.mark.parametrize(
    ("costs", "ratio"),
    [([], None), (costs_of(FLAT, []), None), (costs_of(FLAT, GROWS, (2, 3)), None), (costs_of(FLAT, GROWS), 2.0)],
)
def test_one_class_tells_how_much_larger_one_flow_is(costs, ratio):
    assert ratio_at_one_class(costs) == ratio


def test_there_is_a_sentence_for_each_claim():
    assert verdicts(summary_of(), []) == [
        errors_verdict(summary_of()),
        cost_verdict([]),
        sampling_verdict(summary_of()),
    ]
