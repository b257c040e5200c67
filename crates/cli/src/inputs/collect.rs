//! From what was named (files, folders, a list on stdin) to picture files, in order.
//!
//! A file that is named is taken whatever it is called. In folders, which hold other things too, regular files with an
//! extension of a picture are taken; names that begin with a dot (thumbnails, resource forks) are not. Folders are
//! walked through links, each level sorted by name; a link back into a folder above is left out with a warning.

use super::list;
use crate::{args::PictureArgs, error::CliError, printer::Printer};
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};
use walkdir::{DirEntry, WalkDir};

/// Extensions of the formats that are decoded, in lower case.
const EXTENSIONS: [&str; 13] =
    ["apng", "bmp", "dib", "gif", "jfif", "jpe", "jpeg", "jpg", "jfi", "png", "tif", "tiff", "webp"];

/// The name that stands for a list on stdin.
const STDIN: &str = "-";

/// Picture files, and how many places could not be looked into (each has been reported).
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) pictures: Vec<PathBuf>,
    pub(crate) failed: usize,
}

/// Collects the pictures that the command line names.
///
/// # Errors
/// No picture at all; a list that cannot be read; a folder that cannot be read, when the first failure is to stop the work.
pub(crate) fn collect(args: &PictureArgs, printer: &Printer) -> Result<Collected, CliError> {
    let mut named = Vec::new();
    let mut stdin_is_read = false;
    let stdin = args.null.then(|| PathBuf::from(STDIN)).filter(|stdin| !args.inputs.contains(stdin));
    for input in args.inputs.iter().chain(&stdin) {
        if input.as_os_str() != STDIN {
            named.push(input.clone());
        } else if !stdin_is_read {
            named.extend(list::read(io::stdin().lock(), args.null)?);
            stdin_is_read = true;
        }
    }
    if named.is_empty() {
        return Err(no_pictures(stdin_is_read));
    }
    let mut collected = Collected::default();
    for path in named {
        if path.is_dir() {
            walk(&path, args.fail_fast, printer, &mut collected)?;
        } else {
            collected.pictures.push(path);
        }
    }
    if collected.pictures.is_empty() && collected.failed == 0 {
        return Err(CliError::NoPictures {
            reason: "the folders hold no file with an extension of a picture".to_owned(),
            hint: format!("extensions taken: {}; name other files one by one", EXTENSIONS.join(", ")),
        });
    }
    Ok(collected)
}

fn no_pictures(stdin_is_read: bool) -> CliError {
    let reason = if stdin_is_read { "the list on stdin is empty" } else { "none were named" };
    CliError::NoPictures {
        reason: reason.to_owned(),
        hint: "name pictures or folders, or `-` for a list on stdin".to_owned(),
    }
}

/// Adds the pictures of a folder.
fn walk(
    folder: &Path,
    fail_fast: bool,
    printer: &Printer,
    collected: &mut Collected,
) -> Result<(), CliError> {
    let entries = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter();
    for entry in entries.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry)) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && has_picture_extension(entry.path()) => {
                collected.pictures.push(entry.into_path());
            }
            Ok(_) => {}
            Err(error) => {
                if let Some(error) = walk_error(folder, error, printer) {
                    if fail_fast {
                        return Err(error);
                    }
                    printer.error(&error);
                    collected.failed += 1;
                }
            }
        }
    }
    Ok(())
}

/// What is to be reported of an entry that could not be looked at: a folder, or a link that would have been taken.
fn walk_error(folder: &Path, error: walkdir::Error, printer: &Printer) -> Option<CliError> {
    let path = error.path().unwrap_or(folder).to_owned();
    if let Some(ancestor) = error.loop_ancestor() {
        printer.warning(&format!("{}: left out, it links back to {}", path.display(), ancestor.display()));
        return None;
    }
    let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
    if is_link && !has_picture_extension(&path) {
        return None;
    }
    let source = error.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into());
    Some(CliError::Read { path, source })
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn has_picture_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{env::Env, printer::Verbosity};

    fn collected(args: &PictureArgs) -> Result<Collected, CliError> {
        collect(args, &Printer::new(Verbosity::Quiet, false, &Env::default()))
    }

    fn named(inputs: &[&Path]) -> PictureArgs {
        PictureArgs {
            inputs: inputs.iter().map(|path| path.to_path_buf()).collect(),
            null: false,
            fail_fast: false,
        }
    }

    fn names(folder: &Path, pictures: &[PathBuf]) -> Vec<String> {
        pictures
            .iter()
            .map(|path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn folders_give_their_pictures_in_order_of_names() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::create_dir_all(dir.join("b/deep")).unwrap();
        fs::create_dir_all(dir.join(".thumbnails")).unwrap();
        for name in [
            "c.JPG",
            "a.png",
            "README.md",
            "b/2.webp",
            "b/deep/1.tiff",
            ".thumbnails/t.png",
            "._c.jpg",
            "noext",
        ] {
            fs::write(dir.join(name), b"").unwrap();
        }
        let found = collected(&named(&[dir])).unwrap();
        assert_eq!(names(dir, &found.pictures), ["a.png", "b/2.webp", "b/deep/1.tiff", "c.JPG"]);
        assert_eq!(found.failed, 0);
    }

    #[test]
    fn a_file_that_is_named_is_taken_whatever_its_name() {
        let found = collected(&named(&[Path::new("gone.txt"), Path::new(".hidden")])).unwrap();
        assert_eq!(found.pictures, ["gone.txt", ".hidden"].map(PathBuf::from));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_loops_are_not() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::create_dir(dir.join("a")).unwrap();
        fs::write(dir.join("a/1.png"), b"").unwrap();
        symlink(dir, dir.join("a/loop")).unwrap();
        symlink(dir.join("a/1.png"), dir.join("link.png")).unwrap();
        symlink(dir.join("gone"), dir.join("note.txt")).unwrap();
        symlink(dir.join("gone"), dir.join("z.png")).unwrap();
        let found = collected(&named(&[dir])).unwrap();
        assert_eq!(names(dir, &found.pictures), ["a/1.png", "link.png"]);
        assert_eq!(found.failed, 1, "the dangling z.png is a picture that is lost; note.txt is not");
    }

    #[test]
    fn a_folder_without_pictures_is_an_error_that_names_the_extensions() {
        let dir = tempfile::tempdir().unwrap();
        let error = collected(&named(&[dir.path()])).unwrap_err();
        assert!(error.hint().unwrap().contains("webp"), "{error}");
        assert!(matches!(collected(&named(&[])), Err(CliError::NoPictures { .. })));
    }
}
