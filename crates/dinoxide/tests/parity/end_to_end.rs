//! From picture file to embedding, against Transformers: load_image, processor, model.

use crate::fixtures::{fixture, open, root};
use dinoxide::{ContextOptions, EmbedOptions, Embedder, ImageProcessor, Model};
use dinoxide_testkit::{compare::cosine, tolerance::JPEG_TO_EMBEDDING_COSINE};
use safetensors::SafeTensors;
use std::{collections::BTreeMap, ops::ControlFlow};

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
    embedder(name).embed_files(&paths, &mut |i, embedding| {
        let (picture, want) = &wanted[i];
        let cosine = cosine(&embedding.unwrap().to_vec(), want);
        if cosine < JPEG_TO_EMBEDDING_COSINE {
            failed.push(format!("{name}/{picture}: cosine {cosine}"));
        }
        ControlFlow::Continue(())
    });
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
    embedder.embed_files(&paths, &mut |i, embedding| {
        assert_eq!(embedding.unwrap(), embedder.embed_file(&paths[i]).unwrap());
        ControlFlow::Continue(())
    });
}
