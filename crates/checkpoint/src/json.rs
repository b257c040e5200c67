//! Typed reading of untrusted JSON objects.
//!
//! A field is read with its default, its accepted type and its range; a wrong one gives an error that names the file, the
//! key, what was expected and what was found. Whole floats (`4.0`) count as integers, unknown keys are ignored,
//! and `null` is its own case: Transformers refuses it for plain fields and takes it for optional ones.

use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::CheckpointError;
use crate::files;

/// Largest whole number that a JSON float holds exactly: 2^53.
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;
/// Characters of a string value that an error message repeats.
const SHOWN_CHARS: usize = 40;

/// The top-level object of a JSON file's bytes.
pub(crate) fn object(path: &Path, bytes: &[u8]) -> Result<Map<String, Value>, CheckpointError> {
    files::refuse_pointer(path, bytes)?;
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(CheckpointError::NotAnObject { path: path.into(), got: describe(&other) }),
        Err(source) => Err(CheckpointError::Json { path: path.into(), source: source.into() }),
    }
}

/// The fields of one JSON object, and the file it came from.
pub(crate) struct Fields<'a> {
    path: &'a Path,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(path: &'a Path, map: &'a Map<String, Value>) -> Self {
        Self { path, map }
    }

    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// The error for a value that is not what `key` needs.
    pub(crate) fn invalid(&self, key: &str, expected: impl Into<String>, got: &Value) -> CheckpointError {
        self.refuse(key, expected, describe(got))
    }

    /// The error for a value that has the right type and is refused all the same.
    pub(crate) fn refuse(
        &self,
        key: &str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> CheckpointError {
        CheckpointError::InvalidField {
            path: self.path.into(),
            key: key.into(),
            expected: expected.into(),
            got: got.into(),
        }
    }

    /// A field that `null` does not fit: missing gives the default.
    fn value<T>(
        &self,
        key: &str,
        default: T,
        expected: impl Fn() -> String,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, CheckpointError> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => parse(value).ok_or_else(|| self.invalid(key, expected(), value)),
        }
    }

    /// An optional field: missing gives the default, `null` gives `None`.
    pub(crate) fn nullable<T>(
        &self,
        key: &str,
        default: Option<T>,
        expected: impl Fn() -> String,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, CheckpointError> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Null) => Ok(None),
            Some(value) => match parse(value) {
                Some(parsed) => Ok(Some(parsed)),
                None => Err(self.invalid(key, format!("{} or null", expected()), value)),
            },
        }
    }

    pub(crate) fn int(
        &self,
        key: &str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> Result<usize, CheckpointError> {
        self.value(key, default, || int_expected(&range), |value| int(value, &range))
    }

    pub(crate) fn float(
        &self,
        key: &str,
        default: f64,
        range: RangeInclusive<f64>,
    ) -> Result<f64, CheckpointError> {
        self.value(key, default, || float_expected(&range), |value| float(value, &range))
    }

    pub(crate) fn nullable_float(
        &self,
        key: &str,
        default: Option<f64>,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, CheckpointError> {
        self.nullable(key, default, || float_expected(&range), |value| float(value, &range))
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> Result<bool, CheckpointError> {
        self.value(key, default, || "true or false".into(), Value::as_bool)
    }

    /// A flag that `null` turns off.
    pub(crate) fn flag_or_off(&self, key: &str, default: bool) -> Result<bool, CheckpointError> {
        let flag = self.nullable(key, Some(default), || "true, false".into(), Value::as_bool)?;
        Ok(flag.unwrap_or(false))
    }

    pub(crate) fn text(&self, key: &str, default: &str) -> Result<String, CheckpointError> {
        self.value(key, default.to_owned(), || "a string".into(), text)
    }

    pub(crate) fn nullable_text(&self, key: &str) -> Result<Option<String>, CheckpointError> {
        self.nullable(key, None, || "a string".into(), text)
    }

    pub(crate) fn nullable_texts(&self, key: &str) -> Result<Option<Vec<String>>, CheckpointError> {
        self.nullable(key, None, || "a list of strings".into(), |value| list(value, text))
    }

    pub(crate) fn nullable_ints(
        &self,
        key: &str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<Vec<usize>>, CheckpointError> {
        let expected = || format!("a list of {}", int_expected(&range).replacen("an integer", "integers", 1));
        self.nullable(key, None, expected, |value| list(value, |item| int(item, &range)))
    }

    pub(crate) fn nullable_signed_ints(&self, key: &str) -> Result<Option<Vec<i64>>, CheckpointError> {
        self.nullable(key, None, || "a list of integers".into(), |value| list(value, signed))
    }
}

fn int_expected(range: &RangeInclusive<usize>) -> String {
    format!("an integer from {} to {}", range.start(), range.end())
}

fn float_expected(range: &RangeInclusive<f64>) -> String {
    match (*range.start() == f64::MIN, *range.end() == f64::MAX) {
        (true, _) => "a number".into(),
        (false, true) if *range.start() == f64::MIN_POSITIVE => "a number above 0".into(),
        (false, true) => format!("a number of at least {}", range.start()),
        (false, false) => format!("a number from {} to {}", range.start(), range.end()),
    }
}

/// An integer of any sign; a whole float counts as one.
pub(crate) fn signed(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let float = value.as_f64().filter(|v| v.fract() == 0.0 && v.abs() <= MAX_EXACT_FLOAT)?;
        // Exact: whole and at most 2^53 in size.
        Some(float as i64)
    })
}

/// An integer within `range`; a whole float counts as one.
pub(crate) fn int(value: &Value, range: &RangeInclusive<usize>) -> Option<usize> {
    signed(value).and_then(|v| usize::try_from(v).ok()).filter(|v| range.contains(v))
}

/// A finite number within `range`.
pub(crate) fn float(value: &Value, range: &RangeInclusive<f64>) -> Option<f64> {
    value.as_f64().filter(|v| v.is_finite() && range.contains(v))
}

pub(crate) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A list all of whose items parse.
pub(crate) fn list<T>(value: &Value, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(item).collect()
}

/// A short description of a value for an error message.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let shown: String = text.chars().take(SHOWN_CHARS).collect();
            format!("{shown:?}{}", if shown.len() < text.len() { "…" } else { "" })
        }
        Value::Array(items) if items.len() <= 4 && items.iter().all(|i| i.is_number() || i.is_null()) => {
            let items: Vec<String> = items.iter().map(describe).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_range_of_numbers_is_told_in_words() {
        let expected = [f64::MIN, 0.0, f64::MIN_POSITIVE].map(|start| float_expected(&(start..=f64::MAX)));
        assert_eq!(expected, ["a number", "a number of at least 0", "a number above 0"]);
        assert_eq!(float_expected(&(0.0..=1.0)), "a number from 0 to 1");
    }

    #[test]
    fn whole_floats_count_as_integers_and_others_do_not() {
        assert_eq!(int(&json!(4.0), &(0..=10)), Some(4));
        assert_eq!(int(&json!(4.5), &(0..=10)), None);
        assert_eq!(int(&json!(true), &(0..=10)), None);
        assert_eq!(int(&json!("4"), &(0..=10)), None);
        assert_eq!(int(&json!(-1), &(0..=10)), None);
        assert_eq!(int(&json!(1e300), &(0..=usize::MAX)), None);
    }

    #[test]
    fn descriptions_of_long_values_stay_short() {
        assert_eq!(describe(&json!("x".repeat(1000))).chars().count(), SHOWN_CHARS + 3);
        assert_eq!(describe(&json!([1, 2])), "[1, 2]");
        assert_eq!(describe(&json!(vec![0; 1000])), "a list of 1000 items");
    }

    #[test]
    fn null_fits_optional_fields_only() {
        let Value::Object(map) = json!({"a": null}) else { unreachable!() };
        let fields = Fields::new(Path::new("config.json"), &map);
        assert_eq!(fields.nullable_float("a", Some(1.0), 0.0..=2.0).unwrap(), None);
        assert_eq!(fields.nullable_float("b", Some(1.0), 0.0..=2.0).unwrap(), Some(1.0));
        assert!(!fields.flag_or_off("a", true).unwrap());
        let error = fields.int("a", 1, 0..=9).unwrap_err().to_string();
        assert_eq!(error, "`a` in `config.json` must be an integer from 0 to 9, got null");
    }
}
