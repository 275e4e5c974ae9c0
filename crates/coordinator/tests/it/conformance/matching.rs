//! Whether what was got is what a scenario expects: literals, matchers, lists and maps of the format.

use serde_json::{Map, Value};

/// Why `got` does not match `expected`: where, and both values. `None`: it matches.
///
/// Objects match field by field, and only the fields that are mentioned; fields named in `whole` (at any
/// depth) are maps that must have exactly the entries given. Lists must have exactly the entries given, in any
/// order unless `ordered`.
pub(crate) fn mismatch(path: &str, expected: &Value, got: &Value, ordered: bool) -> Option<String> {
    if let Some(matcher) = matcher(expected) {
        return (!matcher.accepts(got, ordered)).then(|| say(path, expected, got));
    }
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            let whole = is_whole(path);
            object_mismatch(path, expected, got, whole, ordered)
        }
        (Value::Array(expected), Value::Array(got)) => {
            let same = expected.len() == got.len()
                && if ordered {
                    expected.iter().zip(got).all(|(e, g)| mismatch(path, e, g, ordered).is_none())
                } else {
                    pairing_exists(expected, got)
                };
            (!same).then(|| say(path, &Value::Array(expected.clone()), &Value::Array(got.clone())))
        }
        _ => (expected != got).then(|| say(path, expected, got)),
    }
}

/// `results`, `offsets` and `static_members` are maps by key; all other objects are records with named fields.
fn is_whole(path: &str) -> bool {
    matches!(path, "results" | "offsets" | "static_members")
}

fn object_mismatch(
    path: &str,
    expected: &Map<String, Value>,
    got: &Map<String, Value>,
    whole: bool,
    ordered: bool,
) -> Option<String> {
    if whole && let Some(extra) = got.keys().find(|key| !expected.contains_key(*key)) {
        return Some(format!("{path}: got an entry {extra} that is not expected"));
    }
    expected.iter().find_map(|(key, value)| {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match got.get(key) {
            Some(got) => mismatch(&inner, value, got, ordered),
            None => Some(format!("{inner}: expected {value}, got no such field or entry")),
        }
    })
}

/// Whether each expected entry can be given a got entry of its own (a perfect matching, found by augmenting).
fn pairing_exists(expected: &[Value], got: &[Value]) -> bool {
    fn place(e: usize, fits: &[Vec<bool>], seen: &mut [bool], owner: &mut [Option<usize>]) -> bool {
        for g in 0..owner.len() {
            if fits[e][g] && !seen[g] {
                seen[g] = true;
                let free = match owner[g] {
                    None => true,
                    Some(other) => place(other, fits, seen, owner),
                };
                if free {
                    owner[g] = Some(e);
                    return true;
                }
            }
        }
        false
    }
    let fits: Vec<Vec<bool>> =
        expected.iter().map(|e| got.iter().map(|g| mismatch("", e, g, false).is_none()).collect()).collect();
    let mut owner = vec![None; got.len()];
    (0..expected.len()).all(|e| place(e, &fits, &mut vec![false; got.len()], &mut owner))
}

enum Matcher<'a> {
    AnyOf(&'a [Value]),
    Not(&'a Value),
    Prefix(&'a str),
}

fn matcher(expected: &Value) -> Option<Matcher<'_>> {
    let object = expected.as_object().filter(|object| object.len() == 1)?;
    let (word, value) = object.iter().next()?;
    match (word.as_str(), value) {
        ("any_of", Value::Array(options)) => Some(Matcher::AnyOf(options)),
        ("not", value) => Some(Matcher::Not(value)),
        ("prefix", Value::String(prefix)) => Some(Matcher::Prefix(prefix)),
        _ => None,
    }
}

impl Matcher<'_> {
    fn accepts(&self, got: &Value, ordered: bool) -> bool {
        match self {
            Self::AnyOf(options) => options.iter().any(|o| mismatch("", o, got, ordered).is_none()),
            Self::Not(value) => mismatch("", value, got, ordered).is_some(),
            Self::Prefix(prefix) => got.as_str().is_some_and(|text| text.starts_with(prefix)),
        }
    }
}

