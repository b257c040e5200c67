//! What the parser says, in this command's own form.
//!
//! Help and the version are data, for stdout. A wrong command line is one error line and a hint, as every other error is, and
//! exits with 1.

use super::Cli;
use crate::error::CliError;
use clap::{Parser, error::ErrorKind};
use std::ffi::OsString;

/// How the parser's tip begins that takes an unknown option for a value.
const AS_A_VALUE: &str = "to pass '--";

/// A command line, understood, or the text that it asks for.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A command to run.
    Cli(Box<Cli>),
    /// Help or the version, for stdout.
    Text { plain: String, coloured: String },
}

/// Reads a command line.
///
/// # Errors
/// [`CliError::Usage`].
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, CliError> {
    match Cli::try_parse_from(args) {
        Ok(cli) => Ok(Parsed::Cli(Box::new(cli))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let text = error.render();
                Ok(Parsed::Text { plain: text.to_string(), coloured: text.ansi().to_string() })
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(CliError::Usage {
                message: "no command given".to_owned(),
                hint: Some("`dinoxide --help` lists the commands".to_owned()),
            }),
            _ => Err(usage(&error.render().to_string())),
        },
    }
}

/// The parser's text has paragraphs: the error, tips, the usage. The error becomes one line; a tip, or else the usage,
/// becomes the hint.
fn usage(text: &str) -> CliError {
    let one_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n").map(one_line).filter(|paragraph| !paragraph.is_empty());
    let first = paragraphs.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let (mut tip, mut usage) = (None, None);
    for paragraph in paragraphs {
        if let Some(text) = paragraph.strip_prefix("tip: ") {
            // Of an option that there is not, nobody means a file of that name.
            if text.starts_with(AS_A_VALUE) {
                continue;
            }
            tip.get_or_insert_with(|| text.replace(" tip: ", "; "));
        } else if let Some(text) = paragraph.strip_prefix("Usage: ") {
            usage.get_or_insert_with(|| format!("usage: {text}"));
        }
    }
    CliError::Usage { message, hint: tip.or(usage) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_of(args: &[&str]) -> (String, Option<String>) {
        match parse(args.iter().map(OsString::from)) {
            Err(CliError::Usage { message, hint }) => (message, hint),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wrong_command_line_is_one_line_and_a_hint() {
        let (message, hint) = usage_of(&["dinoxide", "embed", "--normalise", "a.jpg"]);
        assert_eq!(message, "unexpected argument '--normalise' found");
        assert_eq!(hint.unwrap(), "a similar argument exists: '--normalize'");
        let (message, hint) = usage_of(&["dinoxide", "classify", "--bogus", "a.jpg"]);
        assert_eq!(message, "unexpected argument '--bogus' found");
        assert_eq!(hint.unwrap(), "usage: dinoxide classify [OPTIONS] [INPUT]...");
        let (_, hint) = usage_of(&["dinoxide", "classify", "-dash.jpg"]);
        assert_eq!(hint.unwrap(), "to pass '-d' as a value, use '-- -d'");
        let (message, hint) = usage_of(&["dinoxide", "features", "a.jpg"]);
        assert_eq!(message, "the following required arguments were not provided: --output <FILE>");
        assert_eq!(hint.unwrap(), "usage: dinoxide features --output <FILE> <INPUT>...");
    }

    #[test]
    fn nothing_at_all_points_to_the_help() {
        assert_eq!(usage_of(&["dinoxide"]).0, "no command given");
    }

    #[test]
    fn help_is_data() {
        assert!(matches!(parse(["dinoxide", "--help"].map(OsString::from)), Ok(Parsed::Text { .. })));
    }
}
