//! The layers that all families share. Nothing here knows a family.

pub(crate) mod attention;
pub(crate) mod axial_rope;
pub(crate) mod cache;
pub(crate) mod convnext;
pub(crate) mod encoder;
pub(crate) mod layer;
pub(crate) mod layer_norm;
pub(crate) mod linear;
pub(crate) mod mask_token;
pub(crate) mod mlp;
pub(crate) mod packing;
pub(crate) mod patch_embed;
pub(crate) mod position_table;
pub(crate) mod prefix;
pub(crate) mod vit;
