"""The cases of the processors: which picture goes through which preprocessor_config.json.

Configs are dictionaries as they stand in a file. `bit` and `dino` start from what the public checkpoints say;
`LEVELS` turns rescaling and normalising off, so that the result is the resized bytes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from common import FIXTURES
from processors import IMAGENET_MEAN, IMAGENET_STD

Config = dict[str, Any]

AWKWARD, PHOTOGRAPHS = "fixtures/pictures", "pictures"
LEVELS: Config = {"do_rescale": False, "do_normalize": False}
RGB, WIDE, TALL = f"{AWKWARD}/rgb.png", f"{AWKWARD}/size-100x80.png", f"{AWKWARD}/size-333x500.png"
HUGE = "checkerboard:4000x3000"
CONTRAST = "checkerboard:301x200"
DINO_PICTURES = (
    "rgb.png", "grey.png", "grey-alpha.png", "palette.png", "palette-trns-one-index.png", "rgba-over-red.png", "bilevel.png",
    "rgb-16-bit.png", "rgb-trns.png", "jpeg-420.jpg", "cmyk-adobe.jpg", "exif-6.jpg", "transparent.gif", "size-1x1.png",
    "size-2x3.png", "size-1x3000.png", "size-3000x1.png", "size-333x500.png", "size-640x320.png", "size-686x512.png",
)
GREY16 = "grey-16-bit.png"
WHOLE = ("astronaut.jpg", "rocket.jpg")


@dataclass(frozen=True)
class Case:
    """One picture through one configuration."""

    name: str
    picture: str
    config: Config
    note: str = ""
    keep: bool = True
    """Whether the output is kept; otherwise its shape alone."""


def bit(**changes: Any) -> Config:
    """The DINOv2 configuration, small: shortest edge 48, crop 40."""
    return {
        "image_processor_type": "BitImageProcessor",
        "do_convert_rgb": True,
        "do_resize": True,
        "size": {"shortest_edge": 48},
        "resample": 3,
        "do_center_crop": True,
        "crop_size": {"height": 40, "width": 40},
        "do_rescale": True,
        "rescale_factor": 0.00392156862745098,
        "do_normalize": True,
        "image_mean": IMAGENET_MEAN,
        "image_std": IMAGENET_STD,
    } | changes


def dino(**changes: Any) -> Config:
    """The DINOv3 configuration, small: exactly 16 wide and 12 high."""
    return {
        "image_processor_type": "DINOv3ViTImageProcessorFast",
        "do_resize": True,
        "size": {"height": 12, "width": 16},
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": 0.00392156862745098,
        "do_normalize": True,
        "image_mean": IMAGENET_MEAN,
        "image_std": IMAGENET_STD,
        "default_to_square": True,
    } | changes


def crop(height: int, width: int) -> Config:
    """A crop_size."""
    return {"crop_size": {"height": height, "width": width}}


def shortest(edge: int, longest: int | None = None) -> Config:
    """A size by the shortest edge."""
    return {"size": {"shortest_edge": edge} | ({} if longest is None else {"longest_edge": longest})}


def pictures() -> list[Case]:
    """Every awkward picture: its pixels as loaded, and through the two standard configurations."""
    raw = bit(do_resize=False, do_center_crop=False, **LEVELS)
    cases = []
    for path in sorted((FIXTURES / "pictures").iterdir()):
        name = f"{AWKWARD}/{path.name}"
        sized = path.name.startswith("size-")
        note = "as 16-bit kinds with colour: the high byte; Transformers would saturate at 255" if path.name == GREY16 else ""
        if not sized and path.name != GREY16:
            cases.append(Case(f"load/{path.name}", name, raw))
        cases.append(Case(f"bit/{path.name}", name, bit(**LEVELS), note))
        if path.name in DINO_PICTURES:
            cases.append(Case(f"dino/{path.name}", name, dino()))
    return cases


def photographs() -> list[Case]:
    """Real pictures at the real sizes: two of them whole, of the others the middle strip."""
    whole = bit(**shortest(256), **crop(224, 224), **LEVELS)
    strip = whole | crop(224, 56)
    normalised = bit(**shortest(256), **crop(12, 224))
    names = sorted(p.name for p in (FIXTURES.parent / PHOTOGRAPHS).iterdir() if p.suffix in (".jpg", ".png"))
    cases = [Case(f"photograph/bit/{name}", f"{PHOTOGRAPHS}/{name}", whole if name in WHOLE else strip) for name in names]
    for name, side in (("rocket.jpg", 64), ("chelsea.png", 64)):
        cases.append(Case(f"photograph/bit-normalised/{name}", f"{PHOTOGRAPHS}/{name}", normalised))
        cases.append(Case(f"photograph/dino/{name}", f"{PHOTOGRAPHS}/{name}", dino(size={"height": side, "width": side})))
    real_dino = dino(size={"height": 224, "width": 224}, do_center_crop=True, **crop(64, 64))
    cases.append(Case("photograph/dino-224-middle/retina.jpg", f"{PHOTOGRAPHS}/retina.jpg", real_dino))
    return cases


def bug_log() -> list[Case]:
    """Sizes and pictures at which other implementations went wrong."""
    whole = bit(do_center_crop=False, **shortest(256), **LEVELS)
    strip = bit(**shortest(256), **crop(40, 224), **LEVELS)
    return [
        Case("size/640x320-shortest-256", f"{AWKWARD}/size-640x320.png", whole, "512 x 256"),
        Case("size/333x500-shortest-256", TALL, whole, "256 x 384, truncated"),
        Case("size/640x320-shortest-48", f"{AWKWARD}/size-640x320.png", whole | shortest(48)),
        Case("size/333x500-shortest-96", TALL, whole | shortest(96)),
        Case("crop/odd-margin-686x512", f"{AWKWARD}/size-686x512.png", strip, "left margin of 119 / 2: column 59"),
        Case("resize/checkerboard-4000x3000", HUGE, strip, "antialias over a factor of 11.7"),
        Case("resize/checkerboard-4000x3000-dino", HUGE, dino(size={"height": 64, "width": 64})),
        Case("resize/upscale-100x80", WIDE, strip),
        Case("resize/contrast-301x200-bit", CONTRAST, bit(**shortest(96), **crop(64, 64), **LEVELS)),
        Case("resize/contrast-301x200-dino", CONTRAST, dino(size={"height": 64, "width": 64})),
    ]


def sizes() -> list[Case]:
    """Every form of size and crop_size."""
    forms: dict[str, Any] = {
        "int": 30, "list": [30, 50], "height-width": {"height": 30, "width": 50}, "shortest-edge": {"shortest_edge": 30},
        "same-size": {"height": 80, "width": 100}, "same-width": {"height": 33, "width": 100}, "same-height": {"height": 80, "width": 33},
        "shortest-equal": {"shortest_edge": 80},
        "longest-caps": {"shortest_edge": 40, "longest_edge": 45}, "longest-idle": {"shortest_edge": 40, "longest_edge": 60},
        "longest-already": {"shortest_edge": 80, "longest_edge": 200}, "longest-edge-only": {"longest_edge": 50},
        "max-shrinks": {"max_height": 33, "max_width": 60}, "max-enlarges": {"max_height": 100, "max_width": 110},
        "pixels": {"min_pixels": 100, "max_pixels": 4000}, "unknown-key": {"side": 50}, "height-only": {"height": 50},
        "zero": {"shortest_edge": 0}, "negative": {"height": -3, "width": 4}, "empty": {}, "text": "big",
        "three-keys": {"height": 30, "width": 50, "shortest_edge": 30}, "float": {"shortest_edge": 30.5},
    }
    whole = {"do_center_crop": False}
    cases = [Case(f"size/bit-{name}", WIDE, bit(**whole, **LEVELS, size=size)) for name, size in forms.items()]
    few = ("int", "list", "shortest-edge", "longest-caps", "max-shrinks", "longest-edge-only", "same-size", "same-width")
    cases += [Case(f"size/dino-{name}", RGB, dino(size=forms[name])) for name in few if not name.startswith("same")]
    cases.append(Case("size/dino-same-size", RGB, dino(size={"height": 32, "width": 48})))
    cases.append(Case("size/dino-same-width", RGB, dino(size={"height": 20, "width": 48})))
    cases.append(Case("size/bit-int-default-to-square", WIDE, bit(**whole, **LEVELS, size=30, default_to_square=True)))
    cases.append(Case("size/dino-int-not-square", RGB, dino(size=24, default_to_square=False)))
    return cases


def crops() -> list[Case]:
    """Crops inside, outside and across the picture, with even and odd differences."""
    shapes = [(31, 45), (30, 46), (29, 47), (32, 48), (37, 53), (36, 52), (35, 40), (20, 51), (33, 49), (1, 1)]
    bare = bit(do_resize=False, **LEVELS)
    cases = [Case(f"crop/{h}x{w}-of-32x48", RGB, bare | crop(h, w)) for h, w in shapes]
    cases += [
        Case("crop/padding-normalised", RGB, bit(do_resize=False, **crop(36, 53)), "zeros are padded before normalising"),
        Case("crop/int", RGB, bare | {"crop_size": 30}),
        Case("crop/list", RGB, bare | {"crop_size": [20, 30]}),
        Case("crop/shortest-edge", RGB, bare | {"crop_size": {"shortest_edge": 20}}),
        Case("crop/off", RGB, bit(do_center_crop=False, **LEVELS)),
        Case("crop/dino", RGB, dino(do_center_crop=True, **crop(17, 31))),
    ]
    return cases


def resampling() -> list[Case]:
    """Every resample code, shrinking and enlarging, in bytes and in floats."""
    cases = []
    for code in range(7):
        for name, edge in (("shrink", 23), ("enlarge", 67)):
            config = bit(do_center_crop=False, **LEVELS, resample=code, **shortest(edge))
            cases.append(Case(f"resample/bit-{code}-{name}", f"{AWKWARD}/exif-1.jpg", config))
            config = dino(resample=code, size={"height": edge // 2, "width": edge})
            cases.append(Case(f"resample/dino-{code}-{name}", f"{AWKWARD}/exif-1.jpg", config))
    return cases


def arithmetic() -> list[Case]:
    """Rescaling and normalising, each alone, together and with other constants; padding."""
    small = crop(12, 16)
    other = {"image_mean": [0.1, 0.5, 0.9], "image_std": [0.5, 0.25, 2.0]}
    cases = {
        "fused": bit(**small), "rescale-only": bit(**small, do_normalize=False), "normalise-only": bit(**small, do_rescale=False),
        "neither": bit(**small, **LEVELS), "other-statistics": bit(**small, **other), "other-factor": bit(**small, rescale_factor=0.0078125),
        "factor-one": bit(**small, rescale_factor=1.0), "scalar-statistics": bit(**small, image_mean=0.5, image_std=0.25),
        "one-element-statistics": bit(**small, image_mean=[0.5], image_std=[0.25]),
        "two-element-statistics": bit(**small, image_mean=[0.5, 0.5], image_std=[0.25, 0.25]),
        "pad": bit(**small, do_pad=True, pad_size={"height": 15, "width": 21}),
        "pad-int": bit(**small, do_pad=True, pad_size=20), "pad-too-small": bit(**small, do_pad=True, pad_size={"height": 15, "width": 10}),
        "pad-without-size": bit(**small, do_pad=True), "pad-levels": bit(**small, **LEVELS, do_pad=True, pad_size=20),
        "pad-off": bit(**small, do_pad=False, pad_size=20),
        "dino-rescale-only": dino(do_normalize=False), "dino-normalise-only": dino(do_rescale=False), "dino-levels": dino(**LEVELS),
        "dino-other-statistics": dino(**other), "dino-no-resize": dino(do_resize=False), "dino-scalar-statistics": dino(image_mean=0.5, image_std=0.25),
        "dino-pad-is-ignored": dino(do_pad=True, pad_size=20), "dino-other-factor": dino(rescale_factor=0.0078125),
        "bit-no-resize": bit(do_resize=False, **small),
    }
    return [Case(f"arithmetic/{name}", RGB, config) for name, config in cases.items()]


def keys() -> list[Case]:
    """Missing, null and unknown keys; spellings of the type; colour keys without conversion."""
    small = crop(12, 16)
    nulls = ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb", "size", "crop_size", "resample",
             "rescale_factor", "image_mean", "image_std")
    inert = {"_valid_processor_keys": ["images"], "data_format": "channels_first", "device": None, "processor_class": None,
             "return_tensors": None, "nobody_knows": [1], "feature_extractor_type": "BitFeatureExtractor", "input_data_format": None}
    cases = [
        Case("keys/bit-defaults", TALL, {"image_processor_type": "BitImageProcessor"} | small, "CLIP statistics, shortest edge 224"),
        Case("keys/bit-defaults-fast", TALL, {"image_processor_type": "BitImageProcessorFast"} | small),
        Case("keys/bit-defaults-shape", TALL, {"image_processor_type": "BitImageProcessor"} | LEVELS, keep=False),
        Case("keys/dino-defaults", TALL, {"image_processor_type": "DINOv3ViTImageProcessor", "size": {"height": 12, "width": 16}}),
        Case("keys/dino-defaults-fast", TALL, {"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 12, "width": 16}}),
        Case("keys/dino-defaults-shape", TALL, {"image_processor_type": "DINOv3ViTImageProcessor"} | LEVELS, keep=False),
        Case("keys/unknown-are-inert", RGB, bit(**small) | inert),
        Case("keys/unknown-type", RGB, bit(**small, image_processor_type="NobodysImageProcessor")),
    ]
    for key in nulls:
        cases.append(Case(f"keys/bit-null-{key}", RGB, bit(**small) | {key: None}))
        if key in dino():
            cases.append(Case(f"keys/dino-null-{key}", RGB, dino() | {key: None}))
    for picture in ("rgb-trns.png", "palette-trns-one-index.png", "grey-trns.png"):
        name = f"{AWKWARD}/{picture}"
        cases.append(Case(f"keys/no-convert/{picture}", name, bit(**small, **LEVELS, do_convert_rgb=False)))
        cases.append(Case(f"keys/dino-convert/{picture}", name, dino(do_convert_rgb=True)))
    return cases


def all_cases() -> list[Case]:
    """Everything, in a fixed order."""
    groups = (pictures, photographs, bug_log, sizes, crops, resampling, arithmetic, keys)
    return [case for group in groups for case in group()]
