"""Model files: what cannot be read says so in one line; what is read is the model, bit for bit."""

from __future__ import annotations

import json
import math
import os
import re
import sys

import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import nystream
from nystream import Gaussian, Kernel, KernelRidge
from nystream.persist import envelope, files, tags
from nystream.persist.reading import Reader
from nystream.persist.writing import DEEPEST, pack


class Sigmoidal(Kernel):
    """A kernel that is not part of nystream."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def __call__(self, X, Y):
        return np.exp(self.scale * X @ Y.T)


class Moved(Gaussian):
    """A kernel of nystream that was defined elsewhere when the file was written."""


def trained(kernel=None):
    learner = KernelRidge(kernel or Gaussian(0.7), lam=0.3)
    rng = np.random.default_rng(0)
    learner.run(rng.normal(size=(30, 2)), rng.normal(size=30))
    return learner


def opened(content):
    """Header and arrays of a file."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["nystream"]), read_tensors(content)


def edited(content, change, sign=False):
    """The same file with its JSON header changed; with `sign` under a new checksum, as a forger would have it."""
    header, tensors = opened(content)
    change(header)
    if sign:
        del header["sha256"]
        header["sha256"] = envelope._digest(envelope._dumped(header), tensors)
    return write_tensors(tensors, metadata={"nystream": json.dumps(header)})


def test_a_file_cut_anywhere_is_refused(tmp_path):
    content = trained().to_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    for keep in (0, 4, 8, 9, 100, start - 1):
        path = tmp_path / "cut.nys"
        path.write_bytes(content[:keep])
        with pytest.raises(ValueError, match=rf"cut\.nys: not a nystream model, or a truncated one: {keep} bytes"):
            nystream.load(path)
    for keep in (start, (start + len(content)) // 2, len(content) - 1):
        with pytest.raises(ValueError, match=f"the model file is truncated: it has {keep} of {len(content)} bytes"):
            nystream.from_bytes(content[:keep])
    with pytest.raises(ValueError, match="corrupted"):
        nystream.from_bytes(content + b"more")


def test_one_flipped_bit_is_noticed():
    content = bytearray(trained().to_bytes())
    content[-5] ^= 1
    with pytest.raises(ValueError, match="corrupted: its checksum"):
        nystream.from_bytes(bytes(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["model"]["params"].update(lam=99.0),
        lambda header: header.update(version="9.9"),
        lambda header: header.update(numpy="1.0"),
        lambda header: header.update(remark="from a friend"),
        lambda header: header.update(sha256=None),
    ],
)
def test_anything_changed_in_the_header_is_noticed(change):
    with pytest.raises(ValueError, match="corrupted: its checksum"):
        nystream.from_bytes(edited(trained().to_bytes(), change))


def test_a_header_says_who_wrote_it_in_plain_json():
    learner = trained()
    learner.state_that_json_lacks_ = [math.inf, -math.inf, math.nan]
    header, _ = opened(learner.to_bytes())
    assert header.keys() == {"format", "version", "numpy", "model", "sha256"}
    assert (header["format"], header["version"], header["numpy"]) == (1, nystream.__version__, np.__version__)
    assert header["model"]["$class"] == "learner/kernel-ridge"
    assert header["model"]["params"]["kernel"]["$class"] == "kernel/gaussian"
    text = json.dumps(header, allow_nan=False)
    assert "nystream." not in text
    twin = nystream.from_bytes(learner.to_bytes())
    assert repr(twin.state_that_json_lacks_) == "[inf, -inf, nan]"


def test_a_future_format_says_upgrade():
    def change(header):
        header.update(format=99, version="7.1")

    with pytest.raises(ValueError, match=r"format 99 and was written by nystream 7\.1; .* up to 1: upgrade nystream"):
        nystream.from_bytes(edited(trained().to_bytes(), change))


def test_an_unknown_tag_names_itself_and_the_version_that_wrote_it():
    def change(header):
        header["version"] = "7.1"
        header["model"]["params"]["kernel"]["$class"] = "kernel/of-the-future"

    with pytest.raises(
        ValueError, match=r"'kernel/of-the-future', which nystream .* does not know; .* nystream 7\.1: up"
    ):
        nystream.from_bytes(edited(trained().to_bytes(), change, sign=True))


def test_a_class_that_moves_needs_only_its_row_changed(monkeypatch):
    content = trained().to_bytes()
    place = f"{__name__}:Moved"
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Moved.__module__])
    monkeypatch.setitem(tags.TAGS, "kernel/gaussian", place)
    monkeypatch.setattr(tags, "_TAG_OF", {where: tag for tag, where in tags.TAGS.items()})
    learner = nystream.from_bytes(content)
    assert type(learner.kernel) is Moved
    assert learner.to_bytes() == content


