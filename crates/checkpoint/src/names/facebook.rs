//! Names in the original files of DINOv2 and DINOv3 (facebookresearch's repositories).
//!
//! Query, key and value are fused in this order. Training code may put `teacher.backbone.` and the like before the names, and
//! chunks of blocks between: `blocks.{chunk}.{i}`, where i is the layer's index in the whole model. DINOv3 ignores the key's
//! third of the fused bias (a mask of zeros, `bias_mask`), whatever the file holds there.
//! Source: the conversion scripts `models/*/convert_*_to_hf.py` of Transformers 5.24.0.

use super::{Place, Role, indexed, number, unwrapped};
use crate::config::Family;

/// Names that stand at the start in these files and in none of Transformers'.
const SIGNS: [&str; 3] = ["blocks.", "patch_embed.", "downsample_layers."];

/// Whether a name shows that its file is an original one (or one of timm's, which share many names).
pub(super) fn is_sign(file_name: &str) -> bool {
    let name = unwrapped(file_name);
    SIGNS.iter().any(|sign| name.starts_with(sign))
}

/// Where the tensor belongs that is called `name` when unwrapped; `None` for a name that is not known.
pub(super) fn places(family: Family, swiglu: bool, name: &str) -> Option<Vec<Place>> {
    match family {
        Family::Dinov2 | Family::Dinov2WithRegisters => dinov2(swiglu, name),
        Family::DINOv3Vit => dinov3_vit(name),
        Family::DINOv3ConvNext => convnext(name),
    }
}

/// `None` for a name that is not known.
pub(super) fn dinov2(swiglu: bool, name: &str) -> Option<Vec<Place>> {
    if let Some((layer, rest)) = block(name) {
        return dinov2_block(swiglu, rest, &format!("encoder.layer.{layer}"));
    }
    Some(Place::whole(match name {
        "cls_token" => "embeddings.cls_token".to_owned(),
        "pos_embed" => "embeddings.position_embeddings".to_owned(),
        "mask_token" => "embeddings.mask_token".to_owned(),
        "register_tokens" => "embeddings.register_tokens".to_owned(),
        "norm.weight" | "norm.bias" => name.replacen("norm", "layernorm", 1),
        _ => {
            let leaf = name.strip_prefix("patch_embed.proj.")?;
            format!("embeddings.patch_embeddings.projection.{leaf}")
        }
    }))
}

fn dinov2_block(swiglu: bool, rest: &str, layer: &str) -> Option<Vec<Place>> {
    let (module, leaf) = rest.rsplit_once('.')?;
    if module == "attn.qkv" {
        let names = ["query", "key", "value"];
        return Some(fused(names.map(|name| format!("{layer}.attention.attention.{name}.{leaf}"))));
    }
    let module = match (module, swiglu) {
        ("norm1" | "norm2", _) => module,
        ("attn.proj", _) => "attention.output.dense",
        ("mlp.w12", _) | ("mlp.fc1", true) => "mlp.weights_in",
        ("mlp.w3", _) | ("mlp.fc2", true) => "mlp.weights_out",
        ("mlp.fc1" | "mlp.fc2", false) => module,
        ("ls1", _) => return Some(Place::whole(format!("{layer}.layer_scale1.lambda1"))),
        ("ls2", _) => return Some(Place::whole(format!("{layer}.layer_scale2.lambda1"))),
        _ => return None,
    };
    Some(Place::whole(format!("{layer}.{module}.{leaf}")))
}

fn dinov3_vit(name: &str) -> Option<Vec<Place>> {
    if let Some((layer, rest)) = block(name) {
        return dinov3_block(rest, &format!("layer.{layer}"));
    }
    Some(match name {
        "cls_token" => Place::whole("embeddings.cls_token"),
        // Two axes there, three here.
        "mask_token" => vec![Place::new("embeddings.mask_token", Role::Reshaped)],
        "storage_tokens" => Place::whole("embeddings.register_tokens"),
        "norm.weight" | "norm.bias" => Place::whole(name),
        // The frequencies follow from the config; the other norm serves the local crops of training.
        "rope_embed.periods" | "local_cls_norm.weight" | "local_cls_norm.bias" => Vec::new(),
        _ => Place::whole(format!("embeddings.patch_embeddings.{}", name.strip_prefix("patch_embed.proj.")?)),
    })
}

fn dinov3_block(rest: &str, layer: &str) -> Option<Vec<Place>> {
    let (module, leaf) = rest.rsplit_once('.')?;
    let module = match (module, leaf) {
        ("attn.qkv", "bias_mask") => return Some(Vec::new()),
        ("attn.qkv", "weight" | "bias") => return Some(dinov3_qkv(layer, leaf)),
        ("norm1" | "norm2", _) => module,
        ("attn.proj", _) => "attention.o_proj",
        ("mlp.w1", _) => "mlp.gate_proj",
        ("mlp.fc1" | "mlp.w2", _) => "mlp.up_proj",
        ("mlp.fc2" | "mlp.w3", _) => "mlp.down_proj",
        ("ls1", "gamma") => return Some(Place::whole(format!("{layer}.layer_scale1.lambda1"))),
        ("ls2", "gamma") => return Some(Place::whole(format!("{layer}.layer_scale2.lambda1"))),
        _ => return None,
    };
    Some(Place::whole(format!("{layer}.{module}.{leaf}")))
}

/// The three projections out of the fused tensor; of the bias two.
pub(super) fn dinov3_qkv(layer: &str, leaf: &str) -> Vec<Place> {
    let mut places =
        fused(["q_proj", "k_proj", "v_proj"].map(|name| format!("{layer}.attention.{name}.{leaf}")));
    if leaf == "bias" {
        places.remove(1);
    }
    places
}

/// Equal groups of rows, in this order.
fn fused(names: [String; 3]) -> Vec<Place> {
    let count = names.len();
    let place = |(index, name)| Place::new(name, Role::Rows { index, count });
    names.into_iter().enumerate().map(place).collect()
}

fn convnext(name: &str) -> Option<Vec<Place>> {
    if let Some((stage, rest)) = indexed(name, "downsample_layers") {
        return Some(Place::whole(format!("stages.{stage}.downsample_layers.{rest}")));
    }
    if let Some((stage, rest)) = indexed(name, "stages") {
        let (index, rest) = rest.split_once('.')?;
        let block = format!("stages.{stage}.layers.{}", number(index)?);
        return Some(Place::whole(format!("{block}.{}", convnext_module(rest)?)));
    }
    match name {
        "norm.weight" | "norm.bias" => Some(Place::whole(name.replacen("norm", "layer_norm", 1))),
        // The last of the norms is the final one, under another name.
        _ if name.starts_with("norms.") => Some(Vec::new()),
        _ => None,
    }
}

fn convnext_module(rest: &str) -> Option<String> {
    if rest == "gamma" {
        return Some(rest.to_owned());
    }
    let (module, leaf) = rest.split_once('.')?;
    let module = match module {
        "dwconv" => "depthwise_conv",
        "norm" => "layer_norm",
        "pwconv1" => "pointwise_conv1",
        "pwconv2" => "pointwise_conv2",
        _ => return None,
    };
    Some(format!("{module}.{leaf}"))
}

/// Layer and rest of `blocks.{layer}.{rest}` or `blocks.{chunk}.{layer}.{rest}`.
pub(super) fn block(name: &str) -> Option<(usize, &str)> {
    let (first, rest) = indexed(name, "blocks")?;
    match rest.split_once('.').and_then(|(index, rest)| Some((number(index)?, rest))) {
        Some(layer_and_rest) => Some(layer_and_rest),
        None => Some((first, rest)),
    }
}
