"""Arrays in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dinoxide import Tensor
from dinoxide.tensors import asarray, dtype_name, like

PLAIN = np.arange(24, dtype=np.float32).reshape(2, 12)


def tensor() -> Tensor:
    return like(None, PLAIN.copy())


def test_an_axis_is_unflattened_as_torch_does_it() -> None:
    for sizes in ((3, 4), (-1, 4), (3, -1)):
        assert tensor().unflatten(1, sizes).shape == (2, 3, 4)
    assert tensor().unflatten(-1, (3, 4)).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="cannot be split"):
        tensor().unflatten(1, (5, 2))
    with pytest.raises(IndexError):
        tensor().unflatten(2, (1, 2))


def test_the_methods_of_torch_give_what_torch_gives(torch: Any) -> None:
    ours, theirs = tensor(), torch.from_numpy(PLAIN.copy())
    pairs = [
        (ours.unflatten(1, (3, 4)), theirs.unflatten(1, (3, 4))),
        ((ours - 7).abs(), (theirs - 7).abs()),
        (ours.softmax(-1), theirs.softmax(-1)),
        (ours.permute(1, 0), theirs.permute(1, 0)),
        (ours.unflatten(1, (3, 4)).transpose(1, 2), theirs.unflatten(1, (3, 4)).transpose(1, 2)),
        (ours.unflatten(1, (3, 4)).transpose(-1, 0), theirs.unflatten(1, (3, 4)).transpose(-1, 0)),
        (ours.view(4, -1), theirs.view(4, -1)),
        (ours.unsqueeze(0), theirs.unsqueeze(0)),
        (ours.mean(dim=1), theirs.mean(dim=1)),
        (ours.mean(dim=(0, 1), keepdim=True), theirs.mean(dim=(0, 1), keepdim=True)),
        (ours.sum(dim=-1, keepdim=True), theirs.sum(dim=-1, keepdim=True)),
        (ours.norm(dim=-1, keepdim=True), theirs.norm(dim=-1, keepdim=True)),
        (ours.norm(p=1, dim=0), theirs.norm(p=1, dim=0)),
        (ours.norm(), theirs.norm()),
        (ours.argmax(dim=-1), theirs.argmax(dim=-1)),
        (ours.unflatten(1, (3, 4)).flatten(1), theirs.unflatten(1, (3, 4)).flatten(1)),
        (ours.unflatten(1, (3, 4)).flatten(0, 1), theirs.unflatten(1, (3, 4)).flatten(0, 1)),
        (ours.flatten(), theirs.flatten()),
        (ours.clone(), theirs.clone()),
        (ours.detach().cpu().numpy(), theirs.detach().cpu().numpy()),
        (ours.to("float64"), theirs.to(torch.float64)),
    ]
    for got, expected in pairs:
        assert got.shape == tuple(expected.shape)
        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-6)
    assert ours.argmax(-1).tolist() == theirs.argmax(-1).tolist()
    assert ours.numel() == theirs.numel() and ours.dim() == theirs.dim()


def test_numpy_works_on_a_tensor_as_on_any_array() -> None:
    assert tensor().size == 24 and repr(tensor()).startswith("Tensor(")
    assert np.concatenate([tensor(), tensor()]).shape == (4, 12)
    assert np.mean(tensor(), axis=0).shape == tensor().mean(0).shape == (12,)
    assert np.sum(tensor(), axis=1, keepdims=True).shape == (2, 1) and np.argmax(tensor()) == 23
    assert tensor().flatten("F").tolist() == PLAIN.flatten("F").tolist()
    assert isinstance(tensor().numpy(), np.ndarray) and not isinstance(tensor().numpy(), Tensor)


def test_memory_is_shared_in_both_directions(torch: Any) -> None:
    theirs = torch.zeros(2, 3)
    ours = asarray(theirs)
    ours[0, 0] = 5
    assert theirs[0, 0] == 5
    array = np.zeros((2, 3), np.float32)
    back = like(theirs, array)
    back[1, 1] = 7
    assert array[1, 1] == 7 and isinstance(back, torch.Tensor)


def test_what_numpy_has_no_dtype_for_is_widened(torch: Any) -> None:
    assert asarray(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32
    assert asarray([torch.ones(2), torch.zeros(2)]).shape == (2, 2)


def test_whatever_lends_its_memory_is_taken() -> None:
    class Lender:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return PLAIN.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return PLAIN.__dlpack_device__()

    assert np.shares_memory(asarray(Lender()), PLAIN)
    assert asarray([[1.0, 2.0]]).shape == (1, 2)


def test_dtypes_have_torchs_names() -> None:
    named = ["bfloat16", "torch.float16", np.float32, np.dtype("float64"), "half", float]
    assert [dtype_name(one) for one in named] == [
        "bfloat16",
        "float16",
        "float32",
        "float64",
        "float16",
        "float32",
    ]
    assert dtype_name(object()) is None
