//! `docs/coverage.md` is complete, and names nothing that is not there: tests, files, goldens, fixtures, items of the crates.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/coverage.md")).unwrap()
}

/// The cells of each row of each table, headers left out.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let mut columns = 0;
    let mut rows = Vec::new();
    for (line, next) in page.lines().zip(page.lines().skip(1).chain([""])) {
        if !line.starts_with('|') || line.starts_with("| ---") {
            continue;
        }
        let row: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if next.starts_with("| ---") {
            columns = row.len();
            continue;
        }
        assert_eq!(row.len(), columns, "{line}");
        rows.push(row);
    }
    rows
}

/// What stands between marks.
fn marked<'a>(text: &'a str, mark: &str) -> impl Iterator<Item = &'a str> {
    text.split(mark).skip(1).step_by(2)
}

/// The text of all Rust files below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, text);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(entry).unwrap());
        }
    }
}

fn all_sources() -> String {
    let mut text = String::new();
    sources(&root().join("crates"), &mut text);
    text
}

/// Whether a name matches one that may have a `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name[start.len()..].ends_with(end),
        None => name == pattern,
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).map_or(Vec::new(), |entries| {
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    })
}

#[test]
fn no_cell_is_empty_or_still_to_be_filled() {
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() > 200, "{} rows", rows.len());
    for row in rows {
        for cell in &row {
            assert!(!cell.is_empty() && !cell.contains("TBD") && !cell.contains("TODO"), "{row:?}");
        }
        // Where nothing is, or no test compares it, the last cell says why.
        let unexplained = row.len() == 4 && (row[1] == "–" || row[2] == "–") && row[3] == "–";
        assert!(!unexplained, "{row:?}");
    }
}

#[test]
fn every_test_and_every_file_that_is_named_exists() {
    let (page, sources) = (page(), all_sources());
    let (mut tests, mut files) = (0, 0);
    for text in marked(&page, "`") {
        let is_path =
            ["crates/", "tools/", "fixtures/", "docs/"].iter().any(|folder| text.starts_with(folder));
        let is_test = text.matches('_').count() >= 4
            && text.chars().all(|c| c.is_lowercase() || c.is_ascii_digit() || c == '_');
        if is_path {
            assert!(root().join(text).exists(), "no file `{text}`");
            files += 1;
        } else if is_test {
            assert!(sources.contains(&format!("fn {text}()")), "no test `{text}`");
            tests += 1;
        }
    }
    assert!(tests >= 20 && files >= 20, "{tests} tests, {files} files");
}

#[test]
fn every_short_name_golden_and_fixture_in_the_column_of_tests_exists() {
    let page = page();
    let rows = rows(&page);
    let short = |row: &Vec<&str>| (row.len() == 3).then(|| row[0].trim_matches('*').to_owned());
    let short: BTreeSet<_> = rows.iter().filter_map(short).collect();
    let fixtures = names_in(&root().join("fixtures"));
    let goldens: BTreeSet<_> =
        fixtures.iter().flat_map(|name| names_in(&root().join("fixtures").join(name))).collect();
    let mut checked = 0;
    for row in rows.iter().filter(|row| row.len() == 4) {
        for name in marked(row[2], "**") {
            assert!(short.contains(name), "{name} is in no row of the table of tests: {row:?}");
            checked += 1;
        }
        for name in marked(row[2], "`") {
            if name.starts_with("golden-") {
                let file = format!("{name}.safetensors");
                assert!(goldens.iter().any(|golden| matches(&file, golden)), "no golden {name}: {row:?}");
            } else if name.starts_with("dinov") && !name.contains(' ') {
                assert!(fixtures.iter().any(|fixture| matches(name, fixture)), "no fixture {name}: {row:?}");
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn every_item_in_the_column_of_places_exists() {
    let (page, sources) = (page(), all_sources());
    let rows = rows(&page);
    let mut checked = 0;
    for row in rows.iter().filter(|row| row.len() == 4) {
        for text in marked(row[1], "`") {
            let is_item = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
            if !is_item {
                continue; // An option of the command, a pattern, an array type.
            }
            for name in text.split("::") {
                let kinds = ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "mod "];
                let is_declared = kinds.iter().any(|kind| {
                    let declaration = format!("{kind}{name}");
                    sources.match_indices(&declaration).any(|(place, found)| {
                        let next = sources[place + found.len()..].chars().next();
                        next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
                    })
                });
                assert!(
                    is_declared || sources.contains(&format!("pub {name}:")),
                    "nothing is called `{name}`: {row:?}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
}
