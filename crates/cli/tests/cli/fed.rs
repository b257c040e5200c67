//! `--pixel-values` with what may go beside the pixels: masks and labels, against goldens.
//!
//! A mask must change the numbers as it does in Transformers, in a batch or picture by picture; a loss is that of the whole
//! file, however it is batched. What does not fit is told with the tensor's name, what was expected and what was there.

use crate::{
    goldens::{assert_close, assert_features, golden, write_inputs},
    support::{Run, run, safetensors, tiny},
};
use ::safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::{fs, path::Path};

#[test]
fn masks_are_fed_to_the_model() {
    for fixture in ["dinov2-backbone", "dinov2-with-registers-backbone", "dinov3-vit-backbone"] {
        for name in ["masked-half", "masked-all", "masked-ragged"] {
            assert_features(fixture, name, "--attn eager");
        }
    }
    for fixture in ["dinov2-backbone", "dinov2-with-registers-backbone"] {
        assert_features(fixture, "attention-mask-partial", "--attentions");
        assert_features(fixture, "attention-mask-ragged", "--batch 1");
        assert_features(fixture, "attention-mask-empty", "--attentions");
        assert_features(fixture, "attention-mask-empty-sdpa", "");
        assert_features(fixture, "masked-attention-mask", "");
    }
}

#[test]
fn embed_takes_masks_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.safetensors");
    let golden = golden("dinov3-vit-backbone", "masked-half");
    write_inputs(&file, &golden);
    let got = run("embed -m fixtures/dinov3-vit-backbone --pixel-values", &[&file]).ok();
    let vectors: Vec<f32> = crate::support::lines(&got).into_iter().flat_map(|line| line.embedding).collect();
    let want = &safetensors(&golden).1["pooler_output"];
    let got = crate::support::Tensor { shape: want.shape.clone(), values: vectors };
    assert_close("pooler_output", &got, want);
}

/// Writes another file with the tensors of `file`, each row of a batch one tensor; labels as they are.
fn write_one_by_one(file: &Path, target: &Path) {
    let bytes = fs::read(file).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut views = Vec::new();
    for (name, view) in file.tensors() {
        let (count, shape) = view.shape().split_first().unwrap();
        let len = view.data().len() / count;
        if name == "labels" {
            views.push((name, TensorView::new(view.dtype(), view.shape().to_vec(), view.data()).unwrap()));
            continue;
        }
        for i in 0..*count {
            let data =
                &bytes[view.data().as_ptr() as usize - bytes.as_ptr() as usize..][i * len..(i + 1) * len];
            views.push((format!("{name}.{i}"), TensorView::new(view.dtype(), shape.to_vec(), data).unwrap()));
        }
    }
    fs::write(target, ::safetensors::serialize(views, None).unwrap()).unwrap();
}

#[test]
fn masks_and_labels_may_come_picture_by_picture() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, single, file] =
        ["whole", "single", "out"].map(|name| dir.path().join(name).with_extension("safetensors"));
    let golden = golden("dinov2-classifier", "labels-masked");
    write_inputs(&whole, &golden);
    write_one_by_one(&whole, &single);
    let words =
        "features -q -m fixtures/dinov2-classifier --logits --hidden-states=-1 --attentions --pixel-values";
    run(words, &[&single, Path::new("-o"), &file]).ok();
    let (got, want) = (safetensors(&file).1, safetensors(&golden).1);
    for name in ["logits", "loss", "hidden_states.2", "attentions.0"] {
        assert_close(name, &got[name], &want[name]);
    }
}

#[test]
fn labels_give_the_loss_of_the_whole_file() {
    for fixture in ["dinov2-classifier", "dinov2-with-registers-classifier"] {
        for name in ["labels-single", "labels-column", "labels-ignored", "labels-all-ignored", "labels-multi"]
        {
            for options in ["--logits", "--logits --batch 1"] {
                let (_, got) = assert_features(fixture, name, options);
                assert!(got["loss"].shape.is_empty(), "a scalar");
            }
        }
        assert_features(fixture, "labels-masked", "--logits --hidden-states --attentions");
    }
    for name in ["labels-one", "labels-column", "labels-whole"] {
        assert_features("dinov2-regression", name, "--logits --batch 1");
    }
}