def test_another_kind_of_safetensors_file_is_refused():
    with pytest.raises(ValueError, match="not a nystream model"):
        nystream.from_bytes(write_tensors({"a": np.zeros(3)}))
    with pytest.raises(ValueError, match="not a nystream model"):
        nystream.from_bytes(b"x,y\n1,2\n" * 100)


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


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.array(["a", "b"]), "array of <U1"),
        (np.array([None]), "array of object"),
        (np.array([1j]), "array of complex128"),
        (np.array(["2020-01-01"], "datetime64[D]"), r"array of datetime64\[D\]"),
        (np.datetime64("2020-01-01"), "date"),
        (np.longdouble(1), "longdouble"),
        (1j, "complex"),
        (b"bytes", "bytes"),
        ({1, 2}, "set"),
    ],
)
def test_what_a_file_cannot_hold_is_named(value, kind):
    with pytest.raises(ValueError, match=rf"cannot save kernel\.scale: .*\({kind}\) has no safe file form"):
        KernelRidge(Sigmoidal(value)).to_bytes()


def test_classes_that_could_not_be_found_again_are_refused_before_a_file_appears():
    class Local(Sigmoidal):
        pass

    with pytest.raises(ValueError, match=r"cannot save kernel: the class .*Local could not be found"):
        KernelRidge(Local()).to_bytes()
    with pytest.raises(ValueError, match=r"cannot save kernel: a Kernel is never part of a model file"):
        KernelRidge(Kernel()).to_bytes()
    with pytest.raises(ValueError, match="cannot save 'model': a model is a learner or another part of nystream"):
        nystream.to_bytes("model")


def test_what_is_not_too_deep_to_be_written_is_not_too_deep_to_be_read():
    kernel = Gaussian(1.0)
    for _ in range(DEEPEST):
        kernel = nystream.Normalized(kernel)
    content = nystream.to_bytes(kernel)
    assert nystream.to_bytes(nystream.from_bytes(content)) == content
    with pytest.raises(ValueError, match=f"cannot save the model: more than {DEEPEST} parts are nested"):
        nystream.to_bytes(nystream.Normalized(kernel))


def test_arrays_of_either_byte_order_and_any_layout_are_kept():
    rows = np.arange(12.0).reshape(3, 4)
    for array in (
        rows.astype(">f8"),
        rows.T,
        rows[::2, ::-1],
        np.array(3.0),
        rows[:0],
        rows.astype(np.float16),
        rows > 3,
    ):
        content = KernelRidge(Sigmoidal(array)).to_bytes()
        found = nystream.from_bytes(content, trust=True).kernel.scale
        assert found.dtype == array.dtype.newbyteorder("=")
        assert np.array_equal(found, array)
        assert found.shape == array.shape
        assert found.flags.writeable


def test_saving_replaces_the_old_file_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.nys"
    trained().save(path)
    old = path.read_bytes()

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "fsync", broken)
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
        tree = json.loads(json.dumps(pack(generator, "g", tensors)))
        twin = Reader(tensors, False, "", "").value(tree)
        assert np.array_equal(generator.random(4), twin.random(4))


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
