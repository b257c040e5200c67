"""Models: opening, running, saving, threads, processes, interrupts."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest
from conftest import FIXTURES, assert_close, hash32
from dinoxide import (
    AutoBackbone,
    AutoModel,
    AutoModelForImageClassification,
    Dinov2Config,
    Dinov2ForImageClassification,
    Dinov2Model,
    DINOv3ViTBackbone,
    DINOv3ViTModel,
    Int4WeightOnlyConfig,
    TorchAoConfig,
)

PIXELS = hash32("hash32:7:2,3,12,20")
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 4,
}


def test_auto_classes_give_the_class_of_the_checkpoint() -> None:
    for name, expected in [
        ("dinov2", "Dinov2Model"),
        ("dinov2-with-registers", "Dinov2WithRegistersModel"),
        ("dinov3-vit", "DINOv3ViTModel"),
        ("dinov3-convnext", "DINOv3ConvNextModel"),
    ]:
        model = AutoModel.from_pretrained(FIXTURES / name, device_map="auto")
        assert type(model).__name__ == expected
        assert type(AutoBackbone.from_pretrained(str(FIXTURES / name))).__name__ == expected.replace(
            "Model", "Backbone"
        )
    assert type(AutoModelForImageClassification.from_pretrained(FIXTURES / "dinov2-classifier")).__name__ == (
        "Dinov2ForImageClassification"
    )
    with pytest.raises(ValueError, match="no class for a dinov3_vit"):
        AutoModelForImageClassification.from_pretrained(FIXTURES / "dinov3-vit")
    assert type(AutoModel.from_config(Dinov2Config(**SMALL))).__name__ == "Dinov2Model"
    with pytest.raises(ValueError, match="got a dict"):
        AutoModel.from_config({"model_type": "dinov2"})
    with pytest.raises(OSError):
        AutoModel()


def test_attention_is_as_the_argument_says_or_else_as_the_config_says() -> None:
    eager = Dinov2Config(**SMALL, attn_implementation="eager")
    assert AutoModel.from_config(eager).attn_implementation == "eager"
    assert AutoModel.from_config(eager, attn_implementation="sdpa").attn_implementation == "sdpa"
    assert AutoModel.from_config(Dinov2Config(**SMALL)).attn_implementation == "sdpa"
    opened = Dinov2Model.from_pretrained(FIXTURES / "dinov2", config=config_of("dinov2", "eager"))
    assert opened.attn_implementation == "eager"
    with pytest.raises(ValueError, match="attn_implementation"):
        AutoModel.from_config(eager, attn_implementation="flash_attention_2")


def config_of(name: str, attn_implementation: str) -> Any:
    """The config of a fixture, with a form of attention."""
    return Dinov2Config.from_pretrained(FIXTURES / name, attn_implementation=attn_implementation)


def test_errors_are_of_the_right_kinds_and_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="config.json"):
        AutoModel.from_pretrained(tmp_path)
    with pytest.raises(OSError, match="nowhere"):
        AutoModel.from_pretrained("nowhere/at-all", local_files_only=True)
    with pytest.raises(ValueError, match="expected dinov2"):
        Dinov2Model.from_pretrained(FIXTURES / "dinov3-vit")
    with pytest.raises(TypeError, match="num_labelz"):
        Dinov2Model.from_pretrained(FIXTURES / "dinov2", num_labelz=3)
    with pytest.raises(ValueError, match="attn_implementation"):
        Dinov2Model.from_pretrained(FIXTURES / "dinov2", attn_implementation="flash_attention_2")
    with pytest.raises(ValueError, match="dtype"):
        Dinov2Model.from_pretrained(FIXTURES / "dinov2", dtype="float8")
    for bits in ({"dtype": "int8"}, {"load_in_8bit": True}):
        with pytest.raises(ValueError, match="hint: .*Int8DynamicActivationInt8WeightConfig"):
            Dinov2Model.from_pretrained(FIXTURES / "dinov2", **bits)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(OSError, match="JSON"):
        AutoModel.from_pretrained(tmp_path)
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2")
    with pytest.raises(ValueError, match="pixel_values"):
        model()
    with pytest.raises(ValueError, match="expected"):
        model(np.zeros((3, 28, 28), np.float32))
    with pytest.raises(ValueError, match="channels"):
        model(np.zeros((1, 4, 28, 28), np.float32))
    with pytest.raises(TypeError):
        model(PIXELS, labels=[1])
    with pytest.raises(ValueError, match="attention_mask"):
        model(PIXELS, attention_mask=np.ones((2, 3), bool))


def test_any_dtype_and_memory_order_of_pixels_gives_the_same_numbers(torch: Any) -> None:
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2")
    expected = model(PIXELS)[0]
    for pixels in [
        PIXELS.astype(np.float64),
        np.asfortranarray(PIXELS),
        PIXELS[::-1][::-1],
        np.ascontiguousarray(PIXELS.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
        PIXELS.tolist(),
        torch.from_numpy(PIXELS).double(),
    ]:
        assert np.array_equal(np.asarray(model(pixels)[0]), expected)


def test_a_dtype_or_quantization_is_what_the_linear_layers_are_held_in() -> None:
    folder = FIXTURES / "dinov2"
    f32 = Dinov2Model.from_pretrained(folder)(PIXELS).pooler_output
    for kwargs, precision in [
        ({"dtype": "bfloat16"}, "bf16"),
        ({"torch_dtype": np.float16}, "f16"),
        ({"quantization_config": TorchAoConfig(quant_type=Int4WeightOnlyConfig(group_size=32))}, "int4"),
        ({"quantization_config": dinoxide.Int8DynamicActivationInt8WeightConfig()}, "int8"),
    ]:
        model = Dinov2Model.from_pretrained(folder, **kwargs)
        assert {held for _, held, _ in model.linears()} == {precision}
        given = model(PIXELS).pooler_output
        cosine = (given * f32).sum(-1) / np.linalg.norm(given, axis=-1) / np.linalg.norm(f32, axis=-1)
        assert not np.array_equal(given, f32) and (cosine > 0.9).all(), (precision, cosine)


def test_what_loading_found_is_what_transformers_found(transformers: Any) -> None:
    for folder, settings in [
        ("dinov2", {"num_labels": 5}),
        ("dinov2-classifier", {}),
        ("dinov2-classifier", {"num_labels": 3, "ignore_mismatched_sizes": True}),
    ]:
        names = (FIXTURES / folder, "Dinov2ForImageClassification")
        theirs, ours = (
            getattr(library, names[1]).from_pretrained(names[0], output_loading_info=True, **settings)[1]
            for library in (transformers, dinoxide)
        )
        theirs["mismatched_keys"] = {(name, tuple(a), tuple(b)) for name, a, b in theirs["mismatched_keys"]}
        assert ours == theirs, (folder, settings)


def test_a_missing_classifier_is_made_anew_and_told(caplog: pytest.LogCaptureFixture) -> None:
    model, info = Dinov2ForImageClassification.from_pretrained(
        FIXTURES / "dinov2", num_labels=5, output_loading_info=True
    )
    assert model(PIXELS).logits.shape == (2, 5)
    assert sorted(info["missing_keys"])[:2] == ["classifier.bias", "classifier.weight"]
    assert "classifier.weight" in caplog.text
    caplog.clear()
    Dinov2ForImageClassification.from_pretrained(FIXTURES / "dinov2-classifier")
    assert not caplog.text


def test_saved_models_open_again_with_the_same_bits_here_and_in_transformers(
    tmp_path: Path, transformers: Any, torch: Any
) -> None:
    model = AutoModelForImageClassification.from_pretrained(FIXTURES / "dinov2-classifier")
    model.config.id2label = {place: f"name {place}" for place in range(12)}
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    again = AutoModelForImageClassification.from_pretrained(tmp_path)
    assert np.array_equal(again(PIXELS).logits, model(PIXELS).logits)
    assert again.config.id2label[3] == "name 3"
    theirs = transformers.AutoModelForImageClassification.from_pretrained(tmp_path)
    assert theirs.config.id2label[3] == "name 3"
    assert_close(model(PIXELS).logits, theirs(torch.from_numpy(PIXELS)).logits.detach())


def test_a_model_in_codes_is_saved_in_codes_and_opens_with_the_same_bits(tmp_path: Path) -> None:
    for quantization in (
        Int4WeightOnlyConfig(group_size=32),
        dinoxide.Int8DynamicActivationInt8WeightConfig(),
    ):
        folder = tmp_path / type(quantization).__name__
        model = AutoModel.from_pretrained(FIXTURES / "dinov3-vit", quantization_config=quantization)
        model.config.id2label = {0: "one", 1: "other"}
        model.save_pretrained(folder)
        again = AutoModel.from_pretrained(folder)
        assert again.linears() == model.linears()
        assert np.array_equal(again(PIXELS)[0], model(PIXELS)[0])
        assert again.config.quantization_config is not None and again.config.id2label[1] == "other"
        again.save_pretrained(tmp_path / "again")
        assert np.array_equal(AutoModel.from_pretrained(tmp_path / "again")(PIXELS)[0], model(PIXELS)[0])


def test_a_model_of_a_config_is_random_and_a_seed_decides_it(tmp_path: Path) -> None:
    config = Dinov2Config(**SMALL)
    one, other = Dinov2Model(config, seed=1), Dinov2Model(config, seed=2)
    assert not np.array_equal(one(PIXELS)[0], other(PIXELS)[0])
    assert np.array_equal(one(PIXELS)[0], Dinov2Model(config, seed=1)(PIXELS)[0])
    dinoxide.set_seed(3)
    first = Dinov2Model(config)(PIXELS)[0]
    dinoxide.set_seed(3)
    assert np.array_equal(first, Dinov2Model(config)(PIXELS)[0])
    assert one.config is config
    with pytest.raises(TypeError, match="Dinov2Config"):
        DINOv3ViTModel(config)


def test_parameters_are_counted_as_transformers_counts_them(transformers: Any) -> None:
    for name in ("dinov2", "dinov2-swiglu", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext"):
        theirs = transformers.AutoModel.from_pretrained(FIXTURES / name)
        assert AutoModel.from_pretrained(FIXTURES / name).num_parameters() == theirs.num_parameters(), name


def test_train_mode_draws_and_eval_mode_does_not() -> None:
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2", hidden_dropout_prob=0.5)
    quiet = model(PIXELS)[0]
    assert model.train() is model and model.training
    dinoxide.set_seed(1)
    first, second = model(PIXELS)[0], model(PIXELS)[0]
    assert not np.array_equal(first, second) and not np.array_equal(first, quiet)
    dinoxide.set_seed(1)
    assert np.array_equal(model(PIXELS)[0], first)
    assert np.array_equal(model.eval()(PIXELS)[0], quiet)


def test_a_backbone_has_the_stages_that_are_chosen() -> None:
    backbone = DINOv3ViTBackbone.from_pretrained(FIXTURES / "dinov3-vit", out_features=["stage1", "stage2"])
    assert backbone.out_features == ["stage1", "stage2"] and backbone.out_indices == [1, 2]
    maps = backbone(PIXELS).feature_maps
    assert len(maps) == 2 and [one.shape[1] for one in maps] == backbone.channels
    backbone.out_indices = [0]
    assert backbone.out_features == ["stem"] and len(backbone(PIXELS).feature_maps) == 1
    with pytest.raises(ValueError, match="stage9"):
        backbone.out_features = ["stage9"]


def test_models_report_where_and_how_they_run() -> None:
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2", num_threads=2, isa="portable")
    assert (model.num_threads, model.isa) == (2, "portable")
    model.num_threads = 1
    assert model.num_threads == 1
    assert str(model.device) == "cpu" and model.to(model.device) is model
    with pytest.warns(UserWarning, match="runs on the CPU"):
        assert model.to("cuda:0") is model
    with pytest.warns(UserWarning, match="runs on the CPU"):
        assert model.cuda() is model
    for change in (lambda: model.to("bfloat16"), model.bfloat16):
        with pytest.raises(ValueError, match="bfloat16"):
            change()
    with pytest.raises(ValueError, match="float16"):
        model.half()
    half = Dinov2Model.from_pretrained(FIXTURES / "dinov2", dtype="float16")
    assert half.half() is half
    assert model.get_memory_footprint() > 0 and "Dinov2Model" in repr(model)


def test_models_pickle_by_their_source_and_random_ones_say_why_not() -> None:
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2", num_threads=1)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again(PIXELS)[0], model(PIXELS)[0]) and again.num_threads == 1
    with pytest.raises(TypeError, match="random weights"):
        pickle.dumps(Dinov2Model(Dinov2Config(**SMALL)))


def test_several_threads_share_a_model() -> None:
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2", num_threads=2)
    expected = model(PIXELS)[0]
    wrong: list[str] = []

    def work() -> None:
        for _ in range(50):
            if not np.array_equal(model(PIXELS)[0], expected):
                wrong.append("other numbers")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_child(model: Any, queue: Any) -> None:
    queue.put(np.asarray(model(PIXELS)[0]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_get_the_same_numbers(method: str) -> None:
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2", num_threads=3)
    expected = np.asarray(model(PIXELS)[0])
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    children = [context.Process(target=_in_child, args=(model, queue)) for _ in range(2)]
    for child in children:
        child.start()
    for _ in children:
        assert np.array_equal(queue.get(timeout=60), expected)
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    assert np.array_equal(model(PIXELS)[0], expected)


_DROPPED_IN_A_CHILD = """
import gc, os, sys, numpy as np, dinoxide
model = dinoxide.AutoModel.from_pretrained("builtin:tiny", num_threads=3)
model(np.zeros((1, 3, 28, 28), np.float32))
child = os.fork()
if child == 0:
    del model
    gc.collect()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_model_that_a_child_never_used_can_be_dropped_there() -> None:
    code = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _DROPPED_IN_A_CHILD]
    assert subprocess.run(code, capture_output=True, text=True, check=True, timeout=60).stdout == "7\n"


