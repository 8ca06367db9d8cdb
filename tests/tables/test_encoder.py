import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from scnf.tables import Notes, Table, TableEncoder, TableSchema
from scnf.tables.cells import log_normal

_ROWS = 400


def _mixed(seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    gaps = rng.normal(size=_ROWS)
    gaps[rng.random(_ROWS) < 0.2] = np.nan
    counts = rng.poisson(3, _ROWS).astype(np.float64)
    counts[:30] = np.nan
    town = rng.choice(np.array(["Köln", "Łódź", "東京", None], dtype=object), _ROWS, p=[0.6, 0.25, 0.1, 0.05])
    return Table(
        {
            "größe": rng.normal(size=_ROWS),
            "income": rng.lognormal(10, 2, _ROWS),
            "far": 1e9 + rng.normal(size=_ROWS),
            "wild": rng.standard_cauchy(_ROWS),
            "gaps": gaps,
            "count": rng.poisson(3, _ROWS),
            "counts with gaps": counts,
            "id": 10**18 + rng.integers(0, 1000, _ROWS),
            "town": town,
            "sold": rng.random(_ROWS) < 0.3,
            "binary": rng.integers(0, 2, _ROWS),
            "same": np.full(_ROWS, 7),
            "nothing": np.full(_ROWS, np.nan),
        }
    )


@pytest.fixture(scope="module")
def table() -> Table:
    return _mixed()


@pytest.fixture(scope="module")
def encoder(table) -> TableEncoder:
    return TableEncoder.fit(table)


def test_kinds(encoder):
    kinds = {column.name: column.kind for column in encoder.schema.columns}
    assert kinds == {
        **dict.fromkeys(("größe", "income", "far", "wild", "gaps"), "number"),
        **dict.fromkeys(("count", "counts with gaps", "id"), "integer"),
        **dict.fromkeys(("town", "sold", "binary"), "category"),
        **dict.fromkeys(("same", "nothing"), "constant"),
    }
    assert encoder.features == 11 + 2  # and a component for each of the two with gaps


@pytest.mark.parametrize("seed", [0, 1, None])
def test_round_trip(table, encoder, seed):
    z = encoder.encode(table, seed)
    assert z.dtype == np.float32
    assert z.shape == (_ROWS, encoder.features)
    back = encoder.decode(z)
    assert back.names == table.names
    for name in ("count", "counts with gaps", "id", "sold", "binary", "same", "nothing"):
        np.testing.assert_array_equal(back.columns[name], table.columns[name])
        assert back.columns[name].dtype == table.columns[name].dtype
    assert back.columns["town"].tolist() == table.columns["town"].tolist()
    np.testing.assert_allclose(back.columns["gaps"], table.columns["gaps"], atol=1e-5)
    np.testing.assert_allclose(back.columns["income"], table.columns["income"], rtol=1e-4)
    np.testing.assert_allclose(back.columns["far"] - 1e9, table.columns["far"] - 1e9, atol=1e-5)
    np.testing.assert_allclose(back.columns["wild"], table.columns["wild"], rtol=1e-4, atol=1e-5)


def test_components_are_about_standard_normal(table, encoder):
    z = encoder.encode(table, 0)
    assert np.abs(z.mean(0)).max() < 0.25
    assert np.abs(z.std(0) - 1).max() < 0.25
    assert np.abs(z).max() < 12


def test_the_seed_decides_the_noise(table, encoder):
    again = TableEncoder(encoder.schema)
    z = encoder.encode(table, 5)
    np.testing.assert_array_equal(z, again.encode(table, 5))
    assert not np.array_equal(z, encoder.encode(table, 6))
    both = encoder.encode_with_volume(table, 5)
    np.testing.assert_array_equal(both.z, z)
    np.testing.assert_array_equal(both.log_volume, again.encode_with_volume(table, 5).log_volume)


def test_without_a_seed_a_row_does_not_depend_on_the_others(table, encoder):
    z = encoder.encode(table, None)
    order = np.random.default_rng(0).permutation(_ROWS)
    np.testing.assert_array_equal(encoder.encode(table[order], None), z[order])
    np.testing.assert_array_equal(encoder.encode(table[3:4], None), z[3:4])
    volume = encoder.encode_with_volume(table, None).log_volume
    np.testing.assert_array_equal(encoder.encode_with_volume(table[3:4], None).log_volume, volume[3:4])


def test_schema_goes_through_json(encoder):
    schema = TableSchema.model_validate_json(encoder.schema.model_dump_json())
    assert schema == encoder.schema
    assert TableSchema.model_validate(encoder.schema.model_dump(mode="json")) == encoder.schema
    assert schema.text_columns == ("town",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": []},
        {"columns": [{"kind": "date", "name": "a"}]},
        {"columns": [{"kind": "constant", "name": "a", "value": 1, "more": 2}]},
        {"columns": [{"kind": "constant", "name": 5, "value": 1}]},
        {"columns": [{"kind": "constant", "name": "a", "value": 1}] * 2},
        {"columns": [{"kind": "category", "name": "a", "type": "text", "values": ["x", "y"], "counts": ["1", "2"]}]},
        {"columns": [{"kind": "category", "name": "a", "type": "text", "values": ["x", "x"], "counts": [1, 2]}]},
        {
            "columns": [
                {"kind": "number", "name": "a", "type": "float64", "scaling": {"center": 0.0, "spread": float("nan")}}
            ]
        },
    ],
)
def test_damaged_schemas_are_refused(wrong):
    with pytest.raises(ValueError, match="TableSchema"):
        TableSchema.model_validate(wrong)


