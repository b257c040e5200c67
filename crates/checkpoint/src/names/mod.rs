//! Names of tensors: from whatever spelling a file uses to the one that the rest of the project uses.
//!
//! The canonical name is the bare hub name (`encoder.layer.0.norm1.weight`), see `layout`. Each convention of naming is a
//! module here with one function from a file's name to the places where its numbers belong: `hub` knows the files that
//! Transformers writes, old and new, `facebook` the original ones, `timm` those of timm. A file's tensor may be a part of a
//! canonical one (SwiGLU's two halves), or hold several of them (query, key and value in one), which `Role` says.

use crate::config::{Family, ModelConfig};

mod facebook;
mod hub;
mod role;
mod timm;

pub(crate) use hub::module_names;
pub(crate) use role::Role;

/// Where a file's tensor belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The canonical name.
    pub(crate) name: String,
    /// What the file's tensor is to the canonical one.
    pub(crate) role: Role,
}

impl Place {
    fn new(name: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), role }
    }

    /// A tensor that is the canonical one.
    fn whole(name: impl Into<String>) -> Vec<Self> {
        vec![Self::new(name, Role::Whole)]
    }
}

/// What the names of a file's tensors follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Convention {
    family: Family,
    /// Whether DINOv2's MLP is a SwiGLU, whose fused input timm calls `fc1`.
    swiglu: bool,
    spelling: Spelling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Transformers' files, with the names of version 4 or 5.
    Hub,
    /// The original files.
    Facebook,
    /// timm's files.
    Timm,
}

impl Convention {
    /// The convention of a model's own files, in which fresh weights are named as well.
    pub(crate) fn hub(config: &ModelConfig) -> Self {
        Self { family: config.family(), swiglu: config.swiglu_width().is_some(), spelling: Spelling::Hub }
    }

    /// The convention that a file's names follow: Transformers' unless something speaks for another.
    pub(crate) fn detect<'a>(config: &ModelConfig, names: impl Iterator<Item = &'a str>) -> Self {
        let family = config.family();
        let mut spelling = Spelling::Hub;
        for name in names {
            if timm::is_sign(family, name) {
                spelling = Spelling::Timm;
                break;
            }
            if facebook::is_sign(name) {
                spelling = Spelling::Facebook;
            }
        }
        Self { spelling, ..Self::hub(config) }
    }

    /// Where the tensor that a file calls `file_name` belongs: nowhere when it is known and of no use; under its own name when
    /// it is not known.
    pub(crate) fn places(self, file_name: &str) -> Vec<Place> {
        let Self { family, swiglu, spelling } = self;
        let places = match spelling {
            Spelling::Hub => return vec![hub::place(family, file_name)],
            Spelling::Facebook => facebook::places(family, swiglu, unwrapped(file_name)),
            Spelling::Timm => timm::places(family, swiglu, unwrapped(file_name)),
        };
        places.unwrap_or_else(|| Place::whole(file_name))
    }

    /// The file's name of part `index` of the tensor that has `file_name` as another of its parts.
    pub(crate) fn sibling(self, file_name: &str, index: usize) -> String {
        match self.spelling {
            Spelling::Hub => hub::sibling(file_name, index),
            // Their files split no tensor.
            Spelling::Facebook | Spelling::Timm => file_name.to_owned(),
        }
    }

    /// What Transformers calls a file's tensor that its model has no use for: the module's name where it knows one.
    pub(crate) fn unexpected_names(self, file_name: &str) -> Vec<String> {
        match self.spelling {
            Spelling::Hub => hub::unexpected_names(self.family, file_name),
            Spelling::Facebook | Spelling::Timm => vec![file_name.to_owned()],
        }
    }
}

/// What training code and compilers put before a model's names.
const WRAPPERS: [&str; 6] = ["module.", "teacher.", "backbone.", "_orig_mod.", "state_dict.", "model."];

/// The name without the wrappers of training code.
fn unwrapped(name: &str) -> &str {
    strip_prefixes(name, &WRAPPERS)
}

fn strip_prefixes<'a>(mut name: &'a str, prefixes: &[&str]) -> &'a str {
    while let Some(rest) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        name = rest;
    }
    name
}

/// Index and rest of `{group}.{index}.{rest}`.
fn indexed<'a>(name: &'a str, group: &str) -> Option<(usize, &'a str)> {
    let (index, rest) = name.strip_prefix(group)?.strip_prefix('.')?.split_once('.')?;
    Some((number(index)?, rest))
}

/// A number as these names write it: digits only, no leading zero.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number: &usize| number.to_string() == text)
}
