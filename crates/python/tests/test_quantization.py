"""torchao's configs by name: what they stand for, what is refused, how they are written."""

from __future__ import annotations

import copy
import enum
import json
import pickle
from pathlib import Path
from typing import Any

import dinoxide
import pytest
from dinoxide.quantization import TorchAoConfig, config_to_dict, precision_of


class FakeFormat(enum.Enum):
    """As torchao's enums of options."""

    PLAIN = "plain"
    PRESHUFFLED = "preshuffled"


class PerTensor:
    """As torchao's class of that name."""


def as_torchao(name: str, **options: Any) -> Any:
    """An object as torchao's: of a class of that name, its options as attributes."""
    config = type(name, (), {"version": 2})()
    config.__dict__.update(options)
    return config


def as_transformers(quant_type: Any, **options: Any) -> Any:
    """An object as Transformers' `TorchAoConfig`, whose method is a member of an enum of texts."""
    method = enum.Enum("QuantizationMethod", {"TORCHAO": "torchao"}, type=str)
    return as_torchao("TorchAoConfig", quant_method=method["TORCHAO"], quant_type=quant_type, **options)


PRECISIONS: list[tuple[Any, tuple[str, int | None]]] = [
    (dinoxide.Int4WeightOnlyConfig(), ("int4", 128)),
    (dinoxide.Int4WeightOnlyConfig(group_size=32), ("int4", 32)),
    (dinoxide.Int8WeightOnlyConfig(), ("int8", None)),
    (dinoxide.Int8DynamicActivationInt8WeightConfig(), ("int8", None)),
    (
        dinoxide.Int8DynamicActivationInt8WeightConfig(granularity=[dinoxide.PerRow(), dinoxide.PerRow()]),
        ("int8", None),
    ),
    (dinoxide.Int8DynamicActivationInt4WeightConfig(), ("int4-a8", 32)),
    (dinoxide.Int8DynamicActivationInt4WeightConfig(group_size=64), ("int4-a8", 64)),
    (as_torchao("Int4WeightOnlyConfig", group_size=64, int4_packing_format=FakeFormat.PLAIN), ("int4", 64)),
    (as_torchao("Int8WeightOnlyConfig", group_size=None, granularity=dinoxide.PerRow()), ("int8", None)),
]


@pytest.mark.parametrize(("config", "precision"), PRECISIONS)
def test_a_config_stands_for_a_precision_alone_and_as_transformers_passes_it(
    config: Any, precision: tuple[str, int | None]
) -> None:
    assert precision_of(config) == precision
    assert precision_of(TorchAoConfig(quant_type=config)) == precision
    assert precision_of(TorchAoConfig(config)) == precision
    assert precision_of(as_transformers(config, modules_to_not_convert=None)) == precision
    assert precision_of(TorchAoConfig(config).to_dict()) == precision


@pytest.mark.parametrize(
    "folder",
    ["dinov2-classifier-int4", "dinov2-classifier-int8", "dinov2-with-registers-int4", "dinov3-vit-int8"],
)
def test_the_config_of_a_folder_in_codes_stays_itself(fixtures: Path, folder: str, tmp_path: Path) -> None:
    written = json.loads((fixtures / folder / "config.json").read_text())["quantization_config"]
    config = dinoxide.AutoConfig.from_pretrained(fixtures / folder)
    assert config.quantization_config == written
    quantization = TorchAoConfig.from_dict(written)
    assert quantization.to_dict() == written
    config.quantization_config = quantization
    assert config.to_dict()["quantization_config"] == written
    config.save_pretrained(tmp_path)
    assert (tmp_path / "config.json").read_text() == (fixtures / folder / "config.json").read_text()
    assert pickle.loads(pickle.dumps(quantization)) == quantization == copy.deepcopy(quantization)


