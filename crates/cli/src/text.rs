//! Text for people: file names and messages without characters that command the terminal.
//!
//! Whatever came from outside (paths, labels, words of a config) passes `shown` before it is printed. Data, on stdout or in
//! files, is not changed beyond what its format asks for.

use std::{borrow::Cow, fmt::Write as _, path::Path};

/// Text with control characters (and those that reverse the reading order) written as escapes: a file name must not
/// move the cursor, colour the screen or forge a line.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe(c) => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A path as output files and JSON spell it: bytes that are not UTF-8 become U+FFFD.
pub(crate) fn path_text(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// `1 picture`, `2 pictures`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Bytes as people read them: `87.1 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_command_the_terminal() {
        assert_eq!(shown("a\u{1b}[31mb\nc\u{9b}d\u{202e}.jpg"), "a\\u{1b}[31mb\\nc\\u{9b}d\\u{202e}.jpg");
        assert_eq!(shown("кот 🐈.jpg"), "кот 🐈.jpg");
    }

    #[test]
    fn bytes_are_rounded_to_a_unit() {
        assert_eq!((bytes(0), bytes(1023), bytes(1536)), ("0 B".into(), "1023 B".into(), "1.5 KiB".into()));
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
    }

    #[test]
    fn a_count_of_one_is_singular() {
        assert_eq!((count(1, "picture"), count(0, "picture")), ("1 picture".into(), "0 pictures".into()));
    }
}
