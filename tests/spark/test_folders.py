"""Folders of a stream: whose they are, and which rows a micro-batch has."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark")
from nystream.spark.folders import ModelFolder, claim_folders, rows_of_batch


def noted(checkpoint, batch: int, offsets: list[object]) -> None:
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    lines = ["v1", json.dumps({"batchWatermarkMs": 0}), *map(json.dumps, offsets)]
    (checkpoint / "offsets" / str(batch)).write_text("\n".join(lines))


def files_of(checkpoint, entry: str, files: dict[str, int]) -> None:
    (checkpoint / "sources" / "0").mkdir(parents=True, exist_ok=True)
    lines = ["v1", *(json.dumps({"path": f"file:///in/{name}", "batchId": batch}) for name, batch in files.items())]
    (checkpoint / "sources" / "0" / entry).write_text("\n".join(lines))


def test_files_of_a_batch_are_named(tmp_path):
    noted(tmp_path, 3, [{"logOffset": 3}])
    files_of(tmp_path, "3", {"b.parquet": 3, "a.parquet": 3})
    assert rows_of_batch(str(tmp_path), 3) == "files a.parquet, b.parquet"
    noted(tmp_path, 9, [{"logOffset": 9}])
    files_of(tmp_path, "9.compact", {"old.parquet": 8, **{f"{i}.parquet": 9 for i in range(5)}})
    assert rows_of_batch(str(tmp_path), 9) == "files 0.parquet, 1.parquet, 2.parquet and 2 more"


def test_offsets_of_other_sources_are_shown(tmp_path):
    noted(tmp_path, 0, [{"topic": {"0": 17}}])
    assert rows_of_batch(str(tmp_path), 0) == 'offsets up to {"topic": {"0": 17}}'


@pytest.mark.parametrize("content", [None, "v1\n{}\nno JSON", 'v1\n{}\n{"logOffset": 5}', "v1"])
def test_notes_that_cannot_be_read_are_pointed_at(tmp_path, content):
    if content is not None:
        (tmp_path / "offsets").mkdir()
        (tmp_path / "offsets" / "5").write_text(content)
    assert rows_of_batch(str(tmp_path), 5) == "offsets/5 of the checkpoint"


def test_a_first_start_that_was_killed_between_both_folders_is_made_good(tmp_path):
    checkpoint, models = str(tmp_path / "ck"), str(tmp_path / "models")
    claim_folders(checkpoint, models, {"learner": "PKRR"})
    (tmp_path / "ck" / "nystream-stream.json").unlink()
    claim_folders(checkpoint, models, {"learner": "PKRR"})
    ids = {json.loads((tmp_path / name / "nystream-stream.json").read_text())["id"] for name in ("ck", "models")}
    assert len(ids) == 1


def test_a_folder_with_models_is_not_given_to_another_stream(tmp_path):
    checkpoint, models = str(tmp_path / "ck"), str(tmp_path / "models")
    claim_folders(checkpoint, models, {"learner": "PKRR"})
    (tmp_path / "models" / "000000.nys").write_bytes(b"")
    assert ModelFolder(models).numbers() == [0]
    with pytest.raises(ValueError, match="belong to different streams"):
        claim_folders(str(tmp_path / "other"), models, {"learner": "PKRR"})
