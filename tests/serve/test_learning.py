"""Learning and asking over HTTP: what is learnt is what `nystream.Model` learns, in every form of a body."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pa = pytest.importorskip("pyarrow")

from serving import CONFIG, Running, learn, rows

import nystream
from nystream.serve import learning

ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("serve")) as running:
        yield running


def pattern():
    return learning.declared(CONFIG)[0]


def test_the_served_model_is_equal_to_one_that_learns_here(server):
    server.create("plain")
    local = pattern()
    for seed, n in enumerate((1, 7, 40, 1)):
        found, labels = rows(n, seed)
        answer = server.post("/models/plain/step", {"rows": found, "labels": labels})
        X = np.array([list(row.values()) for row in found])
        expected = [local.step(found[0], labels[0])] if n == 1 else local.run(X, np.array(labels)).tolist()
        assert answer["predictions"] == expected
        assert answer["row"] == local.n_seen
    assert server.file("plain") == local.to_bytes()


def test_the_downloaded_file_goes_on_where_the_server_is(server, tmp_path):
    server.create("file")
    learn(server, "/models/file", 30)
    (tmp_path / "m.nys").write_bytes(server.file("file"))
    local = nystream.load(tmp_path / "m.nys")
    found, labels = rows(5, 9)
    assert server.post("/models/file/step", {"rows": found, "labels": labels})["predictions"] == pytest.approx(
        local.run(found, labels).tolist(), rel=1e-9, abs=1e-12
    )


def arrow(found, labels):
    table = pa.table({**{name: [row[name] for row in found] for name in ("b", "a")}, "truth": labels})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_all_forms_of_a_body_teach_the_same(server):
    found, labels = rows(12)
    text = "b,a,truth\n" + "".join(f"{r['b']!r},{r['a']!r},{y!r}\n" for r, y in zip(found, labels, strict=True))
    bodies = {
        "objects": ({"rows": found, "labels": labels}, "application/json", ""),
        "target": ({"rows": [{**r, "y": y} for r, y in zip(found, labels, strict=True)]}, "application/json", ""),
        "lists": ({"rows": [[r["a"], r["b"]] for r in found], "labels": labels}, "application/json", ""),
        "bare": ([{**r, "y": y} for r, y in zip(found, labels, strict=True)], "application/json", ""),
        "csv": (text.encode(), "text/csv", "?label=truth"),
        "arrow": (arrow(found, labels), ARROW, "?label=truth"),
    }
    files = set()
    for name, (body, kind, query) in bodies.items():
        server.create(name)
        status, answer = server.call("POST", f"/models/{name}/learn{query}", body, kind=kind)
        assert (status, answer.get("row")) == (200, 12), answer
        files.add(server.file(name))
    assert len(files) == 1


def test_predicting_changes_nothing_and_rows_without_labels_are_not_learnt(server):
    server.create("still")
    learn(server, "/models/still", 10)
    before = server.file("still")
    found, _ = rows(3, 5)
    server.post("/models/still/predict", {"rows": found})
    assert server.file("still") == before
    assert server.post("/models/still/learn", {"rows": found, "labels": [1.0, None, 2.0]})["row"] == 12


def test_a_model_with_nothing_chosen_is_told_by_its_first_rows(server):
    server.create("told", {})
    assert server.post("/models/told/predict", {"row": {"x": 1.0}}) == {"predictions": [None], "row": 0}
    status, answer = server.call("POST", "/models/told/learn", {"row": {"x": 1.0}})
    assert status == 422
    assert "label" in answer["error"]
    answer = server.post("/models/told/step", {"rows": [{"x": 1.0}, {"x": 2.0}], "labels": ["low", "high"]})
    assert answer["predictions"] == [None, "low"]
    found = server.call("GET", "/models/told")[1]
    assert found["schema"] == {
        "columns": {"x": "number"},
        "target": None,
        "task": "classification",
        "outputs": 1,
        "formats": {},
    }
    assert found["champion"]["classes"] == ["low", "high"]
    answer = server.post("/models/told/predict", {"row": {"x": 1.5}, "probabilities": True})
    assert answer["classes"] == ["low", "high"]
    assert sum(answer["probabilities"][0]) == pytest.approx(1)
    status, answer = server.call("POST", "/models/told/learn", {"row": {"x": 1.0}, "label": 3})
    assert (status, answer["error"]) == (422, "row 0: label 3 is a number, the classes of this model are names")


def test_predict_is_for_later_rows_unless_the_body_says_ahead(server):
    server.create("later", {"columns": ["a", "b"], "task": "regression"})
    learn(server, "/models/later", 150)
    found, labels = rows(2, 3)
    asked = [{"rows": found[:1], "interval": 0.8, **more} for more in ({}, {"ahead": None}, {"ahead": 1})]
    later, default, following = (server.post("/models/later/predict", body) for body in asked)
    assert later == default
    assert later["predictions"] != following["predictions"]
    assert later["low"] != following["low"]
    stepped = server.post("/models/later/step", {"rows": found[:1], "labels": [float(np.ravel(labels)[0])]})
    assert stepped["predictions"] == following["predictions"]
    for wrong in (2, "soon", True):
        status, refused = server.call("POST", "/models/later/predict", {"rows": found, "ahead": wrong})
        assert status == 422
        assert "ahead must be null (some later row) or 1 (the next row)" in refused["error"]


def test_intervals_and_explanations_come_on_request(server):
    server.create("auto", {"columns": ["a", "b"], "task": "regression"})
    learn(server, "/models/auto", 150)
    found, _ = rows(2, 3)
    answer = server.post("/models/auto/predict", {"rows": found, "interval": 0.8, "explain": True})
    assert all(
        low < p < high for low, p, high in zip(answer["low"], answer["predictions"], answer["high"], strict=True)
    )
    told = server.post("/models/auto/predict", {"rows": found, "quantiles": [0.1, 0.5, 0.9]})
    assert np.shape(told["quantiles"]) == (2, 3)
    assert np.ravel(told["quantiles"])[[0, 2]] == pytest.approx([answer["low"][0], answer["high"][0]])
    for wrong in ([0.5, 1.0], "a", [], 0.5):
        status, refused = server.call("POST", "/models/auto/predict", {"rows": found, "quantiles": wrong})
        assert status == 422
        assert "quantiles must be up to 99 numbers between 0 and 1" in refused["error"]
    assert [set(reasons) for reasons in answer["explanation"]] == [{"a", "b"}, {"a", "b"}]
    gaps = [p - sum(reasons.values()) for p, reasons in zip(answer["predictions"], answer["explanation"], strict=True)]
    assert gaps[0] == pytest.approx(gaps[1])  # the mean prediction over the rows that were learnt
    server.create("numbers")
    learn(server, "/models/numbers", 5)
    status, answer = server.call("POST", "/models/numbers/predict", {"rows": found, "probabilities": True})
    assert status == 422
    assert "probabilities" in answer["error"]


def test_a_model_file_can_be_uploaded_and_cloned(server):
    local = pattern()
    local.run(*rows(20))
    status, answer, _ = server.raw("PUT", "/models/up", local.to_bytes(), kind="application/octet-stream")
    assert status == 201, answer
    assert server.file("up") == local.to_bytes()
    assert server.post("/models/up/clone", {"name": "twin"}) == {"name": "twin", "row": 20}
    learn(server, "/models/up", 3)
    assert server.file("twin") == local.to_bytes()
    status, answer = server.call("PUT", "/models/bad", b"nonsense", kind="application/octet-stream")
    assert status == 422
    assert "not a nystream model" in answer["error"]


def test_a_model_is_deleted_with_its_name_for_confirmation(server):
    server.create("gone")
    learn(server, "/models/gone", 3)
    assert server.call("DELETE", "/models/gone")[0] == 422
    assert server.call("DELETE", "/models/gone?confirm=other")[0] == 422
    assert server.call("DELETE", "/models/gone?confirm=gone") == (200, {"deleted": "gone"})
    assert server.call("POST", "/models/gone/predict", {"row": {"a": 1, "b": 2}})[0] == 404
    server.create("gone")
    assert server.call("GET", "/models/gone")[1]["champion"]["rows"] == 0


def test_several_targets_are_learnt_together(server):
    server.create("two", {"columns": ["a", "b"], "target": ["u", "v"], "task": "regression"})
    found, labels = rows(30)
    pairs = [[y, -y] for y in labels]
    answer = server.post("/models/two/step", {"rows": found, "labels": pairs})
    assert np.shape(answer["predictions"]) == (30, 2)
    status, answer = server.call("POST", "/models/two/learn", {"rows": found, "labels": labels})
    assert status == 422
    assert "u, v" in answer["error"]


def test_late_labels_learn_the_row_as_it_was_predicted(server):
    server.create("late")
    learn(server, "/models/late", 5)
    local = pattern()
    local.run(*map(np.array, [[list(r.values()) for r in rows(5)[0]], rows(5)[1]]))
    row = {"a": 0.5, "b": -1.0}
    answer = server.post("/models/late/predict", {"row": row, "remember": True})
    (name,) = answer["ids"]
    guess = answer["predictions"][0]
    before = server.call("GET", "/models/late")[1]
    assert before["open_labels"] == 1
    learn(server, "/models/late", 4, seed=8)
    found, labels = rows(4, 8)
    local.run(np.array([list(r.values()) for r in found]), np.array(labels))
    errors = server.call("GET", "/models/late")[1]["champion"]["errors"]
    assert server.post("/models/late/label", {"id": name, "label": 2.0})["row"] == 10
    local.step(row, 2.0)
    assert server.file("late") == local.to_bytes()
    after = server.call("GET", "/models/late")[1]
    assert after["open_labels"] == 0
    total = after["champion"]["errors"]["error"] * 10 - errors["error"] * 9
    assert total == pytest.approx((2.0 - guess) ** 2)
    status, answer = server.call("POST", "/models/late/label", {"id": name, "label": 2.0})
    assert status == 404
    assert name in answer["error"]


def test_an_id_of_the_callers_own_is_kept_and_a_repeat_has_the_first_answer(server):
    server.create("own")
    learn(server, "/models/own", 5)
    body = {"rows": [{"a": 1.0, "b": 2.0}, {"a": 0.0, "b": 1.0}], "ids": ["order-1", "order-2"]}
    first = server.post("/models/own/predict", body)
    assert first["ids"] == ["order-1", "order-2"]
    learn(server, "/models/own", 5, seed=1)
    assert server.post("/models/own/predict", body)["predictions"] == first["predictions"]
    assert server.call("GET", "/models/own")[1]["open_labels"] == 2
    body["rows"][0]["a"] = 3.0
    assert server.call("POST", "/models/own/predict", body)[0] == 409
    status, _ = server.call("POST", "/models/own/label", {"ids": ["order-1", "nobody"], "labels": [1.0, 2.0]})
    assert status == 404
    assert server.call("GET", "/models/own")[1]["open_labels"] == 2  # wholly or not at all
    assert server.post("/models/own/label", {"ids": ["order-1", "order-2"], "labels": [1.0, 2.0]})["row"] == 12
