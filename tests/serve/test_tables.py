"""Tables of all kinds through the server: words, times, booleans and holes, named learners, and what a label tells."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("orjson")

from serving import Running, after_a_crash

import nystream
from nystream.data import schema
from nystream.model.building import build
from nystream.registry import LEARNERS
from nystream.serve import Retention, learning
from nystream.serve.arrow import ARROW
from nystream.serve.refusals import Refusal
from nystream.serve.row_formats import decoded
from nystream.serve.settings import Limits
from nystream.streams.tabular import open_tables


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
            learning._run(learning.fresh(model), form.batch(rows, labels, None, lambda names: None))
            tried += 1
    assert tried >= 60


def test_the_order_of_day_and_month_can_be_declared(server):
    config = {"columns": {"when": "time"}, "target": "y", "task": "regression", "formats": {"when": "day-first"}}
    server.create("dated", {**config, "learner": "pkrr"})
    server.post("/models/dated/learn", {"rows": [{"when": "01/02/2023"}, {"when": "03/02/2023"}], "labels": [1.0, 2.0]})
    last = server.call("GET", "/models/dated")[1]["last_rows"]
    assert [row["row"]["when"][:10] for row in last] == ["2023-02-01", "2023-02-03"]


def test_a_row_is_parsed_once_on_its_way_to_the_learner_and_not_again_in_a_replay(tmp_path, monkeypatch):
    converted = []
    real = schema.convert

    def count(values, kind, name, **options):
        converted.append(name)
        return real(values, kind, name, **options)

    config = {"columns": {"x": "number", "town": "category", "when": "time"}, "target": "y", "task": "regression"}
    row = {"x": 1.5, "town": "Ulm", "when": "2024-03-01"}
    with Running(tmp_path / "a", replay=600.0, retention=Retention(every=1e9)) as server:
        server.create("m", {**config, "learner": "fogd", "settings": {"dim": 8}})
        monkeypatch.setattr(schema, "convert", count)
        for rows in ([row], [row, {**row, "town": None}]):
            converted.clear()
            server.post("/models/m/learn", {"rows": rows, "labels": [1.0] * len(rows)})
            assert sorted(converted) == ["town", "when", "x"]
        converted.clear()
        server.post("/models/m/predict", {"rows": [row]})
        assert sorted(converted) == ["town", "when", "x"]
        converted.clear()
        expected = server.file("m")
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:
        assert again.service.replayed
        assert again.file("m") == expected
    assert converted == []


def learnt_from(server, name, body, config, query=""):
    server.create(name, config)
    status, answer = server.call("POST", f"/models/{name}/learn{query}", body.encode(), kind="text/csv")
    assert status == 200, answer
    return server.call("GET", f"/models/{name}")[1]["schema"], server.file(name)


NUMBERS = {"columns": ["a", "b"], "target": "y", "task": "regression", "learner": "pkrr"}


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1.5,2,3\n2.5,3,4.5\n",
        "a;b;y\n1,5;2;3\n2,5;3;4,5\n",
        "a\tb\ty\r\n1.5\t2\t3\r\n2.5\t3\t4.5\r\n",
        "\ufeffy|b|a\n3|2|1.5\n4.5|3|2.5\n",
        '"a","b","y"\n"1.5","2","3"\n\n"2.5","3","4.5"\n',
    ],
)
def test_csv_is_read_as_the_command_line_reads_it(server, tmp_path, text):
    name = f"csv{hash(text) % 10**9}"
    _, file = learnt_from(server, name, text, NUMBERS)
    path = tmp_path / "rows.csv"
    path.write_text(text, newline="")
    model = nystream.Model(build("pkrr", "regression"), nystream.Schema(["a", "b"], "y", "regression"))
    (table,) = open_tables(path).blocks()
    model.run(table)
    learnt = nystream.from_bytes(file)
    assert learnt.n_seen == model.n_seen == 2
    assert learnt.recent_.columns["a"].tolist() == model.recent_.columns["a"].tolist() == [1.5, 2.5]
    assert learnt.recent_.labels.tolist() == model.recent_.labels.tolist() == [[3.0], [4.5]]
    if ";" in text:  # as the first rows of a model, and large, which another process reads
        declared, first = learnt_from(server, f"{name}-first", text, {"target": "y", "learner": "pkrr"})
        assert declared["columns"] == {"a": "number", "b": "number"}
        assert nystream.from_bytes(first).recent_.labels.tolist() == [[3.0], [4.5]]
        rows = "a;b;y\n" + "1,25;2;3,5\n" * 8000
        status, answer = server.call("POST", f"/models/{name}/learn", rows.encode(), kind="text/csv")
        assert (status, answer["row"]) == (200, 8002)


def test_columns_of_one_name_and_rows_without_a_header_are_read_as_on_the_command_line(server):
    found, _ = learnt_from(server, "doubled", "x,x,y\n1,2,3.5\n2,3,4\n", {"target": "y"})
    assert list(found["columns"]) == ["x", "x.2"]
    doubled = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2 + [pa.array([3.5, 4.0])], names=["x", "x", "y"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, doubled.schema) as writer:
        writer.write_table(doubled)
    server.create("doubled-arrow", {"target": "y"})
    status, answer = server.call("POST", "/models/doubled-arrow/learn", sink.getvalue().to_pybytes(), kind=ARROW[0])
    assert (status, answer.get("row")) == (200, 2), answer
    assert list(server.call("GET", "/models/doubled-arrow")[1]["schema"]["columns"]) == ["x", "x.2"]
    server.create("others", {name: value for name, value in NUMBERS.items() if name != "learner"})
    status, answer = server.call("POST", "/models/others/learn", b"x,x,y\n1,2,3\n", kind="text/csv")
    assert (status, "rows have none of the model's columns ('a', 'b'); they have 'x', 'x.2'" in answer["error"]) == (
        422,
        True,
    )
    server.create("headless", NUMBERS)
    path = "/models/headless/learn?label=2&weight=3"
    status, answer = server.call("POST", path, b"1,2,3.5,1\n2,3,4.5,2\n", kind="text/csv")
    assert (status, answer.get("row")) == (200, 2), answer
    file = nystream.from_bytes(server.file("headless"))
    assert file.recent_.labels.tolist() == [[3.5], [4.5]]
    status, answer = server.call("POST", "/models/headless/learn", b"1,2,3\n", kind="text/csv")
    assert (status, "leave out the target" in answer["error"]) == (422, True), answer


def test_classes_in_csv_are_numbers_where_the_model_has_numbers(server):
    config = {"columns": ["a"], "target": "y", "task": "classification", "learner": "pkrr"}
    learnt_from(server, "codes", "a,y\n1,1\n2,0\n3,NA\n", config)
    found = server.call("GET", "/models/codes")[1]["champion"]
    assert (found["classes"], found["rows"], found["unlabelled"]) == ([1, 0], 2, 1)
    assert server.post("/models/codes/learn", {"row": {"a": 1.0}, "label": 1})["row"] == 3
    learnt_from(server, "words", "a,y\n1,1\n2,0\n", {**config, "classes": ["0", "1"]})
    assert server.call("GET", "/models/words")[1]["champion"]["classes"] == ["0", "1"]
    status, answer = server.call("POST", "/models/codes/learn", b"a,y\n1,up\n", kind="text/csv")
    assert (status, "label 'up' is a name" in answer["error"]) == (422, True), answer


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"a,b,y\n", "has a header but no rows"),
        (b"a,b,y\n1,2\n", "body:2: has 2 fields, expected 3"),
        (b"a,b,y\n1,2,3\n1,2\n", "body:3: has 2 fields, expected 3"),  # nothing of a torn body is learnt
        (b"a,b,y\n1,2,3\n1,x,3\n1,2\n", "body:4: has 2 fields, expected 3"),
        (b'a,b,y\n1,2,3\n1,"2,3\n', "body:3: a quoted field is not closed"),
        (b'a,b,y\n1,"2,3\n', "a quoted field is not closed"),
        (b"a,b,y\n1,\xff,3\n", "body is not UTF-8 text"),
        (b"a,b,y\n1,two,3\n", "row 0: column 'b' is 'two', which is no finite number"),
        (b"a,b,y\n1,2,three\n", "row 0: column 'y' is 'three', which is no finite number"),
        (b" \n", "body is empty"),
        (b"\x1f\x8b\x08", "body is not UTF-8 text"),  # it is not unpacked
    ],
)
def test_csv_that_cannot_be_read_is_refused_in_one_sentence(server, body, text):
    status, _ = server.call("GET", "/models/csv-bad")
    if status == 404:
        server.create("csv-bad", NUMBERS)
    status, answer = server.call("POST", "/models/csv-bad/learn", body, kind="text/csv")
    assert status == 422
    assert text in answer["error"]
    assert server.call("GET", "/models/csv-bad")[1]["champion"]["rows"] == 0


def test_a_large_body_of_csv_is_read_whole(server):
    server.create("csv-large", {**NUMBERS, "learner": "fogd", "settings": {"dim": 4}})
    lines = [f"{i / 7!r},{i % 5},{i % 3}\n" for i in range(90_000)]
    for k, text in enumerate(("".join(lines), "".join([*lines[:80_000], '"1,5",2,3\n', *lines[80_000:]]))):
        found = decoded(
            "text/csv", b"a,b,y\n" + text.encode(), {}, Limits(), server.service.store.models.find("csv-large").form
        )
        assert (found.n, len(found.labels)) == (90_000 + k, 90_000 + k)
        assert found.table.columns["a"][89_999 + k] in (89_999 / 7, repr(89_999 / 7))
