//! Names of models that are almost those of models that there are.

use dinoxide::BUILTIN_TINY;
use std::{ffi::OsStr, path::Path};

/// How names of built-in models begin.
const BUILTIN: &str = "builtin";

/// The organisation that publishes DINO.
const PUBLISHER: &str = "facebook";

/// The model that is meant by a name under which none can be opened, where that can be told: a built-in one, or one of the
/// publisher's whose organisation was left out.
pub(crate) fn meant(name: &OsStr) -> Option<String> {
    let text = name.to_str()?;
    let lower = text.to_ascii_lowercase();
    if lower.starts_with(BUILTIN) {
        return Some(BUILTIN_TINY.to_owned()).filter(|meant| text != meant);
    }
    let is_published = ["dinov2-", "dinov3-"].iter().any(|start| lower.starts_with(start));
    let is_here = text.contains(['/', '\\']) || Path::new(name).exists();
    (is_published && !is_here).then(|| format!("{PUBLISHER}/{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_almost_a_name_is_told_and_other_names_are_left_alone() {
        let meant = |name: &str| meant(name.as_ref());
        assert_eq!(meant("builtin:tinny").unwrap(), "builtin:tiny");
        assert_eq!(meant("Builtin:tiny").unwrap(), "builtin:tiny");
        assert_eq!(meant("dinov2-small").unwrap(), "facebook/dinov2-small");
        assert_eq!(
            meant("dinov3-vits16-pretrain-lvd1689m").unwrap(),
            "facebook/dinov3-vits16-pretrain-lvd1689m"
        );
        for other in ["builtin:tiny", "facebook/dinov2-smal", "resnet50", "dinov2-small/", "./dinov2-small"] {
            assert_eq!(meant(other), None, "{other}");
        }
    }
}