#[test]
fn without_labels_there_are_logits_and_no_loss() {
    let (_, got) = assert_features("dinov2-classifier", "batch", "--logits");
    assert!(!got.contains_key("loss") && got.contains_key("last_hidden_state"));
}

#[test]
fn labels_that_are_not_used_are_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("in.safetensors"), dir.path().join("out.safetensors"));
    write_inputs(&file, &golden("dinov2-classifier", "labels-single"));
    let told = "warning: `labels`: no effect here, `features --logits` gives the loss against them\n";
    for words in ["embed", "classify", &format!("features -o {}", out.display())] {
        let got = run(&format!("{words} -m fixtures/dinov2-classifier --pixel-values"), &[&file]);
        assert_eq!(got.code, Some(0), "{}", got.stderr);
        assert!(got.stderr.starts_with(told), "{words}: {}", got.stderr);
    }
}

/// Feeds two pictures of 12x20 and another tensor to a classifier.
fn fed(name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("in.safetensors"), dir.path().join("out.safetensors"));
    let pixels = vec![0; 2 * 3 * 12 * 20 * 4];
    let views = [
        ("pixel_values", TensorView::new(Dtype::F32, vec![2, 3, 12, 20], &pixels).unwrap()),
        (name, TensorView::new(dtype, shape.to_vec(), bytes).unwrap()),
    ];
    fs::write(&file, ::safetensors::serialize(views, None).unwrap()).unwrap();
    let got = run(
        "features --logits -m fixtures/dinov2-classifier --pixel-values",
        &[&file, Path::new("-o"), &out],
    );
    assert!(!out.exists());
    Run { stderr: got.stderr_in(dir.path()), ..got }
}

#[test]
fn what_does_not_fit_is_named_with_what_was_expected() {
    let classes = |labels: [i64; 2]| labels.map(i64::to_le_bytes).concat();
    for (name, dtype, shape, bytes, told) in [
        (
            "bool_masked_pos",
            Dtype::BOOL,
            &[2, 14][..],
            vec![1; 28],
            "DIR/in.safetensors#0: bool_masked_pos has shape [2, 14], expected [2, 15]",
        ),
        (
            "attention_mask",
            Dtype::U8,
            &[2, 15],
            vec![1; 30],
            "DIR/in.safetensors#0: attention_mask has shape [2, 15], expected [2, 16]",
        ),
        (
            "bool_masked_pos",
            Dtype::U8,
            &[2, 15],
            vec![3; 30],
            "DIR/in.safetensors: tensor `bool_masked_pos` is 3 at place 0 of a picture, expected 0 or 1",
        ),
        (
            "labels",
            Dtype::I64,
            &[2],
            classes([3, 12]),
            "label 12 of item 1 is out of range: the classifier has 12 classes, and −100 is ignored",
        ),
        (
            "labels",
            Dtype::F32,
            &[2, 2],
            vec![0; 16],
            "labels of shape [2, 2] (floats) do not fit logits of shape [2, 12] for multi_label_classification",
        ),
        (
            "labels",
            Dtype::I64,
            &[1, 2],
            classes([0, 0]),
            "DIR/in.safetensors: tensor `labels` is of shape [1, 2], expected [2], [2, 1] or [2, number of labels]",
        ),
    ] {
        let got = fed(name, dtype, shape, &bytes);
        assert_eq!((got.code, got.stderr), (Some(1), format!("error: {told}\n")));
    }
}

#[test]
fn an_input_that_a_family_does_not_take_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.safetensors");
    write_inputs(&file, &golden("dinov2-backbone", "attention-mask-partial"));
    let got = run("embed -m fixtures/dinov3-vit --pixel-values", &[&file]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("dinov3_vit takes no attention_mask here"), "{}", got.stderr);
    write_inputs(&file, &golden("dinov2-backbone", "masked-half"));
    let got = tiny("embed --pixel-values", &[&file]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("in.safetensors#0: "), "{}", got.stderr);
}
