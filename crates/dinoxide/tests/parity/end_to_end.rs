//! From picture file to embedding, against Transformers: load_image, processor, model.

use crate::fixtures::{fixture, open, root};
use dinoxide::{ContextOptions, EmbedOptions, Embedder, ImageProcessor, Model};
use dinoxide_testkit::{compare::cosine, tolerance::JPEG_TO_EMBEDDING_COSINE};
use safetensors::SafeTensors;
use std::{cell::Cell, collections::BTreeMap, path::PathBuf};

fn embedder(name: &str) -> Embedder {
    let checkpoint = open(name);
    Embedder {
        model: Model::from_checkpoint(&checkpoint, ContextOptions::default()).unwrap(),
        processor: ImageProcessor::from_checkpoint(&checkpoint).unwrap(),
        options: EmbedOptions::default(),
    }
}

/// Embeds the pictures of one fixture and returns its failures.
fn failures(name: &str, wanted: &[(String, Vec<f32>)]) -> Vec<String> {
    let paths: Vec<_> = wanted.iter().map(|(picture, _)| root().join("pictures").join(picture)).collect();
    let mut failed = Vec::new();
    let embedder = embedder(name);
    for ((_, embedding), (picture, want)) in embedder.embed(&paths).zip(wanted) {
        let cosine = cosine(&embedding.unwrap().to_vec(), want);
        if cosine < JPEG_TO_EMBEDDING_COSINE {
            failed.push(format!("{name}/{picture}: cosine {cosine}"));
        }
    }
    failed
}

#[test]
fn photographs_have_the_embeddings_that_transformers_gives_them() {
    let mut wanted: BTreeMap<String, Vec<(String, Vec<f32>)>> = BTreeMap::new();
    for file in ["end_to_end/pooler_output.safetensors", "builtin/photographs.safetensors"] {
        let bytes = std::fs::read(fixture(file)).unwrap();
        for (name, tensor) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
            let (model, picture) = name.rsplit_once('/').unwrap_or(("builtin", &name));
            let floats = tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
            wanted.entry(model.to_owned()).or_default().push((picture.to_owned(), floats.collect()));
        }
    }
    assert!(wanted.len() >= 5, "{:?}", wanted.keys());
    let failed: Vec<_> = wanted.iter().flat_map(|(name, wanted)| failures(name, wanted)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_file_alone_has_the_embedding_that_it_has_among_others() {
    let embedder = Embedder::from_pretrained(dinoxide::BUILTIN_TINY).unwrap();
    let paths = ["chelsea.png", "rocket.jpg", "coffee.jpg"].map(|name| root().join("pictures").join(name));
    let embedded: Vec<_> = embedder.embed(&paths).collect();
    assert!(embedded.iter().map(|(path, _)| *path).eq(&paths));
    for (path, embedding) in embedded {
        assert_eq!(embedding.unwrap(), embedder.embed_file(path).unwrap());
    }
}

#[test]
fn files_are_taken_as_they_are_needed_and_a_bad_one_is_one_error() {
    let taken = Cell::new(0);
    let picture = root().join("pictures/chelsea.png");
    let endless = std::iter::repeat_with(|| {
        taken.set(taken.get() + 1);
        if taken.get() == 2 { PathBuf::from("nowhere.jpg") } else { picture.clone() }
    });
    let mut embedder = Embedder::from_pretrained(dinoxide::BUILTIN_TINY).unwrap();
    embedder.options.batch = 1;
    let embedded = embedder.embed(endless);
    assert_eq!(taken.get(), 0, "nothing is done before it is asked for");
    let first: Vec<_> = embedded.take(3).map(|(path, embedding)| (path, embedding.is_ok())).collect();
    assert_eq!(first, [(picture.clone(), true), ("nowhere.jpg".into(), false), (picture.clone(), true)]);
    assert!((4..=3 + 4).contains(&taken.get()), "{} taken: at most four batches of one ahead", taken.get());
}