@pytest.mark.parametrize("name", ["größe", "income", "far", "wild"])
def test_log_volume_of_numbers_is_the_derivative(table, name):
    one = table.select([name])
    encoder = TableEncoder.fit(one)
    x = one.columns[name]
    step = 1e-4 * np.abs(x - np.median(x)).clip(1e-2)
    # z is float32, so the slope is that of the exact map, which the codec has in float64.
    from scnf.tables.scaling import forward

    scaling = encoder.schema.columns[0].scaling
    slope = (forward(scaling, x + step)[0] - forward(scaling, x - step)[0]) / ((x + step) - (x - step))
    np.testing.assert_allclose(encoder.encode_with_volume(one, 0).log_volume, np.log(slope), atol=1e-3)
    np.testing.assert_allclose(encoder.encode(one, 0)[:, 0], forward(scaling, x)[0], rtol=1e-6, atol=1e-6)


def test_log_volumes_of_columns_add_up(table, encoder):
    parts = sum(
        TableEncoder.fit(table.select([name])).encode_with_volume(table.select([name]), None).log_volume
        for name in table.names
        if name not in ("same", "nothing")
    )
    np.testing.assert_allclose(encoder.encode_with_volume(table, None).log_volume, parts, rtol=1e-12)


def test_a_normal_model_of_a_category_gives_its_share_exactly():
    values = np.array(["a"] * 70 + ["b"] * 25 + [None] * 4, dtype=object)
    table = Table({"c": values})
    encoder = TableEncoder.fit(table)
    assert encoder.schema.columns[0].values == ("a", "b", None)
    for seed in (0, 1, None):
        z, volume = encoder.encode_with_volume(table, seed)
        mass = np.exp(log_normal(z[:, 0].astype(np.float64)) + volume)
        # One more row, of a category that training did not have, has its share of the hundred.
        np.testing.assert_allclose(mass, np.repeat([0.70, 0.25, 0.04], [70, 25, 4]), rtol=1e-5)


def test_a_normal_model_of_gaps_gives_their_share_exactly():
    values = np.concatenate([np.random.default_rng(0).normal(size=75), np.full(25, np.nan)])
    table = Table({"c": values})
    encoder = TableEncoder.fit(table)
    for seed in (0, None):
        z, volume = encoder.encode_with_volume(table, seed)
        mass = np.exp(log_normal(z.astype(np.float64)).sum(1) + volume)
        np.testing.assert_allclose(mass[75:], 0.25, rtol=1e-5)


def test_whole_numbers_have_a_bound_of_their_probability():
    """The mean of log p(z) + log_volume over the noise is at most the log of the cell's mass, and here close to it."""
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    table = Table({"n": np.round(rng.normal(50, 10, 2000)).astype(np.int64)})
    encoder = TableEncoder.fit(table, kinds={"n": "integer"})
    scaling = encoder.schema.columns[0].scaling
    assert scaling.shape == "linear"
    value = Table({"n": np.full(4000, 47)})
    z, volume = encoder.encode_with_volume(value, 0)
    bound = (log_normal(z[:, 0].astype(np.float64)) + volume).mean()
    edges = ((np.array([47, 48]) - scaling.center) / scaling.spread - scaling.mean) / scaling.std
    mass = np.log(norm.cdf(edges[1]) - norm.cdf(edges[0]))
    assert mass - 1e-3 < bound < mass + 1e-4


def test_noise_fills_the_cells_evenly():
    table = Table({"n": np.arange(1000)})
    encoder = TableEncoder.fit(table)
    scaling = encoder.schema.columns[0].scaling
    z = encoder.encode(table, 0)[:, 0].astype(np.float64)
    noise = (z * scaling.std + scaling.mean) * scaling.spread + scaling.center - np.arange(1000)
    assert scaling.shape == "linear"
    assert 0 <= noise.min() < 0.02
    assert 0.98 < noise.max() < 1.001
    assert abs(noise.mean() - 0.5) < 0.04


