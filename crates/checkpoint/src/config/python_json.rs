//! JSON as Python's `json.dumps(value, indent=2, sort_keys=True)` writes it, which is how Transformers writes its configs.
//!
//! Only ASCII, floats as Python's `repr` (`1e-06`, `1.0`), keys in the order of their text. The keys of `id2label` are
//! integers to Python, which sorts them as such.

use serde_json::{Map, Value};

/// The key whose own keys are integers.
const INTEGER_KEYS: &str = "id2label";
/// Powers of ten from which on Python writes an exponent.
const LARGE: i32 = 16;
/// Powers of ten below which Python writes an exponent.
const SMALL: i32 = -4;

/// The text of an object, with a newline at its end.
pub(crate) fn to_string(object: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_object(&mut text, object, 0, false);
    text.push('\n');
    text
}

fn write_value(text: &mut String, value: &Value, depth: usize, integer_keys: bool) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) if number.is_f64() => text.push_str(&float(number.as_f64().unwrap_or(0.0))),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            let items = items.iter().map(|item| (None, item, false));
            write_items(text, ['[', ']'], depth, items);
        }
        Value::Object(map) => write_object(text, map, depth, integer_keys),
    }
}

fn write_object(text: &mut String, map: &Map<String, Value>, depth: usize, integer_keys: bool) {
    let mut entries: Vec<_> = map.iter().collect();
    match integer_keys {
        true => entries.sort_by_key(|(key, _)| (key.parse::<i64>().ok(), *key)),
        false => entries.sort_by_key(|(key, _)| *key),
    }
    let top = depth == 0;
    let items =
        entries.into_iter().map(|(key, value)| (Some(key.as_str()), value, top && key == INTEGER_KEYS));
    write_items(text, ['{', '}'], depth, items);
}

fn write_items<'a>(
    text: &mut String,
    [open, close]: [char; 2],
    depth: usize,
    items: impl ExactSizeIterator<Item = (Option<&'a str>, &'a Value, bool)>,
) {
    let empty = items.len() == 0;
    text.push(open);
    for (index, (key, value, integer_keys)) in items.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            write_string(text, key);
            text.push_str(": ");
        }
        write_value(text, value, depth + 1, integer_keys);
    }
    if !empty {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    }
    text.push(close);
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for char in string.chars() {
        match char {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(char),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text.push('"');
}

/// The shortest digits that give the same number, as Python's `repr` lays them out.
fn float(value: f64) -> String {
    let shortest = format!("{value:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else { return shortest };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(SMALL..LARGE).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = value.to_string();
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        // `repr` of Python 3.
        let cases = [
            (1e-6, "1e-06"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e22, "1.25e+22"),
            (1e100, "1e+100"),
            (123456.789, "123456.789"),
            (0.30000000000000004, "0.30000000000000004"),
            (5e-324, "5e-324"),
        ];
        for (value, expected) in cases {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn the_layout_is_pythons() {
        let Value::Object(map) = json!({
            "b": [], "a": {}, "é\u{7f}\"\\\n\u{1}😀": [1, [2.0, null, true]],
            "id2label": {"10": "x", "2": "y"}, "label2id": {"10": 1, "2": 0},
        }) else {
            unreachable!()
        };
        // json.dumps(..., indent=2, sort_keys=True) of Python 3, with integer keys in id2label.
        let expected = r#"{
  "a": {},
  "b": [],
  "id2label": {
    "2": "y",
    "10": "x"
  },
  "label2id": {
    "10": 1,
    "2": 0
  },
  "\u00e9\u007f\"\\\n\u0001\ud83d\ude00": [
    1,
    [
      2.0,
      null,
      true
    ]
  ]
}
"#;
        assert_eq!(to_string(&map), expected);
    }
}
