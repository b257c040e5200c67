"""Image processors: pictures to `pixel_values` [B, 3, H, W], as Transformers' processors of its torchvision
backend make them.

`BitImageProcessor` serves DINOv2: resize bytes, crop, then rescale and normalise in one step.
`DINOv3ViTImageProcessor` serves DINOv3: rescale, resize floats, then normalise. Attributes are the settings;
keyword arguments of a call take their place for that call.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from .features import BatchFeature
from .hub import hub_options, refuse_upload
from .processing import process, settings_json
from .processor_files import FILE_NAME, class_name, read_file, read_object
from .sizes import SizeDict, size_dict

if TYPE_CHECKING:
    from typing_extensions import Unpack

Processor = TypeVar("Processor", bound="BaseImageProcessor")

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
OPENAI_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
BILINEAR = 2
BICUBIC = 3


class ImagesKwargs(TypedDict, total=False):
    """The settings of a processor, which a call takes too.

    | setting | what |
    |---|---|
    | `do_convert_rgb` | make PIL images RGB (transparency on white), and arrays of one or four channels too |
    | `do_resize`, `size`, `resample` | resize; 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic, or a name |
    | `default_to_square` | whether a number as `size` is a square or the shortest edge |
    | `do_center_crop`, `crop_size` | crop around the centre |
    | `do_rescale`, `rescale_factor` | multiply by the factor |
    | `do_normalize`, `image_mean`, `image_std` | subtract the mean, divide by the standard deviation |
    | `do_pad`, `pad_size` | zeros below and right, to the size or the largest picture (`BitImageProcessor`) |
    | `input_data_format` | `"channels_first"` or `"channels_last"` of arrays; inferred when `None` |
    | `return_tensors` | `"np"`, `"pt"`, or `None` for a list of arrays [3, H, W] |
    | `data_format`, `device`, `disable_grouping`, `image_seq_length` | no effect: [3, H, W], on the CPU |
    """

    do_convert_rgb: bool | None
    do_resize: bool | None
    size: Any
    default_to_square: bool | None
    crop_size: Any
    resample: Any
    do_rescale: bool | None
    rescale_factor: float | None
    do_normalize: bool | None
    image_mean: Any
    image_std: Any
    do_pad: bool | None
    pad_size: Any
    do_center_crop: bool | None
    data_format: Any
    input_data_format: Any
    device: Any
    return_tensors: Any
    disable_grouping: bool | None
    image_seq_length: int | None


SETTINGS = tuple(ImagesKwargs.__annotations__)
# Keys of files that say nothing about pictures.
_DROPPED = ("feature_extractor_type", "processor_class", "image_processor_type")


class BaseImageProcessor:
    """What both processors share; make one of the classes below, or let `AutoImageProcessor` choose.

    Settings are attributes. What was given that is no setting becomes an attribute too, and is saved, as in
    Transformers.
    """

    model_input_names: ClassVar[list[str]] = ["pixel_values"]
    default_to_square: bool | None = True
    do_convert_rgb: bool | None = None
    do_resize: bool | None = None
    size: Any = None
    crop_size: Any = None
    resample: Any = None
    do_rescale: bool | None = None
    rescale_factor: float | None = 1 / 255
    do_normalize: bool | None = None
    image_mean: Any = None
    image_std: Any = None
    do_pad: bool | None = None
    pad_size: Any = None
    do_center_crop: bool | None = None
    data_format: Any = None
    input_data_format: Any = None
    device: Any = None
    return_tensors: Any = None
    disable_grouping: bool | None = None
    image_seq_length: int | None = None

    def __init__(self, **settings: Any) -> None:
        if type(self) is BaseImageProcessor:
            raise TypeError(
                "BaseImageProcessor is no processor: make a BitImageProcessor or a DINOv3ViTImageProcessor"
            )
        ours = CLASSES[class_name(type(self))]
        for key, value in settings.items():
            changed = getattr(type(self), key, None)
            if changed is not getattr(ours, key, None) and value == getattr(ours, key, None):
                value = copy.copy(changed)  # a class that derives from ours has a default of its own
            if key not in _DROPPED:
                setattr(self, key, value)
        for key in SETTINGS:
            if key not in settings and key != "default_to_square":
                setattr(self, key, copy.copy(getattr(type(self), key)))
        self.__dict__.update(self.standardized(self.__dict__))

    @property
    def image_processor_type(self) -> str:
        """The name of the class in files."""
        return class_name(type(self))

    def standardized(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The sizes and statistics among some settings in their one form: `SizeDict`s and tuples."""
        square = settings.get("default_to_square", self.default_to_square)
        out: dict[str, Any] = {}
        for key in ("size", "crop_size", "pad_size"):
            if settings.get(key) is not None:
                out[key] = size_dict(settings[key], key, square if key == "size" else True)
        for key in ("image_mean", "image_std"):
            value = settings.get(key)
            if value is not None and not isinstance(value, (int, float)):
                out[key] = tuple(value)
        return out

    def __call__(self, images: Any, **overrides: Unpack[ImagesKwargs]) -> BatchFeature:
        """Makes `pixel_values` of one or more pictures; see `preprocess`."""
        return self.preprocess(images, **overrides)

    def preprocess(self, images: Any, **overrides: Unpack[ImagesKwargs]) -> BatchFeature:
        """Makes `pixel_values` of one or more pictures.

        `images` is a PIL image, an array or tensor ([H, W], [C, H, W], [H, W, C], or a batch of those in 4
        dimensions), a path, the bytes of a file or an open file, or a list of those. Arrays hold 0..255 where
        the processor rescales; floats in 0..1 are refused then (give `do_rescale=False`). A URL is opened
        with `dinoxide.load_image`.

        `overrides` are settings (`ImagesKwargs`) that hold for this call; `None` turns a step off.

        Gives a `BatchFeature` with `pixel_values`: float32 [B, 3, H, W], or a list of arrays [3, H, W] where
        `return_tensors` is `None`.

        Raises `TypeError` for an argument of a wrong kind, `FileNotFoundError` or another `OSError` for a
        file that cannot be read, and `ValueError` for anything else, all with the place of the picture in the
        list.
        """
        settings: dict[str, Any] = {key: getattr(self, key) for key in SETTINGS}
        for key, value in overrides.items():
            check_override(key, value)
            settings[key] = value
        settings.update(self.standardized(settings))
        return process(images, class_name(type(self)), settings)

    @classmethod
    def from_pretrained(
        cls: type[Processor],
        pretrained_model_name_or_path: str | os.PathLike[str],
        cache_dir: str | os.PathLike[str] | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: str | bool | None = None,
        revision: str = "main",
        **kwargs: Any,
    ) -> Any:
        """The processor of a checkpoint: a folder, a hub id, a processor's JSON file, or `"builtin:tiny"`.

        Further keyword arguments are `subfolder` and settings that take the place of the file's.
        `return_unused_kwargs=True` gives a tuple of the processor and the keyword arguments that are neither.

        Raises `FileNotFoundError` or another `OSError` where there is none or it cannot be read, `ValueError`
        for settings that cannot be, and for the file of another class.
        """
        kwargs |= dict(cache_dir=cache_dir, force_download=force_download, revision=revision)
        kwargs |= dict(local_files_only=local_files_only, token=token)
        settings = read_object(pretrained_model_name_or_path, hub_options(kwargs))
        found = settings.get("image_processor_type", class_name(cls))
        if found != class_name(cls):
            raise ValueError(
                f"{os.fspath(pretrained_model_name_or_path)} holds a {found}, not a {class_name(cls)}"
            )
        return cls.from_dict(settings, **kwargs)

    @classmethod
    def from_dict(cls: type[Processor], image_processor_dict: Mapping[str, Any], **kwargs: Any) -> Any:
        """The processor of settings as `to_dict` gives them; of the keyword arguments, those that are
        settings take their place.

        With `return_unused_kwargs=True` a tuple of the processor and the other keyword arguments.
        """
        return_unused = kwargs.pop("return_unused_kwargs", False)
        given = {key: kwargs.pop(key) for key in SETTINGS if key in kwargs}
        processor = cls(**{**image_processor_dict, **given})
        return (processor, kwargs) if return_unused else processor

    @classmethod
    def from_json_file(cls: type[Processor], json_file: str | os.PathLike[str]) -> Processor:
        """The processor of a JSON file."""
        return cls(**read_file(json_file))

    def to_dict(self) -> dict[str, Any]:
        """The settings, and `image_processor_type`;
        those that are `None` only where the class sets something."""
        settings = {
            key: dict(value) if isinstance(value, SizeDict) else copy.deepcopy(value)
            for key, value in self.__dict__.items()
            if value is not None or getattr(type(self), key, None) is not None
        }
        settings.pop("_valid_processor_keys", None)
        settings["image_processor_type"] = class_name(type(self))
        return settings

    def to_json_string(self) -> str:
        """The text of `preprocessor_config.json`."""
        return settings_json(self.to_dict(), indent=2) + "\n"

    def to_json_file(self, json_file_path: str | os.PathLike[str]) -> None:
        """Writes `to_json_string` to a file."""
        with open(json_file_path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.to_json_string())

    def save_pretrained(self, save_directory: str | os.PathLike[str], **kwargs: Any) -> list[str]:
        """Writes `preprocessor_config.json` to a folder, which is made where there is none; gives the paths
        written.

        Raises `ValueError` for `push_to_hub=True`, which is not done here.
        """
        refuse_upload(kwargs)
        os.makedirs(save_directory, exist_ok=True)
        path = os.path.join(save_directory, FILE_NAME)
        self.to_json_file(path)
        return [path]

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.to_json_string()}"


