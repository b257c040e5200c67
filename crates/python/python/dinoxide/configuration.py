"""The configs of the four families, with the fields and defaults of Transformers' classes, and `AutoConfig`.

Lengths are in channels or tokens, sizes of images and patches in pixels: one number for both sides, or
(height, width).
Source: `models/*/configuration_*.py` of Transformers 5.24.0.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, ClassVar

from . import _native
from .configuration_utils import PreTrainedConfig as PreTrainedConfig, parse

PretrainedConfig = PreTrainedConfig
Size = int | list[int] | tuple[int, int]


class BackboneConfig(PreTrainedConfig):
    """A config with stages: `stem`, `stage1`, …, of which a backbone returns some.

    `out_features` and `out_indices` follow from each other: setting one sets the other.
    """

    if TYPE_CHECKING:
        stage_names: list[str]

    def computed_stage_names(self) -> list[str]:
        """The names by the number of layers."""
        layers = getattr(self, "num_hidden_layers", 0)
        return stage_names_of(layers if isinstance(layers, int) else 0)

    def set_common(self, kwargs: dict[str, Any]) -> None:
        """Sets the stages, and what all configs have."""
        self.stage_names = self.computed_stage_names()
        self._out_features = kwargs.pop("out_features", None)
        self._out_indices = kwargs.pop("out_indices", None)
        kwargs = {
            name: value for name, value in kwargs.items() if name not in ("_out_features", "_out_indices")
        }
        super().set_common(kwargs)

    def check(self) -> None:
        """Holds the config to the engine's rules, and sets the choice of stages that is not given."""
        super().check()
        if self._out_features is None or self._out_indices is None:
            self.set_output_features_output_indices(self._out_features, self._out_indices)

    def set_output_features_output_indices(self, out_features: Any, out_indices: Any) -> None:
        """Sets the stages a backbone returns, by name or index.

        What is `None` follows from the other; if both are, it is the last stage.

        Raises:
            ValueError: an unknown stage, one named twice, stages out of order, or two choices that disagree.
        """
        read = json.loads(
            _native.read_config(self.engine_json(out_features=out_features, out_indices=out_indices))
        )
        self._out_features = read.get("out_features")
        self._out_indices = read.get("out_indices")

    def engine_json(self, **others: Any) -> str:
        """As for every config; stages that belong to another number of layers are left out."""
        fields, names = self.to_diff_dict(), self.computed_stage_names()
        if fields["stage_names"] != names and fields["stage_names"] == stage_names_of(
            len(fields["stage_names"]) - 1
        ):
            others.setdefault("stage_names", names)
            if not set(fields["out_features"] or ()).issubset(names):
                others = {"out_features": None, "out_indices": None, **others}
        return super().engine_json(**others)

    if not TYPE_CHECKING:

        @property
        def out_features(self) -> list[str] | None:
            """Stages a backbone returns, by name."""
            return self._out_features

        @out_features.setter
        def out_features(self, out_features: list[str] | None) -> None:
            self.set_output_features_output_indices(out_features, None)

        @property
        def out_indices(self) -> list[int] | None:
            """Stages a backbone returns, by index, 0 being the stem."""
            return self._out_indices

        @out_indices.setter
        def out_indices(self, out_indices: list[int] | tuple[int, ...] | None) -> None:
            self.set_output_features_output_indices(None, out_indices)


def stage_names_of(stages: int) -> list[str]:
    """`stem`, `stage1`, …, for a number of stages."""
    return ["stem", *(f"stage{index}" for index in range(1, stages + 1))]


