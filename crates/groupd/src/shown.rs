//! Text that others have given, made fit for a line of a log or of a table: nothing in it can pass for more than itself.
//!
//! A group's id may be any text of up to 32 KiB: with a line's end and the rest of a forged line in it, or with what
//! a terminal takes for commands.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The most characters of one text in a log line.
const IN_LOG: usize = 256;

/// An id as a value in a log line: as it is if it is printable and has no spaces and quotes, in quotes and with
/// escapes if not. Of a long one the front, and its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (front, cut) = front(self.0, IN_LOG);
        if !cut && !front.is_empty() && front.chars().all(is_plain) {
            return f.write_str(front);
        }
        write!(f, "{front:?}")?;
        if cut { write!(f, "…({} bytes)", self.0.len()) } else { Ok(()) }
    }
}

/// A sentence or list for a log field that is text: such fields are put in quotes and escaped by the log itself, so
/// that it is only shortened here.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match front(text, IN_LOG) {
        (_, false) => Cow::Borrowed(text),
        (front, true) => Cow::Owned(format!("{front}…({} bytes)", text.len())),
    }
}

/// A table's cell, or a sentence: one line, at most `width` characters and a `…`. Spaces and quotes stay as they are.
pub(crate) fn on_one_line(text: &str, width: usize) -> String {
    let (front, cut) = front(text, width);
    let mut line = String::with_capacity(front.len() + 3);
    for letter in front.chars() {
        if is_printable(letter) { line.push(letter) } else { line.extend(letter.escape_debug()) }
    }
    // Escapes are longer than what they stand for.
    let (front, cut_again) = self::front(&line, width);
    if cut || cut_again { format!("{front}…") } else { line }
}

/// A sentence for a terminal or a file, whole and on one line: whatever others have put into it.
pub(crate) fn sentence(text: &str) -> String {
    on_one_line(text, usize::MAX)
}

/// JSON that means the same, with escapes for what a terminal could take for more than text: JSON's own rules leave all
/// but the lowest control characters as they are.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    let is_harmless = |letter: char| letter == '\n' || is_printable(letter);
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_harmless(letter) {
            escaped.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(escaped, "\\u{unit:04x}").expect("invariant: writing to a String cannot fail");
            }
        }
    }
    Cow::Owned(escaped)
}

/// The first `most` characters, and whether there are more.
fn front(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

fn is_plain(letter: char) -> bool {
    is_printable(letter) && !matches!(letter, ' ' | '"' | '\\')
}

/// Not a control character, a line's end of any script, or a mark that turns or hides what stands beside it.
fn is_printable(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '\\') || letter.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_stays_and_what_is_not_is_quoted() {
        for (text, shown) in [
            ("orders-1.a_b", "orders-1.a_b"),
            ("größe", "größe"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("g\n INFO rebalance group=h", "\"g\\n INFO rebalance group=h\""),
            ("\u{1b}[2J", "\"\\u{1b}[2J\""),
            ("a\u{202e}b\u{2028}c\u{85}", "\"a\\u{202e}b\\u{2028}c\\u{85}\""),
            ("\"a\"", "\"\\\"a\\\"\""),
            ("\\n", "\"\\\\n\""),
        ] {
            assert_eq!(Shown(text).to_string(), shown);
        }
    }

    #[test]
    fn a_long_text_costs_a_short_line() {
        let text = "ü".repeat(16_000);
        assert_eq!(Shown(&text).to_string(), format!("\"{}\"…(32000 bytes)", "ü".repeat(256)));
        assert_eq!(shortened(&text), format!("{}…(32000 bytes)", "ü".repeat(256)));
        assert_eq!(Shown(&text[..512]).to_string(), text[..512]);
        assert_eq!(shortened(&text[..512]), text[..512]);
    }

    #[test]
    fn json_stays_what_it_means() {
        let text = "a\n\u{1b}[2J\u{9b}1m\u{202e}\u{7f}\u{e0001}\"\\ö";
        let plain = serde_json::to_string(text).expect("is JSON");
        let escaped = json(&plain);
        assert!(escaped.chars().all(is_printable), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).expect("is JSON"), text);
        assert!(matches!(json("{\n  \"größe\": 1\n}"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cell_is_one_line_and_never_wider() {
        assert_eq!(on_one_line("a \"note\"", 60), "a \"note\"");
        assert_eq!(on_one_line("a\r\n\tb\u{1b}[1m", 60), "a\\r\\n\\tb\\u{1b}[1m");
        assert_eq!(on_one_line("abcdef", 6), "abcdef");
        assert_eq!(on_one_line("abcdefg", 6), "abcdef…");
        assert_eq!(on_one_line("\n\n\n\n", 6), "\\n\\n\\n…");
        assert_eq!(sentence("group a\nerror: b\u{9b}2J is gone"), "group a\\nerror: b\\u{9b}2J is gone");
    }
}
