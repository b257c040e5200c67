//! Opening folders: what is missing, damaged or not a file is named.
//!
//! Folders are made on the spot, whole first, then with one thing wrong. The error is compared by variant and data, its
//! message where users read it.

use std::fs;
use std::path::Path;

use dinoxide_checkpoint::limits::MAX_JSON_BYTES;
use dinoxide_checkpoint::{Checkpoint, CheckpointError, ModelConfig, ProcessorConfig};

use crate::support::{DINOV2, Weights, checkpoint_folder, folder};

const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

fn error(dir: &Path) -> CheckpointError {
    Checkpoint::open(dir).unwrap_err()
}

#[test]
fn a_folder_with_config_and_weights_opens() {
    let dir = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert_eq!(checkpoint.path(), Some(dir.path()));
    assert_eq!(checkpoint.config().model_type(), "dinov2");
    assert!(checkpoint.processor().unwrap().is_none());
    match checkpoint.require_processor().unwrap_err() {
        CheckpointError::NoProcessor { path } => assert_eq!(path, dir.path()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_folder_and_a_file_in_its_place_are_told_apart() {
    let dir = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
    assert!(matches!(error(&dir.path().join("nowhere")), CheckpointError::FolderNotFound { .. }));
    assert!(matches!(error(&dir.path().join("config.json")), CheckpointError::NotAFolder { .. }));
    let below_a_file = dir.path().join("config.json").join("x");
    assert!(matches!(error(&below_a_file), CheckpointError::FolderNotFound { .. }));
}

#[test]
fn a_folder_without_config_or_without_weights_says_what_was_looked_for() {
    let empty = folder(&[]);
    assert!(matches!(error(empty.path()), CheckpointError::NoConfig { .. }));
    let config_only = folder(&[("config.json", DINOV2.as_bytes())]);
    let got = error(config_only.path());
    let text = got.to_string();
    assert!(text.contains("model.safetensors, model.safetensors.index.json"), "{text}");
    assert!(got.hint().is_none());
}

#[test]
fn weights_of_another_format_are_named_with_the_way_to_convert_them() {
    for name in ["tf_model.h5", "flax_model.msgpack"] {
        let dir = folder(&[("config.json", DINOV2.as_bytes()), (name, b"\x80\x02")]);
        let got = error(dir.path());
        assert!(matches!(&got, CheckpointError::NoWeights { other: Some(found), .. } if found == name));
        let hint = got.hint().unwrap();
        assert!(hint.contains(name) && hint.contains("save_pretrained"), "{hint}");
    }
}

#[test]
fn files_of_torch_save_that_cannot_be_read_come_with_the_command_that_converts_them() {
    // Cut, no archive, and a call of the system.
    let bad: [&[u8]; 3] = [b"\x80\x02", b"PK\x03\x04 no archive", b"cos\nsystem\n(S'touch x'\ntR."];
    for name in ["pytorch_model.bin", "dinov2_vits14_pretrain.pth", "model.pt"] {
        for bytes in bad {
            let dir = folder(&[("config.json", DINOV2.as_bytes()), (name, bytes)]);
            let got = error(dir.path());
            assert!(
                matches!(&got, CheckpointError::UnreadablePickle { path, .. } if path.ends_with(name)),
                "{got:?}"
            );
            let hint = got.hint().unwrap();
            let loads = format!("torch.load('{name}'");
            assert!(hint.contains(&loads) && hint.contains("model.safetensors"), "{hint}");
        }
    }
    // A name that would end the command's text is left out.
    let dir = folder(&[("config.json", DINOV2.as_bytes()), ("a');print('.pth", b"\x80\x02")]);
    assert!(error(dir.path()).hint().unwrap().contains("torch.load('FILE'"));
}

#[test]
fn an_index_of_torch_save_files_names_the_missing_one() {
    const SHARD: &str = "pytorch_model-00001-of-00001.bin";
    let index = format!(r#"{{"weight_map": {{"layernorm.weight": "{SHARD}"}}}}"#);
    let files: [(&str, &[u8]); 2] =
        [("config.json", DINOV2.as_bytes()), ("pytorch_model.bin.index.json", index.as_bytes())];
    let got = error(folder(&files).path());
    assert!(matches!(&got, CheckpointError::MissingShard { missing, .. } if missing == &[SHARD]), "{got:?}");
}

#[test]
fn one_of_several_original_files_must_be_chosen() {
    let dir = folder(&[("config.json", DINOV2.as_bytes()), ("b.pth", b"x"), ("a.pt", b"x")]);
    let got = error(dir.path());
    assert!(
        matches!(&got, CheckpointError::NoWeights { several, .. } if several == &["a.pt", "b.pth"]),
        "{got:?}"
    );
    assert!(got.hint().unwrap().contains("a.pt, b.pth"));
}

#[test]
fn a_weights_file_in_place_of_a_folder_is_told_where_it_belongs() {
    let dir = folder(&[("dinov2_vits14_pretrain.pth", b"x")]);
    let got = error(&dir.path().join("dinov2_vits14_pretrain.pth"));
    assert!(matches!(got, CheckpointError::NotAFolder { .. }));
    assert!(got.hint().unwrap().contains("config.json"));
}

#[test]
fn empty_files_and_lfs_pointers_are_recognised_in_each_place() {
    for name in ["config.json", "model.safetensors", "preprocessor_config.json"] {
        let dir = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
        let check = |bytes: &[u8]| {
            fs::write(dir.path().join(name), bytes).unwrap();
            match Checkpoint::open(dir.path()) {
                Ok(checkpoint) => checkpoint.processor().unwrap_err(),
                Err(error) => error,
            }
        };
        assert!(matches!(check(b""), CheckpointError::EmptyFile { .. }), "{name}");
        assert!(matches!(check(LFS_POINTER), CheckpointError::LfsPointer { .. }), "{name}");
    }
}

#[test]
fn a_broken_processor_config_leaves_the_model_usable() {
    let dir = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
    fs::write(dir.path().join("preprocessor_config.json"), b"{").unwrap();
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert!(matches!(checkpoint.processor(), Err(CheckpointError::Json { .. })));
}

#[test]
fn folders_in_the_place_of_files_are_refused() {
    for name in ["config.json", "model.safetensors", "preprocessor_config.json"] {
        let dir = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
        let place = dir.path().join(name);
        if place.exists() {
            fs::remove_file(&place).unwrap();
        }
        fs::create_dir(&place).unwrap();
        let got = match Checkpoint::open(dir.path()) {
            Ok(checkpoint) => checkpoint.processor().unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(&got, CheckpointError::NotAFile { path } if *path == place), "{name}: {got:?}");
    }
}

#[test]
fn a_config_beyond_the_size_limit_is_refused_unread() {
    let dir = folder(&[]);
    let file = fs::File::create(dir.path().join("config.json")).unwrap();
    file.set_len(MAX_JSON_BYTES + 1).unwrap();
    assert!(matches!(error(dir.path()), CheckpointError::FileTooLarge { limit: MAX_JSON_BYTES, .. }));
}

#[test]
fn a_nested_image_processor_shadows_the_plain_file() {
    let plain = br#"{"image_processor_type": "BitImageProcessor", "size": 100}"#;
    let nested = br#"{"image_processor": {"image_processor_type": "BitImageProcessor", "size": 50}}"#;
    let size = |files: &[(&str, &[u8])]| {
        let config = ProcessorConfig::open(folder(files).path(), None).unwrap();
        config.map(|config| format!("{:?}", config.size.unwrap()))
    };
    let (preprocessor, processor) = ("preprocessor_config.json", "processor_config.json");
    assert_eq!(size(&[]), None);
    assert!(size(&[(preprocessor, plain)]).unwrap().contains("100"));
    assert!(size(&[(processor, nested)]).unwrap().contains("50"));
    assert!(size(&[(preprocessor, plain), (processor, nested)]).unwrap().contains("50"));
    for without_entry in [&b"{}"[..], br#"{"image_processor": null}"#, br#"{"processor_class": "X"}"#] {
        assert!(size(&[(preprocessor, plain), (processor, without_entry)]).unwrap().contains("100"));
    }
}

#[test]
fn a_checkpoint_in_memory_reads_its_processor_too() {
    let weights = Weights::of(DINOV2).bytes();
    let processor = br#"{"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 32}}"#;
    let checkpoint = Checkpoint::from_bytes(DINOV2.as_bytes(), Some(processor), weights.clone()).unwrap();
    assert!(checkpoint.require_processor().unwrap().do_center_crop);
    let none = Checkpoint::from_bytes(DINOV2.as_bytes(), None, weights).unwrap();
    assert!(matches!(none.require_processor(), Err(CheckpointError::NoProcessor { .. })));
}

#[test]
fn a_static_slice_serves_as_weights() {
    let weights: &'static [u8] = Weights::of(DINOV2).bytes().leak();
    Checkpoint::from_bytes(DINOV2.as_bytes(), None, weights).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_whose_name_is_not_utf8_or_not_latin_opens() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let parent = folder(&[]);
    for name in [OsStr::from_bytes(b"\xff\xfe model"), OsStr::new("модель с пробелом 🦕")] {
        let dir = parent.path().join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("config.json"), DINOV2).unwrap();
        fs::write(dir.join("model.safetensors"), Weights::of(DINOV2).bytes()).unwrap();
        Checkpoint::open(&dir).unwrap();
        ModelConfig::open(&dir).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_nowhere_counts_as_missing() {
    let dir = folder(&[("config.json", DINOV2.as_bytes())]);
    std::os::unix::fs::symlink(dir.path().join("gone"), dir.path().join("model.safetensors")).unwrap();
    assert!(matches!(error(dir.path()), CheckpointError::NoWeights { .. }));
}

#[test]
fn what_the_system_refuses_is_passed_on_with_the_path() {
    let path = Path::new("a\0b");
    let got = error(path);
    assert!(matches!(&got, CheckpointError::Io { path: named, .. } if named == path), "{got:?}");
    assert!(std::error::Error::source(&got).is_some());
}

#[test]
fn a_pointer_built_into_a_binary_is_recognised() {
    let weights = Weights::of(DINOV2).bytes();
    let got = Checkpoint::from_bytes(LFS_POINTER, None, weights.clone()).unwrap_err();
    assert!(matches!(got, CheckpointError::LfsPointer { .. }));
    let checkpoint = Checkpoint::from_bytes(DINOV2.as_bytes(), Some(LFS_POINTER), weights).unwrap();
    assert!(matches!(checkpoint.processor(), Err(CheckpointError::LfsPointer { .. })));
}

#[test]
fn a_checkpoint_and_its_errors_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Checkpoint>();
    shared::<CheckpointError>();
}