WRONG: list[tuple[Any, str]] = [
    ("int4_weight_only", "`int4_weight_only` is text: give a config"),
    (
        as_torchao("Float8WeightOnlyConfig"),
        "must be one of Int4WeightOnlyConfig, .*got Float8WeightOnlyConfig",
    ),
    (
        as_torchao("Int4WeightOnlyConfig", int4_packing_format=FakeFormat.PRESHUFFLED),
        "`int4_packing_format`.*PRESHUFFLED",
    ),
    (as_torchao("Int4WeightOnlyConfig", int4_choose_qparams_algorithm="hqq"), "must be TINYGEMM, got hqq"),
    (as_torchao("Int4WeightOnlyConfig", group_size=0), "`group_size`.*whole number from 1 to 1048576, got 0"),
    (as_torchao("Int4WeightOnlyConfig", group_size=3.5), "`group_size`.*got 3.5"),
    (as_torchao("Int4WeightOnlyConfig", group_size=True), "`group_size`.*got True"),
    (as_torchao("Int8WeightOnlyConfig", group_size=64), "`group_size`.*must be None"),
    (
        as_torchao("Int8WeightOnlyConfig", granularity=PerTensor()),
        "`granularity`.*must be PerRow, got PerTensor",
    ),
    (
        as_torchao("Int8DynamicActivationInt8WeightConfig", granularity=[dinoxide.PerRow(), PerTensor()]),
        "got PerTensor",
    ),
    (as_torchao("Int8DynamicActivationInt8WeightConfig", reduce_range=True), "`reduce_range`.*must be False"),
    (as_torchao("Int8DynamicActivationInt8WeightConfig", weight_only_decode=True), "`weight_only_decode`"),
]


@pytest.mark.parametrize(("config", "message"), WRONG)
def test_what_is_not_computed_is_a_value_error(config: Any, message: str) -> None:
    for use in (precision_of, TorchAoConfig, lambda config: precision_of(as_transformers(config))):
        with pytest.raises(ValueError, match=message):
            use(config)


def test_our_own_configs_refuse_at_once() -> None:
    with pytest.raises(ValueError, match="`int4_packing_format`"):
        dinoxide.Int4WeightOnlyConfig(int4_packing_format="tile_packed_to_4d")
    with pytest.raises(ValueError, match="`granularity`"):
        dinoxide.Int8DynamicActivationInt8WeightConfig(granularity=PerTensor())
    with pytest.raises(ValueError, match="`group_size`"):
        dinoxide.Int8DynamicActivationInt4WeightConfig(group_size=-1)


def test_other_methods_and_other_things_are_refused() -> None:
    with pytest.raises(ValueError, match="`quant_method` must be 'torchao', got 'bitsandbytes'"):
        precision_of({"quant_method": "bitsandbytes", "load_in_8bit": True})
    with pytest.raises(ValueError, match="`modules_to_not_convert` is not supported"):
        TorchAoConfig(dinoxide.Int4WeightOnlyConfig(), modules_to_not_convert=["classifier"])
    with pytest.raises(ValueError, match="`include_input_output_embeddings` is not supported"):
        TorchAoConfig(dinoxide.Int4WeightOnlyConfig(), include_input_output_embeddings=True)
    with pytest.raises(ValueError, match="`quant_type` must have one key"):
        TorchAoConfig.from_dict({"quant_method": "torchao", "quant_type": {"layers": {}}})
    for thing in (3, None, object(), [dinoxide.Int4WeightOnlyConfig()]):
        with pytest.raises(TypeError, match="must be one of Int4WeightOnlyConfig"):
            precision_of(thing)


def test_the_names_of_files_are_torchaos() -> None:
    torchao = pytest.importorskip("torchao.quantization")
    core = pytest.importorskip("torchao.core.config")
    for name in ("Int4WeightOnlyConfig", "Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"):
        ours, theirs = getattr(dinoxide, name)(), getattr(torchao, name)()
        assert ours.to_dict() == core.config_to_dict(theirs) == config_to_dict(theirs)
        assert precision_of(theirs) == precision_of(ours)
        transformers = pytest.importorskip("transformers")
        config = transformers.TorchAoConfig(theirs)
        assert precision_of(config) == precision_of(ours)
        assert TorchAoConfig(ours).to_dict() == TorchAoConfig(theirs).to_dict() == config.to_dict()
        assert TorchAoConfig.from_dict(config.to_dict()) == TorchAoConfig(ours)
        assert (
            dinoxide.Dinov2Config(quantization_config=config).to_json_string()
            == dinoxide.Dinov2Config(quantization_config=TorchAoConfig(ours)).to_json_string()
        )