class Dinov2Config(BackboneConfig):
    """Config of a DINOv2 model; by default `facebook/dinov2-base` with positions for 224 pixels.

    Args:
        hidden_size: Length of a token, from 1 on.
        num_hidden_layers: Number of layers.
        num_attention_heads: Heads of a layer; each has `hidden_size // num_attention_heads` channels.
        mlp_ratio: Width of the MLP by `hidden_size`, an integer.
        hidden_act: Activation of the MLP: `"gelu"`, `"relu"`, `"silu"`, `"quick_gelu"`, ….
        hidden_dropout_prob: Dropout after the embeddings in training, 0 to 1.
        attention_probs_dropout_prob: Dropout of attention probabilities in training, 0 to 1.
        initializer_range: Standard deviation of a fresh model's weights.
        layer_norm_eps: Added to the variance in every layer norm.
        image_size: Pixels that the stored positions belong to.
        patch_size: Pixels of a patch.
        num_channels: Channels of a picture.
        qkv_bias: Whether queries, keys and values have biases.
        layerscale_value: Layer scale of a fresh model.
        drop_path_rate: Share of residual branches that are dropped in the last layer in training, 0 to 1.
        use_swiglu_ffn: Whether the MLP is a SwiGLU.
        apply_layernorm: Whether the feature maps of a backbone are normed.
        reshape_hidden_states: Whether they are [B, hidden_size, H, W] rather than [B, tokens, hidden_size].
        use_mask_token: Whether the model has a mask token.
        kwargs: What all configs have: see `PreTrainedConfig`. Unknown ones become attributes.
    """

    model_type: ClassVar[str] = "dinov2"

    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    mlp_ratio: int = 4
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-6
    image_size: Size = 224
    patch_size: Size = 14
    num_channels: int = 3
    qkv_bias: bool = True
    layerscale_value: float = 1.0
    drop_path_rate: float = 0.0
    use_swiglu_ffn: bool = False
    apply_layernorm: bool = True
    reshape_hidden_states: bool = True
    use_mask_token: bool = True


class Dinov2WithRegistersConfig(BackboneConfig):
    """Config of a DINOv2 model with register tokens.

    Args:
        num_register_tokens: Register tokens between CLS and the patches.
        kwargs: The other fields of `Dinov2Config` except `use_mask_token`, `patch_size` by default 16, and
            what all configs have: see `PreTrainedConfig`.
    """

    model_type: ClassVar[str] = "dinov2_with_registers"

    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    mlp_ratio: int = 4
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-6
    image_size: Size = 224
    patch_size: Size = 16
    num_channels: int = 3
    qkv_bias: bool = True
    layerscale_value: float = 1.0
    drop_path_rate: float = 0.0
    use_swiglu_ffn: bool = False
    num_register_tokens: int = 4
    apply_layernorm: bool = True
    reshape_hidden_states: bool = True


class DINOv3ViTConfig(BackboneConfig):
    """Config of a DINOv3 vision transformer; by default of `facebook/dinov3-vits16-pretrain-lvd1689m`'s size.

    Args:
        patch_size: Pixels of a patch.
        hidden_size: Length of a token, from 1 on.
        intermediate_size: Width of the MLP.
        num_hidden_layers: Number of layers.
        num_attention_heads: Heads of a layer; each has `hidden_size // num_attention_heads` channels.
        hidden_act: Activation of the MLP: `"gelu"`, `"silu"`, ….
        attention_dropout: Dropout of attention probabilities in training, 0 to 1.
        initializer_range: Standard deviation of a fresh model's weights.
        layer_norm_eps: Added to the variance in every layer norm.
        rope_theta: Base of the periods of the rotary positions.
        image_size: Pixels of a picture; without effect, as positions are computed.
        num_channels: Channels of a picture.
        query_bias, key_bias, value_bias, proj_bias, mlp_bias: Whether these projections have biases.
        layerscale_value: Layer scale of a fresh model.
        drop_path_rate: Share of residual branches that are dropped in the last layer in training, 0 to 1.
        use_gated_mlp: Whether the MLP is a SwiGLU.
        num_register_tokens: Register tokens between CLS and the patches.
        pos_embed_shift: In training positions, -1 to 1, are shifted by up to this; `None` for not at all.
        pos_embed_jitter: In training each axis is scaled by 1/jitter to jitter; `None` for not at all.
        pos_embed_rescale: In training both axes are scaled by 1/rescale to rescale; `None` for not at all.
        apply_layernorm: Whether the feature maps of a backbone are normed.
        reshape_hidden_states: Whether they are [B, hidden_size, H, W] rather than [B, tokens, hidden_size].
        kwargs: What all configs have: see `PreTrainedConfig`. Unknown ones become attributes.
    """

    model_type: ClassVar[str] = "dinov3_vit"

    patch_size: Size = 16
    hidden_size: int = 384
    intermediate_size: int = 1536
    num_hidden_layers: int = 12
    num_attention_heads: int = 6
    hidden_act: str = "gelu"
    attention_dropout: float = 0.0
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-5
    rope_theta: float = 100.0
    image_size: Size = 224
    num_channels: int = 3
    query_bias: bool = True
    key_bias: bool = False
    value_bias: bool = True
    proj_bias: bool = True
    mlp_bias: bool = True
    layerscale_value: float = 1.0
    drop_path_rate: float = 0.0
    use_gated_mlp: bool = False
    num_register_tokens: int = 0
    pos_embed_shift: float | None = None
    pos_embed_jitter: float | None = None
    pos_embed_rescale: float | None = 2.0
    apply_layernorm: bool = True
    reshape_hidden_states: bool = True


