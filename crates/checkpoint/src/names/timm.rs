//! Names in timm's files: mostly the original ones, with exceptions.
//!
//! Registers are `reg_token`. DINOv2 with registers has no position for CLS: the original one is already added to `cls_token`,
//! so the table's first entry is zero. DINOv3 has `gamma_1`, separate biases of query and value, `fc1_g` and
//! `fc1_x` for gate and up. There is no mask token. ConvNeXt has `stem`, `downsample`, `blocks`, `head.norm`.
//! Source: `vision_transformer.py`, `eva.py`, `convnext.py` of timm 1.0.31.

use super::facebook::{self, block, dinov3_qkv};
use super::{Place, Role, indexed, number, unwrapped};
use crate::config::Family;

/// Whether a name shows that its file is one of timm's.
pub(super) fn is_sign(family: Family, file_name: &str) -> bool {
    let name = unwrapped(file_name);
    match family {
        // Without registers the names are the original ones.
        Family::Dinov2 | Family::Dinov2WithRegisters => name == "reg_token",
        Family::DINOv3Vit => {
            name == "reg_token" || block(name).is_some_and(|(_, rest)| matches!(rest, "gamma_1" | "gamma_2"))
        }
        Family::DINOv3ConvNext => name.starts_with("stem."),
    }
}

/// Where the tensor belongs that is called `name` when unwrapped; `None` for a name that is not known.
pub(super) fn places(family: Family, swiglu: bool, name: &str) -> Option<Vec<Place>> {
    match family {
        Family::Dinov2 | Family::Dinov2WithRegisters => dinov2(swiglu, name),
        Family::DINOv3Vit => dinov3_vit(name),
        Family::DINOv3ConvNext => convnext(name),
    }
}

fn dinov2(swiglu: bool, name: &str) -> Option<Vec<Place>> {
    match name {
        "reg_token" => Some(Place::whole("embeddings.register_tokens")),
        "pos_embed" => Some(vec![Place::new("embeddings.position_embeddings", Role::AfterFirst)]),
        _ => facebook::dinov2(swiglu, name),
    }
}

fn dinov3_vit(name: &str) -> Option<Vec<Place>> {
    if let Some((layer, rest)) = block(name) {
        return dinov3_block(rest, &format!("layer.{layer}"));
    }
    Some(match name {
        "cls_token" => Place::whole("embeddings.cls_token"),
        "reg_token" => Place::whole("embeddings.register_tokens"),
        "norm.weight" | "norm.bias" => Place::whole(name),
        _ if name.starts_with("rope.") => Vec::new(),
        _ => Place::whole(format!("embeddings.patch_embeddings.{}", name.strip_prefix("patch_embed.proj.")?)),
    })
}

fn dinov3_block(rest: &str, layer: &str) -> Option<Vec<Place>> {
    let whole = |name: &str| Some(Place::whole(format!("{layer}.{name}")));
    match rest {
        "gamma_1" => return whole("layer_scale1.lambda1"),
        "gamma_2" => return whole("layer_scale2.lambda1"),
        "attn.q_bias" => return whole("attention.q_proj.bias"),
        "attn.v_bias" => return whole("attention.v_proj.bias"),
        // A buffer of zeros.
        "attn.k_bias" => return Some(Vec::new()),
        _ => {}
    }
    let (module, leaf) = rest.rsplit_once('.')?;
    let module = match module {
        "attn.qkv" => return Some(dinov3_qkv(layer, leaf)),
        "norm1" | "norm2" => module,
        "attn.proj" => "attention.o_proj",
        "mlp.fc1_g" => "mlp.gate_proj",
        "mlp.fc1" | "mlp.fc1_x" => "mlp.up_proj",
        "mlp.fc2" => "mlp.down_proj",
        _ => return None,
    };
    whole(&format!("{module}.{leaf}"))
}

fn convnext(name: &str) -> Option<Vec<Place>> {
    if let Some(rest) = name.strip_prefix("stem.") {
        return Some(Place::whole(format!("stages.0.downsample_layers.{rest}")));
    }
    if let Some(leaf) = name.strip_prefix("head.norm.") {
        return Some(Place::whole(format!("layer_norm.{leaf}")));
    }
    let (stage, rest) = indexed(name, "stages")?;
    if let Some(rest) = rest.strip_prefix("downsample.") {
        return Some(Place::whole(format!("stages.{stage}.downsample_layers.{rest}")));
    }
    let (index, rest) = rest.strip_prefix("blocks.")?.split_once('.')?;
    let block = format!("stages.{stage}.layers.{}", number(index)?);
    if rest == "gamma" {
        return Some(Place::whole(format!("{block}.gamma")));
    }
    let (module, leaf) = rest.rsplit_once('.')?;
    let (module, role) = match module {
        "conv_dw" => ("depthwise_conv", Role::Whole),
        "norm" => ("layer_norm", Role::Whole),
        // Kernels of 1x1 in some variants.
        "mlp.fc1" => ("pointwise_conv1", Role::Reshaped),
        "mlp.fc2" => ("pointwise_conv2", Role::Reshaped),
        _ => return None,
    };
    Some(vec![Place::new(format!("{block}.{module}.{leaf}"), role)])
}
