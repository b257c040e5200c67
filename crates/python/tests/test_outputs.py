"""Output objects index, unpack and pickle as Transformers' do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, hash32
from dinoxide import BaseModelOutputWithPooling, Dinov2Model, ImageClassifierOutput
from tolerances import OUTPUT

PIXELS = hash32("hash32:7:2,3,12,20")


def outputs(**kwargs: Any) -> Any:
    return Dinov2Model.from_pretrained(FIXTURES / "dinov2")(PIXELS, **kwargs)


def test_fields_are_attributes_keys_and_places() -> None:
    given = outputs()
    assert isinstance(given, BaseModelOutputWithPooling)
    assert given[0] is given.last_hidden_state is given["last_hidden_state"]
    assert given[1] is given.pooler_output
    assert list(given) == list(given.keys()) == ["last_hidden_state", "pooler_output"]
    assert given[:1] == (given.last_hidden_state,)
    last, pooled = given.to_tuple()
    assert last is given[0] and pooled is given[1]
    assert "hidden_states" not in given and given.hidden_states is None
    with pytest.raises(KeyError):
        given["hidden_states"]
    with pytest.raises(IndexError):
        given[2]


def test_a_tuple_leaves_out_what_is_not_there() -> None:
    given = outputs(return_dict=False, output_hidden_states=True)
    assert isinstance(given, tuple) and len(given) == 3
    assert len(given[2]) == 3
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2")
    model.config.return_dict = False
    assert isinstance(model(PIXELS), tuple)
    assert isinstance(model(PIXELS, return_dict=True), BaseModelOutputWithPooling)


def test_fields_that_are_set_are_there_and_none_can_be_taken_out() -> None:
    made = ImageClassifierOutput(logits=np.zeros((1, 2)))
    assert list(made) == ["logits"] and made.loss is None
    made.loss = 1.0
    assert made["loss"] == 1.0
    for take in (lambda: made.pop("loss"), lambda: made.update({}), lambda: made.__delitem__("loss")):
        with pytest.raises(TypeError):
            take()


def test_outputs_pickle() -> None:
    given = outputs(output_hidden_states=True)
    again = pickle.loads(pickle.dumps(given))
    assert type(again) is type(given) and list(again) == list(given)
    assert all(np.array_equal(a, b) for a, b in zip(again[:2], given[:2], strict=True))
    assert type(again.pooler_output) is type(given.pooler_output)


def test_outputs_behave_as_those_of_transformers(transformers: Any, torch: Any) -> None:
    theirs = transformers.Dinov2Model.from_pretrained(FIXTURES / "dinov2")(torch.from_numpy(PIXELS))
    ours = Dinov2Model.from_pretrained(FIXTURES / "dinov2")(torch.from_numpy(PIXELS))
    assert type(ours).__name__ == type(theirs).__name__
    assert list(ours) == list(theirs) and len(ours) == len(theirs)
    assert isinstance(ours[0], torch.Tensor) and ours[0].dtype == theirs[0].dtype
    torch.testing.assert_close(
        ours.last_hidden_state, theirs.last_hidden_state.detach(), rtol=OUTPUT, atol=OUTPUT
    )