class DINOv3ConvNextConfig(BackboneConfig):
    """Config of a DINOv3 ConvNeXt; by default `facebook/dinov3-convnext-tiny-pretrain-lvd1689m`.

    Args:
        num_channels: Channels of a picture.
        hidden_sizes: Channels of each stage; by default 96, 192, 384, 768.
        depths: Layers of each stage; by default 3, 3, 9, 3.
        hidden_act: Activation of the layers: `"gelu"`, ….
        initializer_range: Standard deviation of a fresh model's weights.
        layer_norm_eps: Added to the variance in every layer norm.
        layer_scale_init_value: Layer scale of a fresh model; none from 0 down.
        drop_path_rate: Share of residual branches that are dropped in the last layer in training, 0 to 1.
        image_size: Pixels of a picture; without effect.
        kwargs: What all configs have: see `PreTrainedConfig`. Unknown ones become attributes.
    """

    model_type: ClassVar[str] = "dinov3_convnext"

    num_channels: int = 3
    hidden_sizes: list[int] | None = None
    depths: list[int] | None = None
    hidden_act: str = "gelu"
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-6
    layer_scale_init_value: float = 1e-6
    drop_path_rate: float = 0.0
    image_size: Size = 224

    def set_common(self, kwargs: dict[str, Any]) -> None:
        """Sets the stages of the tiny model where none are given, and what all configs have."""
        self.hidden_sizes = [96, 192, 384, 768] if self.hidden_sizes is None else self.hidden_sizes
        self.depths = [3, 3, 9, 3] if self.depths is None else self.depths
        super().set_common(kwargs)

    def computed_stage_names(self) -> list[str]:
        """The names by the number of stages."""
        return stage_names_of(len(self.depths) if isinstance(self.depths, (list, tuple)) else 0)

    @property
    def num_stages(self) -> int:
        """Number of stages, without the stem."""
        return len(self.hidden_sizes or ())


CONFIGS: dict[str, type[BackboneConfig]] = {
    config.model_type: config
    for config in (Dinov2Config, Dinov2WithRegistersConfig, DINOv3ViTConfig, DINOv3ConvNextConfig)
}


class AutoConfig:
    """The config of a checkpoint or a family, of the class its `model_type` names."""

    def __init__(self) -> None:
        raise OSError(
            "`AutoConfig` has no instances: call `AutoConfig.from_pretrained` or `AutoConfig.for_model`"
        )

    @classmethod
    def for_model(cls, model_type: str, **kwargs: Any) -> BackboneConfig:
        """A config of a family: `AutoConfig.for_model("dinov2", hidden_size=384)`.

        Raises:
            ValueError: there is no such family, or a value of a wrong type or out of range.
        """
        return class_of(model_type)(**kwargs)

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any
    ) -> BackboneConfig:
        """The config of a checkpoint: a folder, a `config.json`, a model id of the Hub, or `builtin:tiny`.

        Arguments, result and errors are those of `PreTrainedConfig.from_pretrained`.
        """
        kwargs.setdefault("name_or_path", os.fspath(pretrained_model_name_or_path))
        config, kwargs = PreTrainedConfig.get_config_dict(pretrained_model_name_or_path, **kwargs)
        return class_of(config.get("model_type")).from_dict(config, **kwargs)


def class_of(model_type: object) -> type[BackboneConfig]:
    """The class of a family's configs."""
    config = CONFIGS.get(model_type) if isinstance(model_type, str) else None
    if config is None:
        _native.read_config(json.dumps({"model_type": model_type}, default=repr))  # says which there are
        raise ValueError(f"no config class for `model_type` {model_type!r}")
    return config


def from_native(text: str) -> BackboneConfig:
    """The config that the engine gave as JSON."""
    config = parse(text, "config")
    return class_of(config.get("model_type")).from_dict(config)
