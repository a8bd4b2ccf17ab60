"""Tables of all kinds through the server: words, times, booleans and holes, named learners, and what a label tells."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("orjson")

from serving import Running

import nystream
from nystream.registry import LEARNERS
from nystream.serve import learning
from nystream.serve.refusals import Refusal


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("serve")) as running:
        yield running


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    shops, hours = rng.choice(["mill", "north", None], size=n).tolist(), rng.integers(24, size=n).tolist()
    rows = [
        {"shop": shop, "when": f"2024-03-0{1 + i % 9}T{hour:02d}:00:00", "open": bool(i % 3), "size": i / n}
        for i, (shop, hour) in enumerate(zip(shops, hours, strict=True))
    ]
    labels = [
        3.0 * (shop == "mill") + hour / 8 + row["open"] for shop, hour, row in zip(shops, hours, rows, strict=True)
    ]
    return rows, labels


@pytest.mark.parametrize("config", [{}, {"learner": "fogd"}, {"learner": "pkrr"}], ids=["automatic", "fogd", "pkrr"])
def test_a_table_of_all_kinds_is_learnt_as_it_would_be_here(server, tmp_path, config):
    name = config.get("learner", "automatic")
    server.create(name, config)
    rows, labels = table(120)
    for start in (0, 40, 80):
        body = {"rows": rows[start : start + 40], "labels": labels[start : start + 40]}
        answer = server.post(f"/models/{name}/step", body)
    described = server.call("GET", f"/models/{name}")[1]
    kinds = {"shop": "category", "when": "time", "open": "boolean", "size": "number"}
    assert described["schema"]["columns"] == kinds
    assert described["schema"]["task"] == "regression"
    shares = described["relied_on"].get("columns")
    assert shares is None or (config == {} and shares.keys() == kinds.keys())
    (tmp_path / "m.nys").write_bytes(server.file(name))
    there = server.post(f"/models/{name}/predict", {"rows": rows})["predictions"]
    np.testing.assert_allclose(nystream.load(tmp_path / "m.nys").predict(rows), there, rtol=1e-9, atol=1e-9)
    assert np.isfinite(answer["predictions"]).all()


@pytest.mark.parametrize(
    ("learner", "labels", "task"),
    [
        ("fogd", [1.0, 2.5], "regression"),
        ("fogd", ["a", "b"], "classification"),
        ("forgetron", [1.0, 2.0], "classification"),
        (None, [0.5, 1.0], "regression"),
    ],
)
def test_the_first_label_tells_the_task_unless_the_learner_knows_one_alone(learner, labels, task):
    config = {} if learner is None else {"learner": learner}
    model, _ = learning.opened(config, [{"x": 1.0}, {"x": 2.0}], labels)
    assert model.task == task


def test_categories_declared_at_create_work_with_every_learner_that_learns_them_undeclared():
    names = list(LEARNERS)
    rows = [{"x": float(i % 7), "town": ["Ulm", "Bonn", "Kiel"][i % 3]} for i in range(20)]
    tried = 0
    for task, labels in (
        ("regression", [float(i % 5) for i in range(20)]),
        ("classification", ["ab"[i % 2] for i in range(20)]),
    ):
        for name in names:
            config = {"learner": name, "task": task}
            try:
                learning.check(config)
                learning.opened(config, rows, labels)
            except Refusal:
                continue
            declared = {**config, "columns": {"x": "number", "town": "category"}}
            learning.check(declared)
            model, form = learning.declared(declared)
            if model is None:
                model, form = learning.opened(declared, rows, labels)
            learning._run(learning.fresh(model), form, form.batch(rows, labels, None, lambda names: None))
            tried += 1
    assert tried >= 60


def test_the_order_of_day_and_month_can_be_declared(server):
    config = {"columns": {"when": "time"}, "target": "y", "task": "regression", "formats": {"when": "day-first"}}
    server.create("dated", {**config, "learner": "pkrr"})
    server.post("/models/dated/learn", {"rows": [{"when": "01/02/2023"}, {"when": "03/02/2023"}], "labels": [1.0, 2.0]})
    last = server.call("GET", "/models/dated")[1]["last_rows"]
    assert [row["row"]["when"][:10] for row in last] == ["2023-02-01", "2023-02-03"]