_FLAGS = tuple(key for key in SETTINGS if key.startswith("do_")) + ("disable_grouping", "default_to_square")


def check_override(key: str, value: Any) -> None:
    """Refuses a keyword argument of a call that is no setting, or a flag that is none, with a `TypeError`."""
    if key not in SETTINGS:
        raise TypeError(
            f"preprocess() got an unexpected keyword argument {key!r}; it takes images, {', '.join(SETTINGS)}"
        )
    if key in _FLAGS and value is not None and not isinstance(value, bool):
        raise TypeError(f"{key} must be True, False or None, got {value!r}")


class BitImageProcessor(BaseImageProcessor):
    """The image processor of DINOv2: resize bytes, crop, then rescale and normalise in one step.

    The defaults are those of Transformers' class (the statistics of CLIP); a checkpoint's file has its own.
    Keyword arguments: see `ImagesKwargs`.
    """

    default_to_square = False
    do_convert_rgb = True
    do_resize = True
    size: Any = SizeDict(shortest_edge=224)
    resample: Any = BICUBIC
    do_center_crop = True
    crop_size: Any = SizeDict(height=224, width=224)
    do_rescale = True
    do_normalize = True
    image_mean: Any = OPENAI_CLIP_MEAN
    image_std: Any = OPENAI_CLIP_STD

    def __init__(
        self,
        *,
        do_convert_rgb: bool | None = True,
        do_resize: bool | None = True,
        size: Any = SizeDict(shortest_edge=224),
        resample: Any = BICUBIC,
        do_center_crop: bool | None = True,
        crop_size: Any = SizeDict(height=224, width=224),
        do_rescale: bool | None = True,
        rescale_factor: float | None = 1 / 255,
        do_normalize: bool | None = True,
        image_mean: Any = OPENAI_CLIP_MEAN,
        image_std: Any = OPENAI_CLIP_STD,
        do_pad: bool | None = None,
        pad_size: Any = None,
        **kwargs: Any,
    ) -> None:
        settings = {key: value for key, value in locals().items() if key in SETTINGS}
        super().__init__(**settings, **kwargs)


