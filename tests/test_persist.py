"""Model files: what cannot be read says so in one line; what is read is the model, bit for bit."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import nystream
from nystream import Gaussian, Kernel, KernelRidge, persist


class Sigmoidal(Kernel):
    """A kernel that is not part of nystream."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def __call__(self, X, Y):
        return np.exp(self.scale * X @ Y.T)


def trained(kernel=None):
    learner = KernelRidge(kernel or Gaussian(0.7), lam=0.3)
    rng = np.random.default_rng(0)
    learner.run(rng.normal(size=(30, 2)), rng.normal(size=30))
    return learner


def edited(content, change):
    """The same file with its JSON header changed."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["nystream"])
    change(header)
    return write_tensors(read_tensors(content), metadata={"nystream": json.dumps(header)})


def test_a_file_cut_anywhere_is_refused(tmp_path):
    content = trained().to_bytes()
    for keep in (0, 4, 8, 100, len(content) // 2, len(content) - 1):
        path = tmp_path / "cut.nys"
        path.write_bytes(content[:keep])
        with pytest.raises(ValueError, match=r"cut\.nys: not a nystream model, or a truncated or corrupted one"):
            nystream.load(path)


def test_one_flipped_bit_is_noticed():
    content = bytearray(trained().to_bytes())
    content[-5] ^= 1
    with pytest.raises(ValueError, match="corrupted: its checksum"):
        nystream.from_bytes(bytes(content))


def test_a_changed_parameter_is_noticed():
    def change(header):
        header["model"]["params"]["lam"] = 99.0

    with pytest.raises(ValueError, match="corrupted: its checksum"):
        nystream.from_bytes(edited(trained().to_bytes(), change))


def test_a_future_format_says_upgrade():
    with pytest.raises(ValueError, match=r"format 99, newer than 1.*upgrade nystream"):
        nystream.from_bytes(edited(trained().to_bytes(), lambda header: header.update(format=99)))


def test_another_kind_of_safetensors_file_is_refused():
    with pytest.raises(ValueError, match="not a nystream model"):
        nystream.from_bytes(write_tensors({"a": np.zeros(3)}))


def test_a_class_that_is_no_part_of_a_model_is_refused():
    def change(header):
        header["model"]["$class"] = "nystream.persist.save"
        header["sha256"] = persist._digest(header["model"], read_tensors(content))

    content = trained().to_bytes()
    with pytest.raises(ValueError, match="is not a nystream part"):
        nystream.from_bytes(edited(content, change))


def test_a_kernel_of_ones_own_needs_an_explicit_opt_in(tmp_path):
    learner = trained(Sigmoidal(0.5) + Gaussian(1.0))
    path = tmp_path / "own.nys"
    learner.save(path)
    name = f"{Sigmoidal.__module__}.Sigmoidal"
    with pytest.raises(ValueError, match=r"not part of nystream; if you trust that code, pass trust=\['"):
        nystream.load(path)
    with pytest.raises(ValueError, match="not part of nystream"):
        nystream.load(path, trust=["some.other.Kernel"])
    X = np.random.default_rng(1).normal(size=(5, 2))
    for trust in ([name], True):
        assert np.array_equal(nystream.load(path, trust=trust).predict(X), learner.predict(X))


def test_what_has_no_safe_form_is_refused_before_a_file_appears(tmp_path):
    learner = KernelRidge(Sigmoidal(scale=lambda: 1.0))
    with pytest.raises(ValueError, match=r"cannot save kernel\.scale: .*has no safe file form"):
        learner.save(tmp_path / "never.nys")
    assert os.listdir(tmp_path) == []


def test_saving_replaces_the_old_file_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.nys"
    trained().save(path)
    old = path.read_bytes()

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(persist.os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        KernelRidge(Gaussian(1.0)).save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model.nys"]


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        nystream.load(tmp_path / "none.nys")


def test_generators_of_every_kind_go_on_where_they_stopped():
    for bits in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        generator = np.random.Generator(bits(3))
        generator.normal(size=5)
        tensors = {}
        tree = json.loads(json.dumps(persist._pack(generator, "g", tensors)))
        twin = persist._unpack(tree, tensors, frozenset())
        assert np.array_equal(generator.random(4), twin.random(4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["model"]["params"].update(momentum=0.9), "unexpected keyword argument 'momentum'"),
        (lambda header: header["model"].pop("params"), "'params'"),
        (lambda header: header["model"]["state"].update(factor_={"$array": "nowhere", "$shape": [1]}), "'nowhere'"),
        (lambda header: header.update(model=[{"$class": 3}]), "no model that this nystream knows"),
    ],
)
def test_a_file_of_another_version_is_refused_in_one_line(change, message):
    content = trained().to_bytes()

    def signed(header):
        change(header)
        header["sha256"] = persist._digest(header["model"], read_tensors(content))

    with pytest.raises(ValueError, match=message) as caught:
        nystream.from_bytes(edited(content, signed))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="its header is incomplete"):
        nystream.from_bytes(edited(content, lambda header: header.pop("model")))


def test_bytes_come_in_any_buffer():
    learner = trained()
    content = learner.to_bytes()
    for buffer in (bytearray(content), memoryview(content)):
        assert nystream.from_bytes(buffer).to_bytes() == content
    with pytest.raises(ValueError, match="not a nystream model"):
        nystream.from_bytes("text")


def test_one_trusted_name_may_come_alone():
    content = trained(Sigmoidal(0.5)).to_bytes()
    assert nystream.from_bytes(content, trust=f"{Sigmoidal.__module__}.Sigmoidal").to_bytes() == content
    with pytest.raises(ValueError, match="not part of nystream"):
        nystream.from_bytes(content, trust="Sigmoidal")


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such folder: .*absent'"):
        trained().save(tmp_path / "absent" / "model.nys")
    with pytest.raises(IsADirectoryError, match=re.escape(f"'{tmp_path}'")):
        trained().save(tmp_path)
    assert os.listdir(tmp_path) == []
