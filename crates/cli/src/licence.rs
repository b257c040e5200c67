//! Under which licence a checkpoint's weights are.
//!
//! As its README.md says (the front matter of a model card), else as its family was published, else unknown. A README is
//! untrusted: only its first bytes are read, and it is text for people, never a decision.

use dinoxide::{Checkpoint, config::Family};
use std::{
    fs::{self, File},
    io::Read,
    path::Path,
};

/// Bytes of a README.md that are looked at: front matter is short.
const MAX_README_BYTES: u64 = 65_536;

/// A licence and where its name was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Licence {
    /// As a model card spells it: `apache-2.0`, `dinov3-license`.
    pub(crate) name: String,
    /// `README.md`, or the family's publication.
    pub(crate) from: &'static str,
}

/// The licence of a checkpoint's weights. A folder of someone's own training has that of its family only as a guess,
/// which `from` tells; the built-in model has the program's.
pub(crate) fn of(checkpoint: &Checkpoint) -> Option<Licence> {
    let Some(folder) = checkpoint.path() else {
        return Some(Licence { name: env!("CARGO_PKG_LICENSE").to_owned(), from: "dinoxide itself" });
    };
    let card = read_card(&folder.join("README.md")).and_then(|card| in_front_matter(&card));
    let family = || match checkpoint.config().family() {
        Family::Dinov2 | Family::Dinov2WithRegisters => "apache-2.0",
        Family::DINOv3Vit | Family::DINOv3ConvNext => "dinov3-license",
    };
    Some(card.map_or_else(
        || Licence { name: family().to_owned(), from: "its family's publication" },
        |name| Licence { name, from: "README.md" },
    ))
}

fn read_card(path: &Path) -> Option<String> {
    // To open a pipe would be to wait.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_README_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of `license:` between the first two lines `---`; of `license_name:` where that is `other`.
fn in_front_matter(card: &str) -> Option<String> {
    let mut lines = card.trim_start_matches('\u{feff}').lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let front: Vec<&str> = lines.take_while(|line| line.trim_end() != "---").collect();
    let value = |key: &str| {
        let text = front.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        let text = text.trim().trim_matches(['"', '\'']);
        (!text.is_empty()).then(|| text.to_owned())
    };
    match value("license") {
        Some(other) if other == "other" => value("license_name").or(Some(other)),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_card_names_its_licence() {
        assert_eq!(
            in_front_matter("---\nlicense: apache-2.0\ntags:\n- dino\n---\n# x").unwrap(),
            "apache-2.0"
        );
        let other = "---\r\nlicense: other\r\nlicense_name: \"dinov3-license\"\r\n---\r\n";
        assert_eq!(in_front_matter(other).unwrap(), "dinov3-license");
        assert_eq!(in_front_matter("---\nlicense: other\n---\n").unwrap(), "other");
    }

    #[test]
    fn a_text_that_speaks_of_licences_is_no_model_card() {
        assert_eq!(in_front_matter("# Model\nlicense: mit\n"), None);
        assert_eq!(in_front_matter("---\ntags: []\n---\nlicense: mit\n"), None);
        assert_eq!(in_front_matter(""), None);
    }
}