class DINOv3ViTImageProcessor(BaseImageProcessor):
    """The image processor of DINOv3, ViT and ConvNeXt: rescale, resize floats to the exact size, then
    normalise.

    Pictures are not made RGB unless `do_convert_rgb` is set; a grey one meets the three means and so gets
    three channels, one with alpha is refused. Keyword arguments: see `ImagesKwargs`.
    """

    do_resize = True
    size: Any = SizeDict(height=224, width=224)
    resample: Any = BILINEAR
    do_rescale = True
    do_normalize = True
    image_mean: Any = IMAGENET_MEAN
    image_std: Any = IMAGENET_STD

    def __init__(
        self,
        *,
        do_convert_rgb: bool | None = None,
        do_resize: bool | None = True,
        size: Any = SizeDict(height=224, width=224),
        resample: Any = BILINEAR,
        do_center_crop: bool | None = None,
        crop_size: Any = None,
        do_rescale: bool | None = True,
        rescale_factor: float | None = 1 / 255,
        do_normalize: bool | None = True,
        image_mean: Any = IMAGENET_MEAN,
        image_std: Any = IMAGENET_STD,
        **kwargs: Any,
    ) -> None:
        settings = {key: value for key, value in locals().items() if key in SETTINGS}
        super().__init__(**settings, **kwargs)


CLASSES: dict[str, type[BaseImageProcessor]] = {
    "BitImageProcessor": BitImageProcessor,
    "DINOv3ViTImageProcessor": DINOv3ViTImageProcessor,
}


class AutoImageProcessor:
    """Opens the image processor of a checkpoint as the class that its file names."""

    def __init__(self) -> None:
        raise OSError(
            "AutoImageProcessor is made by AutoImageProcessor.from_pretrained(pretrained_model_name_or_path)"
        )

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any) -> Any:
        """The processor of a checkpoint: a folder, a hub id, a processor's JSON file, or `"builtin:tiny"`.

        A file without a type is that of the model's family: DINOv2 and DINOv3 ViT have one. Keyword arguments
        and errors are those of `BaseImageProcessor.from_pretrained`; `backend`, `use_fast` and
        `trust_remote_code` are accepted, without effect.
        """
        for key in ("backend", "use_fast", "config"):
            kwargs.pop(key, None)
        settings = read_object(pretrained_model_name_or_path, hub_options(kwargs))
        found = settings.get("image_processor_type")
        if found not in CLASSES:
            known = ", ".join(CLASSES)
            raise ValueError(
                f"{os.fspath(pretrained_model_name_or_path)}: no image processor {found!r}, known are {known}"
            )
        return CLASSES[found].from_dict(settings, **kwargs)
