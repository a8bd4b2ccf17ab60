"""Losses by name."""

import pytest

from nystream.losses import LOSSES, Hinge, Huber, MulticlassHinge, Squared, StructuredHinge, as_loss

NAMES = [
    *("squared", "absolute", "epsilon_insensitive", "huber", "pinball"),
    *("hinge", "squared_hinge", "logistic", "novelty"),
    *("multiclass_hinge", "softmax", "structured_hinge"),
]


def test_the_catalogue_holds_the_twelve_losses_under_their_names():
    assert list(LOSSES) == NAMES
    assert all(kind.name == name for name, kind in LOSSES.items())


@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_name_is_the_loss_with_its_default_constants(name):
    loss = as_loss(name)
    assert type(loss) is LOSSES[name]
    assert repr(loss) == f"{LOSSES[name].__name__}()"


def test_default_constants_are_those_of_the_table():
    constants = {name: as_loss(name).compiled.constant for name in NAMES[:9]}
    assert constants == {
        "squared": 0.0, "absolute": 0.0, "epsilon_insensitive": 0.1, "huber": 1.0, "pinball": 0.5,
        "hinge": 1.0, "squared_hinge": 1.0, "logistic": 0.0, "novelty": 1.0,
    }  # fmt: skip


def test_label_kinds_are_declared():
    assert {name: LOSSES[name].labels for name in NAMES} == {
        **dict.fromkeys(NAMES[:5], "real"), **dict.fromkeys(NAMES[5:8], "sign"),
        "novelty": "none", **dict.fromkeys(NAMES[9:], "class"),
    }  # fmt: skip


def test_a_loss_object_passes_through_unchanged():
    loss = Huber(0.5)
    assert as_loss(loss) is loss


def test_a_misspelt_name_is_answered_with_the_nearest_and_all_names():
    with pytest.raises(ValueError, match=r"unknown loss 'hing' \(did you mean 'hinge'\?\); .*squared, absolute"):
        as_loss("hing")
    with pytest.raises(ValueError, match="unknown loss 'zzz'; the losses are squared"):
        as_loss("zzz")


def test_what_is_no_loss_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match="loss must be a name or a Loss object, got <class"):
        as_loss(Squared)
    with pytest.raises(ValueError, match="needs its label margins; pass StructuredHinge"):
        as_loss("structured_hinge")


def test_classes_are_open_until_given():
    assert as_loss("softmax").classes is None
    assert MulticlassHinge(5).classes == 5
    assert StructuredHinge([[0, 1], [3, 0]]).classes == 2
    assert Hinge().classes is None
