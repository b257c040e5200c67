"""The tiny models: which configuration each fixture has, and at which input sizes its goldens are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import transformers
from transformers import PreTrainedConfig, PreTrainedModel

from forward import Run
from weights import Scales

Factory = type[PreTrainedModel]


@dataclass(frozen=True)
class Variant:
    """One fixture folder: a model, how its weights are scaled, and its plain goldens."""

    name: str
    model: Factory
    config: Callable[[], PreTrainedConfig]
    runs: tuple[Run, ...]
    scales: Scales = field(default_factory=Scales)
    covers: str = ""


NATIVE = Run("native", 28, 28, hidden="embedding", what="the stored grid: position table used as it is")
SMALL = Run("small", 20, 12, hidden="all", store_pixels=True, what="a 5 x 3 grid, all intermediates")
ATTENTIONS = Run("attentions", 8, 12, hidden="all", attentions=True, what="a 2 x 3 grid with attention weights")
VIT_RUNS = (
    NATIVE,
    SMALL,
    ATTENTIONS,
    Run("batch", 20, 16, batch=2, what="two different pictures"),
    Run("portrait", 56, 28, what="taller than wide, 14 x 7"),
    Run("landscape", 28, 44, what="wider than tall, 7 x 11"),
    Run("ragged", 30, 33, what="not a multiple of the patch: cut to 28 x 32"),
    Run("larger", 32, 36, what="larger than the stored grid on both axes, 8 x 9"),
)
THIN_RUNS = tuple(Run(f"thin-{h}x8", h, 8, what="a grid that a float scale would get one row short") for h in (244, 460, 488))
RAGGED_NATIVE = Run("ragged-native", 30, 30, what="cut to 28 x 28: the table is used as it is")
PATCH14_RUNS = (
    Run("224", 224, 224, what="16 x 16 out of 37 x 37"),
    Run("56x84", 56, 84, hidden="all", what="shrinks the table"),
    Run("448x56", 448, 56, what="32 rows, 4 columns: shrinks both axes, unequally"),
    Run("546x28", 546, 28, hidden="embedding", what="39 rows: enlarges one axis, shrinks the other"),
    Run("602x28", 602, 28, what="43 rows"),
    Run("30x30", 30, 30, hidden="all", what="2 x 2 patches, two pixels ignored"),
)
PATCH14_NATIVE_RUNS = (
    Run("518", 518, 518, what="the stored grid"),
    Run("518x525", 518, 525, what="the stored grid from pixels that are not square"),
)
PATCH16_RUNS = (
    Run("224", 224, 224, hidden="embedding"),
    Run("518", 518, 518, what="not a multiple of 16: 32 x 32 patches"),
    Run("224x160", 224, 160),
)
# The stored table is used as it is when a picture has as many patches as the table and is square in pixels, whatever its
# grid; else the table is taken for a square of patches.
SHORTCUT_2X8_RUNS = (
    Run("native", 32, 32, hidden="embedding", what="square: the table of 64 as it is, over 16 x 4 patches"),
    Run("33x33", 33, 33, hidden="embedding", what="square before the cut: as it is"),
    Run("32x36", 32, 36, hidden="embedding", what="64 patches, not square in pixels: 8 x 8 becomes 16 x 4"),
    Run("20x24", 20, 24, hidden="all", what="8 x 8 becomes 10 x 3"),
)
SHORTCUT_4X7_RUNS = (
    Run("native", 28, 28, hidden="all", what="square: the table of 28, no square number, as it is"),
    Run("31x31", 31, 31, hidden="embedding", what="square before the cut: as it is"),
)
SHORTCUT_16X36_RUNS = (
    Run("native", 16, 36, hidden="embedding", what="the size of the config, not square: 6 x 6 becomes 4 x 9"),
    Run("24x24", 24, 24, hidden="embedding", what="square and 36 patches: as it is, though not the size of the config"),
    Run("28x20", 28, 20, hidden="all", what="6 x 6 becomes 7 x 5"),
)
CONVNEXT_RUNS = (
    Run("small", 40, 36, hidden="all", what="all stages; hidden_states.0 is the input"),
    Run("64", 64, 64, what="2 x 2 positions at the end"),
    Run("70x45", 70, 45, hidden="stages", what="odd sizes: stages of 17x11, 8x5, 4x2, 2x1"),
    Run("batch", 64, 32, batch=2, what="two different pictures"),
    Run("224", 224, 224, what="the size of the public checkpoints' processor"),
    Run("224x160", 224, 160, what="not square"),
)
ACTIVATIONS = ("gelu_pytorch_tanh", "quick_gelu", "silu", "relu")


def dinov2(**kw: object) -> Callable[[], PreTrainedConfig]:
    """The tiny DINOv2: hidden 32, 2 layers, 2 heads, 7 x 7 patches of 4; MLP ratio 2, not the default 4."""
    base = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, patch_size=4, image_size=28)
    return lambda: transformers.Dinov2Config(**(base | kw))


def registers(**kw: object) -> Callable[[], PreTrainedConfig]:
    """The same with four register tokens."""
    base = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, patch_size=4, image_size=28)
    return lambda: transformers.Dinov2WithRegistersConfig(**(base | dict(num_register_tokens=4) | kw))


def dinov3(**kw: object) -> Callable[[], PreTrainedConfig]:
    """The tiny DINOv3 ViT: MLP 64 wide, which no ratio of 4 gives."""
    base = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, patch_size=4)
    return lambda: transformers.DINOv3ViTConfig(**(base | dict(image_size=28, num_register_tokens=4) | kw))


def convnext(**kw: object) -> Callable[[], PreTrainedConfig]:
    """The tiny DINOv3 ConvNeXt; stages of different depth."""
    base = dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], layer_scale_init_value=0.5)
    return lambda: transformers.DINOv3ConvNextConfig(**(base | kw))


def labels(count: int) -> dict[int, str]:
    """c0, c1, …: more than ten, so that a reader who sorts keys as text is found out."""
    return {i: f"c{i}" for i in range(count)}


ONE_LAYER = dict(hidden_size=16, num_hidden_layers=1)
FOUR = dict(mlp_ratio=4)
PATCH14 = dict(image_size=518, patch_size=14) | ONE_LAYER
NARROW = dict(hidden_size=8)
TWELVE = dict(id2label=labels(12), label2id={v: k for k, v in labels(12).items()})
D2, D2R = transformers.Dinov2Model, transformers.Dinov2WithRegistersModel
D2C, D2RC = transformers.Dinov2ForImageClassification, transformers.Dinov2WithRegistersForImageClassification
D3, D3C = transformers.DINOv3ViTModel, transformers.DINOv3ConvNextModel
CLASSIFIER_RUNS = (
    Run("native", 28, 28, hidden="all"),
    Run("batch", 20, 12, batch=2),
    Run("ragged", 30, 33),
)
SMALL_RUNS = (Run("native", 28, 28), SMALL)

CORE = (
    Variant("dinov2", D2, dinov2(), (*VIT_RUNS, RAGGED_NATIVE), covers="the plain DINOv2"),
    Variant("dinov2-with-registers", D2R, registers(), (*VIT_RUNS, RAGGED_NATIVE), covers="four registers, antialiased table"),
    Variant("dinov3-vit", D3, dinov3(), (*VIT_RUNS, Run("thin-224x8", 224, 8, what="RoPE far from square")), covers="RoPE, no key bias"),
    Variant("dinov3-convnext", D3C, convnext(), CONVNEXT_RUNS, Scales(layer_scale=0.5), covers="ConvNeXt"),
)

# Sums over 588 pixels carry more float32 rounding than the rest of a tiny model: smaller patch weights beside a
# larger bias keep it in proportion.
FINE = Scales(
    token=0.3,
    layer_scale=1.5,
    overrides={
        "patch_embeddings.projection.weight": 0.5, "patch_embeddings.weight": 0.5,
        "patch_embeddings.projection.bias": 4.0, "patch_embeddings.bias": 4.0,
    }
)
# With eight channels the patches' bias must also keep the variance of every token well above zero: a norm that divides by
# a small one magnifies rounding.
STEADY = Scales(
    token=0.3,
    layer_scale=1.5,
    overrides={
        "patch_embeddings.projection.weight": 0.5, "patch_embeddings.projection.bias": 8.0, "layer_scale1.lambda1": 0.5,
    },
)
SIZES = (
    Variant("dinov2-thin", D2, dinov2(hidden_size=8, num_hidden_layers=1), THIN_RUNS, covers="long thin grids, 7 x 7 table"),
    Variant("dinov2-518", D2, dinov2(**PATCH14, **FOUR), PATCH14_RUNS, FINE, covers="37 x 37 table, patch 14, as the public checkpoints"),
    Variant(
        "dinov2-518-narrow", D2, dinov2(**PATCH14 | NARROW, **FOUR), PATCH14_NATIVE_RUNS, STEADY,
        covers="the same table at its own size: as it is by 518, through the resize by 518x525; hidden 8",
    ),
    Variant("dinov2-with-registers-518", D2R, registers(**PATCH14, **FOUR), PATCH14_RUNS, FINE, covers="the same, antialiased"),
    Variant(
        "dinov2-with-registers-518-narrow", D2R, registers(**PATCH14 | NARROW, **FOUR), PATCH14_NATIVE_RUNS, STEADY,
        covers="the same, antialiased",
    ),
    Variant("dinov3-vit-16", D3, dinov3(patch_size=16, image_size=224, **ONE_LAYER), PATCH16_RUNS, FINE, covers="patch 16, large grids"),
)

CLASSIFIERS = (
    Variant("dinov2-classifier", D2C, dinov2(**TWELVE), CLASSIFIER_RUNS, covers="12 labels, class 10 wins"),
    Variant(
        "dinov2-with-registers-classifier", D2RC, registers(**TWELVE),
        tuple(Run(run.name, run.height, run.width, run.batch) for run in CLASSIFIER_RUNS),
        Scales(overrides={"register_tokens": 100.0}), covers="registers 100 times larger: must not reach the classifier",
    ),
    Variant(
        "dinov2-regression", D2C, dinov2(**ONE_LAYER, id2label={0: "score"}, label2id={"score": 0}), SMALL_RUNS,
        covers="one label: regression",
    ),
)

OPTIONS = (
    Variant(
        "dinov2-swiglu", D2, dinov2(hidden_size=40, num_hidden_layers=1, use_swiglu_ffn=True, **FOUR), SMALL_RUNS,
        covers="SwiGLU, weights_in of 224 x 40",
    ),
    Variant("dinov2-nomask", D2, dinov2(**ONE_LAYER, use_mask_token=False), SMALL_RUNS, covers="no mask token"),
    Variant("dinov2-no-qkv-bias", D2, dinov2(**ONE_LAYER, qkv_bias=False), SMALL_RUNS, covers="qkv_bias false"),
    *(
        Variant(f"dinov2-act-{act}", D2, dinov2(**ONE_LAYER, hidden_act=act), (SMALL,), covers=f"hidden_act {act}")
        for act in ACTIVATIONS
    ),
    Variant(
        "dinov2-patch-4x2", D2, dinov2(**ONE_LAYER, patch_size=[4, 2], image_size=[28, 14]),
        (Run("native", 28, 14), SMALL, Run("square", 28, 28)), covers="patch 4 high and 2 wide, picture 28 x 14",
    ),
    Variant(
        "dinov2-uneven-heads", D2, dinov2(hidden_size=20, num_hidden_layers=1, num_attention_heads=3), SMALL_RUNS,
        covers="20 does not divide by 3: heads of 6, projections 20 -> 18",
    ),
    Variant(
        "dinov2-head-dim", D2, dinov2(**ONE_LAYER, head_dim=12), SMALL_RUNS, covers="config key head_dim: 16 -> 2 x 12"
    ),
    Variant(
        "dinov2-4-channels", D2, dinov2(**ONE_LAYER, num_channels=4), (Run("native", 28, 28, channels=4),),
        covers="four input channels",
    ),
    Variant(
        "dinov2-with-registers-swiglu", D2R, registers(hidden_size=24, num_hidden_layers=1, use_swiglu_ffn=True, num_register_tokens=2, **FOUR),
        SMALL_RUNS, covers="SwiGLU with two registers",
    ),
    Variant("dinov3-vit-no-registers", D3, dinov3(**ONE_LAYER, num_register_tokens=0), SMALL_RUNS, covers="no registers"),
    Variant(
        "dinov3-vit-gated", D3, dinov3(use_gated_mlp=True, hidden_act="silu", num_hidden_layers=1, intermediate_size=48), SMALL_RUNS,
        covers="gated MLP",
    ),
    Variant(
        "dinov3-vit-no-biases", D3,
        dinov3(**ONE_LAYER, query_bias=False, key_bias=False, value_bias=False, proj_bias=False, mlp_bias=False), SMALL_RUNS,
        covers="no bias anywhere but in norms and patches",
    ),
    Variant("dinov3-vit-key-bias", D3, dinov3(**ONE_LAYER, key_bias=True), SMALL_RUNS, covers="key bias"),
    Variant(
        "dinov3-vit-patch-4x2", D3, dinov3(**ONE_LAYER, patch_size=[4, 2], rope_theta=50.0), SMALL_RUNS,
        covers="patch 4 high and 2 wide, rope_theta 50",
    ),
    Variant(
        "dinov3-convnext-3-stages", D3C, convnext(hidden_sizes=[8, 12, 20], depths=[2, 1, 1], hidden_act="silu"),
        (Run("40x24", 40, 24, hidden="all"),), Scales(layer_scale=0.5), covers="three stages, another activation",
    ),
)

SHORTCUTS = tuple(
    Variant(f"{family}-shortcut-{name}", model, config(**ONE_LAYER, **grid), runs, covers=covers)
    for family, model, config in (("dinov2", D2, dinov2), ("dinov2-with-registers", D2R, registers))
    for name, grid, runs, covers in (
        (
            "2x8", dict(patch_size=[2, 8], image_size=32), SHORTCUT_2X8_RUNS,
            "patch 2 high and 8 wide: 16 x 4 patches, table of 64 = 8 x 8; as it is where the picture is square",
        ),
        (
            "4x7", dict(patch_size=[4, 7], image_size=28), SHORTCUT_4X7_RUNS,
            "patch 4 high and 7 wide: table of 28, which has no square view; other sizes are errors in Transformers",
        ),
        (
            "16x36", dict(image_size=[16, 36]), SHORTCUT_16X36_RUNS,
            "image_size 16 x 36: table of 36 = 6 x 6, resized at its own size, as it is at 24 x 24",
        ),
    )
)

BACKBONE = dict(hidden_size=16, num_hidden_layers=3)
BACKBONES = (
    Variant("dinov2-backbone", D2, dinov2(**BACKBONE), (SMALL,), covers="backbone outputs, masks"),
    Variant("dinov2-with-registers-backbone", D2R, registers(**BACKBONE, num_register_tokens=2), (SMALL,), covers="the same"),
    Variant("dinov3-vit-backbone", D3, dinov3(**BACKBONE, num_register_tokens=2), (SMALL,), covers="the same, class tokens"),
    Variant(
        "dinov3-convnext-backbone", D3C, convnext(hidden_sizes=[4, 8, 12, 16], depths=[1, 1, 1, 1]),
        (Run("small", 40, 36, hidden="stages"),), Scales(layer_scale=0.5), covers="backbone outputs",
    ),
)

ALL = (*CORE, *SIZES, *CLASSIFIERS, *OPTIONS, *SHORTCUTS, *BACKBONES)
