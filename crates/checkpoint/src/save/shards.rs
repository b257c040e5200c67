//! Which tensors go into which file.
//!
//! Tensors are taken in the order of Transformers' state dict, that of its modules' names with numbers as numbers, and fill
//! one file after the other up to the limit; a tensor over the limit gets a file of its own. One file is
//! `model.safetensors`, several are `model-00001-of-00003.safetensors` and so on.
//! Source: `core_model_loading.py: dot_natural_key` of Transformers 5.24.0, `serialization/_base.py` of huggingface_hub 2.4.0.

use super::items::Item;
use crate::tensors::SINGLE_FILE;

/// A file and what goes into it.
pub(super) struct Shard {
    pub(super) file: String,
    pub(super) items: Vec<Item>,
}

/// What a component of a name sorts by: numbers first, then text, then the number at its end.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Number(u64),
    Text(String, Option<u64>),
}

/// What a name sorts by.
pub(super) fn natural_key(name: &str) -> Vec<Key> {
    let key = |part: &str| match part.parse() {
        Ok(number) => Key::Number(number),
        Err(_) => {
            let text = part.trim_end_matches(|char: char| char.is_ascii_digit());
            Key::Text(text.to_owned(), part[text.len()..].parse().ok())
        }
    };
    name.split('.').map(key).collect()
}

/// Fills files up to `limit` bytes each.
pub(super) fn split(items: Vec<Item>, limit: u64) -> Vec<Shard> {
    let (mut groups, mut current, mut size) = (Vec::new(), Vec::new(), 0u64);
    for item in items {
        let bytes = item.bytes();
        if bytes > limit {
            groups.push(vec![item]);
            continue;
        }
        if size.saturating_add(bytes) > limit {
            groups.push(std::mem::take(&mut current));
            size = 0;
        }
        current.push(item);
        size += bytes;
    }
    if !current.is_empty() || groups.is_empty() {
        groups.push(current);
    }
    let count = groups.len();
    let name = |index: usize| match count {
        1 => SINGLE_FILE.to_owned(),
        _ => format!("model-{:05}-of-{count:05}.safetensors", index + 1),
    };
    groups.into_iter().enumerate().map(|(index, items)| Shard { file: name(index), items }).collect()
}

/// Whether a file is named as a shard is.
pub(super) fn is_shard_name(name: &str) -> bool {
    let numbers = |name: &str| {
        let (index, count) = name.split_once("-of-")?;
        let digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        (digits(index) && digits(count)).then_some(())
    };
    name.strip_prefix("model-").and_then(|name| name.strip_suffix(".safetensors")).and_then(numbers).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TorchDtype;
    use crate::layout::TensorSpec;
    use crate::save::items::Names;
    use crate::tensors::Storage;

    fn files(sizes: &[u64], limit: u64) -> Vec<Vec<u64>> {
        let item = |&size: &u64| {
            let spec = TensorSpec { name: String::new(), shape: vec![size as usize / 4], required: true };
            let names = Names { file: String::new(), parameters: vec![String::new()] };
            Item::of(&spec, Storage::Float(TorchDtype::Float32), names)
        };
        let shards = split(sizes.iter().flat_map(item).collect(), limit);
        shards.iter().map(|shard| shard.items.iter().map(Item::bytes).collect()).collect()
    }

    #[test]
    fn files_are_filled_in_order_and_a_large_tensor_stands_alone() {
        // What huggingface_hub's own description gives for a limit of 10.
        assert_eq!(files(&[24, 24, 8, 24, 8, 8], 40), [vec![24], vec![24, 8], vec![24, 8, 8]]);
        // A large one is put down at once, before the file that is being filled.
        assert_eq!(files(&[8, 80, 8], 40), [vec![80], vec![8, 8]]);
        assert_eq!(files(&[8, 8], 0), [vec![8], vec![8]]);
        assert_eq!(files(&[], 40), [vec![] as Vec<u64>]);
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let mut names = ["layer.10.x", "layer.2.x", "layer.2.norm", "layer.2.norm2", "layer.2.norm10", "cls"];
        names.sort_by_key(|name| natural_key(name));
        assert_eq!(
            names,
            ["cls", "layer.2.norm", "layer.2.norm2", "layer.2.norm10", "layer.2.x", "layer.10.x"]
        );
    }

    #[test]
    fn only_shards_of_this_kind_count_as_such() {
        assert!(is_shard_name("model-00001-of-00003.safetensors"));
        for name in [
            "model.safetensors",
            "model-1-of-3.safetensors",
            "other-00001-of-00003.safetensors",
            "model-00001-of-00003.bin",
        ] {
            assert!(!is_shard_name(name), "{name}");
        }
    }
}