fn say(path: &str, expected: &Value, got: &Value) -> String {
    let path = if path.is_empty() { "value" } else { path };
    format!("{path}: expected {expected}, got {got}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(expected: &Value, got: &Value) -> bool {
        mismatch("", expected, got, false).is_none()
    }

    #[test]
    fn literals_must_be_equal_in_value_and_type() {
        assert!(matches(&json!(1), &json!(1)));
        assert!(matches(&json!(null), &json!(null)));
        for got in [json!(2), json!("1"), json!(null), json!(true), json!([1])] {
            assert!(!matches(&json!(1), &got), "{got}");
        }
        assert!(!matches(&json!(""), &json!(null)));
        assert!(!matches(&json!(null), &json!("")));
    }

    #[test]
    fn matchers_accept_and_refuse() {
        assert!(matches(&json!({"any_of": ["A", "B"]}), &json!("B")));
        assert!(!matches(&json!({"any_of": ["A", "B"]}), &json!("C")));
        assert!(matches(&json!({"not": "A"}), &json!("B")));
        assert!(!matches(&json!({"not": "A"}), &json!("A")));
        assert!(matches(&json!({"prefix": "client-"}), &json!("client-7")));
        assert!(!matches(&json!({"prefix": "client-"}), &json!("clien")));
        assert!(!matches(&json!({"prefix": "client-"}), &json!(null)));
        assert!(matches(&json!({"not": {"any_of": ["A", "B"]}}), &json!("C")));
        assert!(!matches(&json!({"not": {"any_of": ["A", "B"]}}), &json!("A")));
    }

    #[test]
    fn records_are_compared_by_the_fields_mentioned_and_maps_by_all() {
        assert!(matches(&json!({"error": "NONE"}), &json!({"error": "NONE", "generation": 1})));
        assert!(!matches(&json!({"leader": "m"}), &json!({"error": "NONE"})));
        let got = json!({"results": {"t:0": "NONE", "t:1": "NONE"}});
        assert!(matches(&got, &got));
        assert!(!matches(&json!({"results": {"t:0": "NONE"}}), &got));
        assert!(!matches(&got, &json!({"results": {"t:0": "NONE"}})));
        assert!(!matches(&json!({"results": {}}), &got));
        let offsets = json!({"offsets": {"t:0": {"offset": 1, "error": "NONE"}}});
        assert!(matches(&json!({"offsets": {"t:0": {"offset": 1}}}), &offsets));
        assert!(!matches(&json!({"offsets": {"t:0": {"offset": 2}}}), &offsets));
        assert!(!matches(&json!({"offsets": {}}), &offsets));
    }

    #[test]
    fn lists_need_a_partner_for_each_entry() {
        assert!(matches(&json!(["a", "b"]), &json!(["b", "a"])));
        assert!(!matches(&json!(["a", "b"]), &json!(["a"])));
        assert!(!matches(&json!(["a"]), &json!(["a", "b"])));
        assert!(!matches(&json!(["a", "a"]), &json!(["a", "b"])));
        assert!(!matches(&json!([]), &json!(["a"])));
        // The greedy choice (first expected takes first got) would find none.
        let expected = json!([{"prefix": "m"}, "m1"]);
        assert!(matches(&expected, &json!(["m1", "m2"])));
        assert!(!matches(&expected, &json!(["m2", "m2"])));
    }

    #[test]
    fn ordered_lists_are_compared_in_order() {
        assert!(mismatch("", &json!(["a", "b"]), &json!(["a", "b"]), true).is_none());
        assert!(mismatch("", &json!(["a", "b"]), &json!(["b", "a"]), true).is_some());
    }
}
