//! Not on the pages, but what they are mostly used for: embeddings of all pictures of a folder, and the two that are most alike.
//!
//! `cargo run --release -p dinoxide --example embed_folder [MODEL [FOLDER]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{Embedder, Error, ndarray::Array1};
use std::path::PathBuf;

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let model = args.next().unwrap_or_else(|| "facebook/dinov2-small".into());
    let folder = args.next().unwrap_or_else(|| "pictures".into());
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let pictures = files.filter(|file| file.extension().is_some_and(|it| it == "jpg" || it == "png"));

    let mut embedder = Embedder::from_pretrained(model)?;
    embedder.options.normalize = true; // a dot product is then a cosine
    let mut seen: Vec<(PathBuf, Array1<f32>)> = Vec::new();
    let mut most_alike = (f32::NEG_INFINITY, PathBuf::new(), PathBuf::new());
    for (path, embedding) in embedder.embed(pictures) {
        let embedding = embedding?;
        for (other, its_embedding) in &seen {
            let cosine = embedding.dot(its_embedding);
            if cosine > most_alike.0 {
                most_alike = (cosine, other.clone(), path.clone());
            }
        }
        seen.push((path, embedding));
    }
    println!("{} pictures of {} values each", seen.len(), embedder.dim());
    let (cosine, one, other) = most_alike;
    println!("most alike: {} and {}, cosine {cosine:.4}", one.display(), other.display());
    Ok(())
}
