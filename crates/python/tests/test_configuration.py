"""Configs beside Transformers': the same arguments, attributes, files."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import dinoxide
import pytest
from dinoxide import _native
from dinoxide.configuration import CONFIGS, AutoConfig, BackboneConfig, from_native
from dinoxide.configuration_utils import GENERATION

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
FOLDERS = sorted(path.parent.name for path in FIXTURES.glob("*/config.json"))
STANDINS = sorted(
    f"standins/hub/facebook/{path.parent.name}"
    for path in FIXTURES.glob("standins/hub/facebook/*/config.json")
)
FAMILIES = sorted(CONFIGS)
# Arguments of Transformers' signature that are set by others, whose names stand here.
RENAMED = {"_out_features": "out_features", "_out_indices": "out_indices"}
# Arguments that Transformers takes without naming them in its signature.
UNNAMED = {"num_labels": None, "output_attentions": False, "name_or_path": ""}


def both(transformers: ModuleType, family: str) -> tuple[type[BackboneConfig], Any]:
    """The two classes of a family."""
    ours = CONFIGS[family]
    return ours, getattr(transformers, ours.__name__)


def same_attributes(ours: Any, theirs: Any) -> None:
    """Every attribute that Transformers writes is there with the same value, of the same type."""
    expected = theirs.to_dict()
    assert ours.to_dict() == expected
    for name in expected:
        if name in ("transformers_version", "dtype", "_name_or_path"):
            continue
        ours_value, theirs_value = getattr(ours, name), getattr(theirs, name)
        assert (ours_value, type(ours_value)) == (theirs_value, type(theirs_value)), name
    assert ours.transformers_version == theirs.transformers_version
    assert (ours.num_labels, ours.out_features, ours.out_indices) == (
        theirs.num_labels,
        theirs.out_features,
        theirs.out_indices,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_signature_has_the_arguments_and_defaults_of_transformers(
    transformers: ModuleType, family: str
) -> None:
    ours, theirs = both(transformers, family)
    defaults = {
        RENAMED.get(name, name): parameter.default
        for name, parameter in inspect.signature(theirs).parameters.items()
    }
    ours_defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(ours).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    assert ours_defaults == {**defaults, **UNNAMED}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_defaults_are_the_engines(family: str) -> None:
    engine = json.loads(_native.read_config(json.dumps({"model_type": family})))
    config = CONFIGS[family]()
    for name, value in engine.items():
        if name != "transformers_version":
            assert getattr(config, name) == value, name
    for name, default in CONFIGS[family].default_fields().items():
        given = {"model_type": family, name: getattr(config, name)}
        assert default is None or json.loads(_native.read_config(json.dumps(given))) == engine, name


@pytest.mark.parametrize("family", FAMILIES)
def test_a_config_of_nothing_is_transformers_config_of_nothing(transformers: ModuleType, family: str) -> None:
    ours, theirs = both(transformers, family)
    same_attributes(ours(), theirs())
    assert repr(ours()) == repr(theirs())
    bookkeeping = {name for name in theirs() if name.endswith(("_internal", "_done"))}
    assert set(ours()) - {"_attn_implementation"} == set(theirs()) - bookkeeping


@pytest.mark.parametrize("folder", FOLDERS + STANDINS)
def test_every_recorded_config_is_read_and_written_as_by_transformers(
    transformers: ModuleType, folder: str, tmp_path: Path
) -> None:
    family = json.loads((FIXTURES / folder / "config.json").read_text())["model_type"]
    ours_class, theirs_class = both(transformers, family)
    ours, theirs = (
        ours_class.from_pretrained(FIXTURES / folder),
        theirs_class.from_pretrained(FIXTURES / folder),
    )
    same_attributes(ours, theirs)
    assert ours.to_diff_dict() == theirs.to_diff_dict()
    assert ours.to_json_string() == theirs.to_json_string()
    assert ours.to_json_string(use_diff=False) == theirs.to_json_string(use_diff=False)
    ours.save_pretrained(tmp_path / "ours" / "new")
    theirs.save_pretrained(tmp_path / "theirs")
    assert (tmp_path / "ours" / "new" / "config.json").read_bytes() == (
        tmp_path / "theirs" / "config.json"
    ).read_bytes()


@pytest.mark.parametrize("folder", FOLDERS + STANDINS)
def test_a_recorded_config_is_saved_as_transformers_wrote_it(folder: str, tmp_path: Path) -> None:
    AutoConfig.from_pretrained(FIXTURES / folder).save_pretrained(tmp_path)
    assert (tmp_path / "config.json").read_bytes() == (FIXTURES / folder / "config.json").read_bytes()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_config_stays_itself(folder: str, tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(FIXTURES / folder)
    assert config.name_or_path == str(FIXTURES / folder)
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config
    assert type(config).from_dict(config.to_dict()).to_dict() == config.to_dict()
    assert from_native(config._to_native()).to_dict() == {**config.to_dict(), "_name_or_path": ""}
    config.to_json_file(tmp_path / "config.json")
    assert type(config).from_json_file(tmp_path / "config.json").to_diff_dict() == config.to_diff_dict()
    assert AutoConfig.from_pretrained(tmp_path / "config.json").to_diff_dict() == config.to_diff_dict()


GIVEN: list[dict[str, Any]] = [
    {"num_labels": 3},
    {"num_labels": 1, "problem_type": "regression"},
    {"id2label": {"0": "cat", "1": "dog", "2": "cow"}, "label2id": {"cat": 0, "dog": 1, "cow": 2}},
    {"out_features": ["stage1", "stage3"]},
    {"out_indices": [0, 2]},
    {"out_indices": (1, 2)},
    {"out_indices": [-2, -1]},
    {"out_features": ["stem"], "out_indices": [0]},
    {"out_features": []},
    {"patch_size": (14, 14), "image_size": [28, 42]},
    {"dtype": "bfloat16"},
    {"torch_dtype": "float16"},
    {"dtype": "float32", "torch_dtype": "float16"},
    {"output_hidden_states": True, "output_attentions": True, "return_dict": False},
    {"attn_implementation": "eager"},
    {"attn_implementation": "sdpa", "name_or_path": "somewhere"},
    {"something_else": {"a": [1, 2.5, None]}, "tie_last_hidden_states": True},
    {"temperature": 0.5, "max_length": 7},
    {"architectures": ["A"], "chunk_size_feed_forward": 2, "is_encoder_decoder": True},
    {"something_else": float("inf"), "another": -float("inf")},
    {"_out_features": ["stage1"], "_out_indices": [1]},
    {"transformers_version": "4.56.0"},
]


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: "-".join(given))
@pytest.mark.parametrize("family", FAMILIES)
def test_arguments_do_what_they_do_in_transformers(
    transformers: ModuleType, family: str, given: dict[str, Any], tmp_path: Path
) -> None:
    ours_class, theirs_class = both(transformers, family)
    ours, theirs = ours_class(**copy.deepcopy(given)), theirs_class(**copy.deepcopy(given))
    same_attributes(ours, theirs)
    assert ours._attn_implementation == theirs._attn_implementation
    assert ours.to_json_string() == theirs.to_json_string()
    ours.save_pretrained(tmp_path / "ours")
    assert (tmp_path / "ours" / "config.json").read_text() == theirs.to_json_string()


CHANGES: list[tuple[str, Any]] = [
    ("out_features", ["stage2", "stage3"]),
    ("out_features", None),
    ("out_indices", [1, 3]),
    ("out_indices", (0, 1)),
    ("out_indices", None),
    ("num_labels", 7),
    ("num_labels", 2),
    ("id2label", {0: "a", 1: "b"}),
    ("output_attentions", True),
    ("output_hidden_states", True),
    ("layer_norm_eps", 1e-3),
    ("name_or_path", Path("there")),
    ("anything", "else"),
]


@pytest.mark.parametrize(("name", "value"), CHANGES)
@pytest.mark.parametrize("family", FAMILIES)
def test_setting_an_attribute_does_what_it_does_in_transformers(
    transformers: ModuleType, family: str, name: str, value: Any
) -> None:
    ours_class, theirs_class = both(transformers, family)
    ours, theirs = ours_class(), theirs_class()
    setattr(ours, name, value)
    setattr(theirs, name, value)
    same_attributes(ours, theirs)
    assert ours._attn_implementation == theirs._attn_implementation
    theirs = theirs_class()
    ours = ours_class()
    ours.update({name: value})
    theirs.update({name: value})
    same_attributes(ours, theirs)


def test_overrides_and_unused_arguments_are_those_of_transformers(
    transformers: ModuleType, fixtures: Path
) -> None:
    given = {
        "num_labels": 5,
        "output_hidden_states": True,
        "foo": 1,
        "revision": "main",
        "dtype": "float16",
        "image_size": 56,
    }
    for ours_class, theirs_class in [
        (AutoConfig, transformers.AutoConfig),
        (dinoxide.Dinov2Config, transformers.Dinov2Config),
    ]:
        ours: Any
        ours, unused = ours_class.from_pretrained(fixtures / "dinov2", return_unused_kwargs=True, **given)
        theirs, expected = theirs_class.from_pretrained(
            fixtures / "dinov2", return_unused_kwargs=True, **given
        )
        same_attributes(ours, theirs)
        assert (unused, ours.name_or_path) == (expected, theirs.name_or_path)
        assert not hasattr(ours, "foo")
    assert AutoConfig.from_pretrained(fixtures / "dinov2", dtype="auto").dtype == "float32"


def test_generation_settings_of_old_files_are_those_transformers_reads_past(transformers: ModuleType) -> None:
    from transformers.generation.configuration_utils import GenerationConfig

    assert set(GenerationConfig._get_default_generation_params()) == GENERATION


def test_auto_config_makes_the_class_of_the_family() -> None:
    config = AutoConfig.for_model("dinov2", hidden_size=64, num_attention_heads=4)
    assert type(config) is dinoxide.Dinov2Config
    assert config == dinoxide.Dinov2Config(hidden_size=64, num_attention_heads=4)
    assert type(AutoConfig.from_pretrained("builtin:tiny")) is dinoxide.Dinov2WithRegistersConfig
    with pytest.raises(ValueError, match='unknown `model_type` "vit".*dinov2, dinov2_with_registers'):
        AutoConfig.for_model("vit")
    with pytest.raises(OSError, match="has no instances"):
        AutoConfig()


def test_equal_configs_are_equal_and_others_are_not() -> None:
    assert dinoxide.Dinov2Config() == dinoxide.Dinov2Config()
    assert dinoxide.Dinov2Config() != dinoxide.Dinov2Config(hidden_act="relu")
    assert dinoxide.Dinov2Config() != dinoxide.Dinov2WithRegistersConfig()
    assert dinoxide.PretrainedConfig is dinoxide.PreTrainedConfig


def test_old_names_work_and_say_so() -> None:
    config = dinoxide.DINOv3ViTConfig(dtype="float32")
    with pytest.warns(FutureWarning, match="use `dtype`"):
        assert config.torch_dtype == "float32"
    with pytest.warns(FutureWarning, match="use `dtype`"):
        config.torch_dtype = "float16"
    assert config.dtype == "float16"
    with pytest.warns(FutureWarning, match="use `return_dict`"):
        assert config.use_return_dict is True


def test_a_torch_dtype_is_written_by_its_name() -> None:
    torch = pytest.importorskip("torch")
    assert dinoxide.Dinov2Config(dtype=torch.bfloat16).to_dict()["dtype"] == "bfloat16"


def test_fewer_layers_leave_a_config_that_models_and_files_take(tmp_path: Path) -> None:
    config = dinoxide.Dinov2Config(out_features=["stage2", "stage12"])
    config.num_hidden_layers = 3
    native = json.loads(config._to_native())
    assert (native["stage_names"], native["out_features"]) == (
        ["stem", "stage1", "stage2", "stage3"],
        ["stage3"],
    )
    config.save_pretrained(tmp_path)
    assert dinoxide.Dinov2Config.from_pretrained(tmp_path).out_indices == [3]
    config = AutoConfig.from_pretrained("builtin:tiny", num_hidden_layers=2, out_indices=[1])
    assert json.loads(config._to_native())["out_features"] == ["stage1"]


# Arguments, what the error says, and whether Transformers' config refuses them too, which has no ranges.
WRONG: list[tuple[dict[str, Any], str, bool]] = [
    ({"hidden_size": 0}, "`hidden_size` in `config` must be an integer from 1 to 1048576, got 0", False),
    ({"hidden_size": "x"}, '`hidden_size`.*got "x"', True),
    ({"hidden_size": object()}, '`hidden_size`.*got "<object object', True),
    ({"num_hidden_layers": -1}, "`num_hidden_layers`", False),
    ({"num_hidden_layers": None}, "`num_hidden_layers`", True),
    ({"mlp_ratio": 2.5}, "`mlp_ratio`.*got 2.5", True),
    ({"layer_norm_eps": -1.0}, "`layer_norm_eps`", False),
    ({"layer_norm_eps": float("nan")}, "`layer_norm_eps`", False),
    ({"qkv_bias": "yes"}, "`qkv_bias`", True),
    ({"patch_size": [14]}, "`patch_size`", False),
    ({"patch_size": (14, 14, 14)}, "`patch_size`", True),
    ({"num_labels": "many"}, "`num_labels` must be a whole number", True),
    ({"num_labels": -1}, "`num_labels` must be a whole number", False),
    ({"id2label": ["a", "b"]}, "`id2label` must be a dictionary", True),
    ({"id2label": {"first": "a"}}, "`id2label` must be a dictionary", True),
    ({"problem_type": "ranking"}, "`problem_type`", False),
    ({"num_labels": 1, "problem_type": "single_label_classification"}, "`problem_type`", True),
    ({"dtype": "integer"}, "`dtype`", True),
    ({"out_features": ["stage13"]}, "no stage `stage13`", True),
    ({"out_features": ["stage2", "stage1"]}, "stage1, stage2", True),
    ({"out_features": ["stage1", "stage1"]}, "stage1", True),
    ({"out_features": "stage1"}, "`out_features`", True),
    ({"out_indices": [13]}, "13", True),
    ({"out_indices": [2, 1]}, "1, 2", True),
    ({"out_features": ["stage1"], "out_indices": [2]}, "stage1", True),
    ({"output_attentions": True, "attn_implementation": "sdpa"}, "`output_attentions`", True),
    ({"quantization_config": {"quant_method": "gptq"}}, '`quant_method`.*got "gptq"', False),
]


@pytest.mark.parametrize(("given", "message", "_"), WRONG)
def test_a_wrong_value_is_a_value_error_that_names_it(given: dict[str, Any], message: str, _: bool) -> None:
    with pytest.raises(ValueError, match=message):
        dinoxide.Dinov2Config(**given)


@pytest.mark.parametrize(("given", "_", "refused"), WRONG)
def test_what_transformers_refuses_is_refused_here(
    transformers: ModuleType, given: dict[str, Any], _: str, refused: bool
) -> None:
    raised = False
    try:
        transformers.Dinov2Config(**given)
    except Exception:  # its own kinds of exceptions, of which some are no ValueError
        raised = True
    assert raised == refused


def test_wrong_values_are_found_when_they_were_set_later(tmp_path: Path) -> None:
    config = dinoxide.DINOv3ConvNextConfig()
    config.depths = [3, "x"]  # type: ignore[list-item]
    for use in (config._to_native, config.check, lambda: config.save_pretrained(tmp_path)):
        with pytest.raises(ValueError, match="`depths`"):
            use()
    config = dinoxide.DINOv3ConvNextConfig()
    with pytest.raises(ValueError, match="no stage `stage9`"):
        config.out_features = ["stage9"]
    assert config.out_features == ["stage4"]


def test_what_json_cannot_hold_is_kept_and_cannot_be_saved(tmp_path: Path) -> None:
    config = dinoxide.Dinov2Config(tool=print)
    assert config.tool is print
    with pytest.raises(TypeError):
        config.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="keyword arguments only"):
        dinoxide.Dinov2Config(768)  # type: ignore[call-arg]


def test_sources_that_are_not_there_are_os_errors(fixtures: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no `config.json`"):
        AutoConfig.from_pretrained(tmp_path)
    with pytest.raises(OSError, match="is not in the cache"):
        AutoConfig.from_pretrained("nobody/nothing", local_files_only=True, cache_dir=tmp_path)
    with pytest.raises(OSError, match="not valid JSON"):
        (tmp_path / "config.json").write_text("{")
        AutoConfig.from_pretrained(tmp_path)
    with pytest.raises(OSError, match="not valid JSON"):
        AutoConfig.from_pretrained(tmp_path / "config.json")
    with pytest.raises(OSError, match="not a JSON object"):
        (tmp_path / "config.json").write_text("[]")
        dinoxide.Dinov2Config.from_json_file(tmp_path / "config.json")
    with pytest.raises(ValueError, match="`force_download`"):
        AutoConfig.from_pretrained(fixtures / "dinov2", force_download=True)
    with pytest.raises(ValueError, match="`push_to_hub`"):
        dinoxide.Dinov2Config().save_pretrained(tmp_path, push_to_hub=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        dinoxide.Dinov2Config().save_pretrained(tmp_path / "file")


def test_a_config_of_another_family_is_read_with_a_warning(
    fixtures: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dinoxide.DINOv3ViTConfig.from_pretrained(fixtures / "dinov3-vit")
    assert caplog.text == ""
    config = dinoxide.Dinov2Config.from_pretrained(fixtures / "dinov3-vit")
    assert "`dinov3_vit` is read as one of type `dinov2`" in caplog.text
    assert config.model_type == "dinov2"


def test_labels_and_their_number_that_disagree_are_told(caplog: pytest.LogCaptureFixture) -> None:
    config = dinoxide.Dinov2Config(num_labels=3, id2label={0: "a", 1: "b"})
    assert "`num_labels` is 3 where `id2label` has 2" in caplog.text
    assert config.id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
