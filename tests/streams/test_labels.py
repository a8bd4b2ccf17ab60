"""Class names and numbers."""

import pytest

from nystream.streams.labels import Labels


def test_names_are_numbered_in_order_of_appearance():
    labels = Labels()
    assert [labels.number(name) for name in ("b", "a", " b ", "c")] == [0.0, 1.0, 0.0, 2.0]
    assert labels.names == ("b", "a", "c")


def test_given_names_keep_their_order_and_refuse_others():
    labels = Labels(["no", "yes"])
    assert labels.number("yes") == 1.0
    with pytest.raises(ValueError, match="'maybe' is not one of the labels no, yes"):
        labels.number("maybe")


def test_numbers_are_compared_by_value():
    labels = Labels(range(1, 4))
    assert [labels.number(text) for text in ("1", "2.0", "+3", "3e0")] == [0.0, 1.0, 2.0, 2.0]
    assert labels.names == (1, 2, 3)


def test_a_name_that_says_missing_is_no_class_unless_it_was_given():
    with pytest.raises(ValueError, match="a label is missing"):
        Labels().number("NA")
    assert Labels(["NA", "EU"]).number("NA") == 0.0


def test_a_column_of_identifiers_is_not_taken_for_classes():
    labels = Labels()
    for i in range(10_000):
        labels.number(f"id{i}")
    with pytest.raises(ValueError, match="more than 10000 different labels"):
        labels.number("one more")


def test_labels_must_exist_and_differ():
    with pytest.raises(ValueError, match="at least one class"):
        Labels([])
    with pytest.raises(ValueError, match="different from each other"):
        Labels([1, 1.0])