def test_breast_cancer():
    x = load_breast_cancer().data
    table = Table.of(x)
    encoder = TableEncoder.fit(table)
    z = encoder.encode(table, 0)
    assert z.shape == x.shape
    np.testing.assert_allclose(encoder.decode(z).to_array(), x, rtol=1e-5, atol=1e-7)
    from scipy.stats import skew

    plain = (x - x.mean(0)) / x.std(0)
    assert np.abs(skew(z)).mean() < 0.25 * np.abs(skew(plain)).mean()
    # A normal distribution fits better than to the standardised columns, its log-volume counted.
    ours = log_normal(z.astype(np.float64)).sum(1) + encoder.encode_with_volume(table, 0).log_volume
    theirs = (log_normal(plain) - np.log(x.std(0))).sum(1)
    assert ours.mean() > theirs.mean() + 5


def test_digits_are_whole_numbers_and_constants():
    table = Table.of(load_digits().data)
    encoder = TableEncoder.fit(table)
    kinds = [column.kind for column in encoder.schema.columns]
    assert kinds.count("constant") == 3
    assert encoder.features == 61
    np.testing.assert_array_equal(encoder.decode(encoder.encode(table, 0)).to_array(), table.to_array())


def test_one_outlier_does_not_flatten_the_rest():
    x = np.random.default_rng(0).normal(size=1000)
    x[0] = 1e12
    table = Table({"x": x})
    encoder = TableEncoder.fit(table)
    z = encoder.encode(table, 0)
    assert z[1:].std() > 0.1
    np.testing.assert_allclose(encoder.decode(z).columns["x"], x, rtol=1e-4, atol=1e-5)


def test_mostly_one_value():
    x = np.zeros(1000)
    x[:200] = np.random.default_rng(0).normal(5, 1, 200)
    x[0] = 1e12
    encoder = TableEncoder.fit(Table({"x": x}))
    np.testing.assert_allclose(encoder.decode(encoder.encode(Table({"x": x}), 0)).columns["x"], x, rtol=1e-4, atol=1e-5)


def test_samples_are_finite_and_of_the_right_types(encoder, table):
    z = np.concatenate([np.random.default_rng(0).normal(size=(500, encoder.features)) * 3, np.full((1, 13), 1e6)])
    sampled = encoder.decode(np.concatenate([z, -z[-1:]]).astype(np.float32))
    for name in ("größe", "income", "far", "wild"):
        assert np.isfinite(sampled.columns[name]).all()
    assert {values.dtype for values in sampled.columns.values()} == {v.dtype for v in table.columns.values()}
    assert set(sampled.columns["town"].tolist()) == {"Köln", "Łódź", "東京", None}
    assert np.isnan(sampled.columns["gaps"]).any()


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_are_encoded(encoder, table, rows):
    few = table[:rows]
    assert encoder.encode(few, 0).shape == (rows, encoder.features)
    assert encoder.encode_with_volume(few, 0).log_volume.shape == (rows,)
    assert len(encoder.decode(encoder.encode(few, 0))) == rows


def test_two_rows_are_enough():
    table = Table.of([[0.5, "a", 3, 7], [0.25, "b", 4, 7]])
    encoder = TableEncoder.fit(table)
    assert [column.kind for column in encoder.schema.columns] == ["number", "category", "integer", "constant"]
    assert np.isfinite(encoder.encode(table, 0)).all()
    assert encoder.decode(encoder.encode(table, 0)).columns["x2"].tolist() == [3, 4]


def test_one_value_and_gaps():
    table = Table({"x": np.array([5.0, np.nan, 5.0, np.nan])})
    encoder = TableEncoder.fit(table)
    assert encoder.features == 1
    np.testing.assert_array_equal(encoder.decode(encoder.encode(table, 3)).columns["x"], table.columns["x"])


def test_notes_of_a_long_file_do_not_grow_with_it():
    notes = Notes()
    for start in range(0, 1000, 10):
        notes = notes.joined(Notes(unseen={"town": tuple(f"t{i:04d}" for i in range(start, start + 10))}))
    assert notes.unseen["town"] == tuple(f"t{i:04d}" for i in range(100))
    assert "t0000, t0001" in notes.sentences()[0]
    assert notes.sentences()[0].endswith("or more")


def test_given_kinds():
    table = Table({"price": np.arange(30), "group": np.arange(30) % 3, "flag": np.arange(30) % 2})
    schema = TableEncoder.fit(table, kinds={"price": "number", "group": "category", "flag": "integer"}).schema
    assert [column.kind for column in schema.columns] == ["number", "category", "integer"]
    assert schema.columns[1].values == ("0", "1", "2")
    half = Table.of({"price": [0.5], "group": [2.0], "flag": [3]})
    back = TableEncoder(schema).decode(TableEncoder(schema).encode(half, 0))
    assert (round(back.columns["price"][0], 5), back.columns["group"][0], back.columns["flag"][0]) == (0.5, "2", 3)


def test_numbers_too_wide_to_be_whole_are_continuous():
    table = Table({"x": np.array([0, 2**60, 2**61, 5])})
    encoder = TableEncoder.fit(table)
    assert encoder.schema.columns[0].kind == "number"
    np.testing.assert_allclose(encoder.decode(encoder.encode(table, 0)).columns["x"], table.columns["x"], atol=1e12)