_LONG = """
import sys, numpy as np, dinoxide
config = dinoxide.Dinov2Config(hidden_size=256, num_hidden_layers=8, num_attention_heads=4)
model = dinoxide.Dinov2Model(config, seed=0)
print("ready", flush=True)
try:
    while True:
        model(np.zeros((512, 3, 224, 224), np.float32))
except KeyboardInterrupt:
    model(np.zeros((1, 3, 28, 28), np.float32))
    print("stopped", flush=True)
"""


def test_ctrl_c_stops_a_long_batch_and_the_model_works_afterwards() -> None:
    with subprocess.Popen([sys.executable, "-c", _LONG], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        time.sleep(0.5)  # into the batch, which takes far longer than a test may
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
    assert out == "stopped\n" and child.returncode == 0


def test_ten_thousand_calls_do_not_grow() -> None:
    resource = pytest.importorskip("resource")
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("counts resident pages by /proc")
    model = Dinov2Model.from_pretrained(FIXTURES / "dinov2", num_threads=1)

    def resident() -> int:
        return int(statm.read_text().split()[1]) * resource.getpagesize()

    for _ in range(500):
        model(PIXELS, output_hidden_states=True)
    before = resident()
    for _ in range(10_000):
        model(PIXELS, output_hidden_states=True)
    assert resident() - before < 4 << 20


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, dinoxide; print([name for name in ('numpy', 'PIL', 'torch') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_every_public_name_is_there_and_helps() -> None:
    for name in dinoxide.__all__:
        value = getattr(dinoxide, name)
        assert name == "__version__" or value.__doc__, name
    with pytest.raises(AttributeError, match="Dinov4"):
        dinoxide.Dinov4Model  # noqa: B018
