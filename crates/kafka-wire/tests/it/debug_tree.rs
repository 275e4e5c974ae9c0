//! Brings the `Debug` output of both crates to one form, so that values can be compared field by field, by
//! name.
//!
//! Newtypes and `Some` vanish, `None` is `null`, byte strings and ids are lists of numbers.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// The one form of a `Debug` output.
pub(crate) fn plain(debug: &str) -> String {
    let mut parser = Parser { rest: debug.chars().peekable() };
    let value = parser.value();
    assert_eq!(parser.rest.next(), None, "not all of it was read: {debug}");
    value
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    fn value(&mut self) -> String {
        match self.rest.peek().copied() {
            Some('"') => self.string(),
            Some('[') => format!("[{}]", self.list('[', ']').join(",")),
            Some(_) => self.named(),
            None => panic!("the text ends too early"),
        }
    }

    fn named(&mut self) -> String {
        let word = self.word();
        match self.rest.peek().copied() {
            Some('"') if word == "b" => bytes(&self.string()),
            Some('(') => self.list('(', ')').join(","),
            Some(' ') if self.starts_with(" {") => {
                self.rest.next();
                self.fields()
            }
            Some(_) | None if word == "None" => "null".to_owned(),
            Some(_) | None if word.len() == 36 => {
                let digits = word.replace('-', "");
                let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap().to_string();
                format!("[{}]", (0..32).step_by(2).map(byte).collect::<Vec<_>>().join(","))
            }
            Some(_) | None => word,
        }
    }

    fn fields(&mut self) -> String {
        let mut fields = Vec::new();
        self.expect('{');
        loop {
            self.spaces();
            if self.rest.next_if_eq(&'}').is_some() {
                break;
            }
            let name = self.word();
            assert!(!name.is_empty(), "no name at {:?}", self.rest.clone().take(40).collect::<String>());
            self.expect(':');
            self.spaces();
            if name == "unknown_tagged_fields" {
                assert!(self.starts_with("{}"), "they found an unknown field");
                self.expect('{');
                self.expect('}');
            } else {
                fields.push(format!("{name}={}", self.value()));
            }
            self.spaces();
            self.rest.next_if_eq(&',');
        }
        format!("{{{}}}", fields.join(","))
    }

    fn list(&mut self, open: char, close: char) -> Vec<String> {
        let mut values = Vec::new();
        self.expect(open);
        while self.rest.next_if_eq(&close).is_none() {
            values.push(self.value());
            self.rest.next_if_eq(&',');
            self.spaces();
        }
        values
    }

    fn string(&mut self) -> String {
        let mut text = String::new();
        self.expect('"');
        text.push('"');
        loop {
            let next = self.rest.next().expect("a string ends");
            text.push(next);
            match next {
                '"' => return text,
                '\\' => text.push(self.rest.next().expect("an escape ends")),
                _ => {}
            }
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.rest.next_if(|c| c.is_alphanumeric() || "_-.".contains(*c)) {
            word.push(next);
        }
        word
    }

    fn spaces(&mut self) {
        while self.rest.next_if_eq(&' ').is_some() {}
    }

    fn starts_with(&self, text: &str) -> bool {
        self.rest.clone().take(text.len()).eq(text.chars())
    }

    fn expect(&mut self, wanted: char) {
        let rest = self.rest.clone().take(40).collect::<String>();
        assert_eq!(self.rest.next(), Some(wanted), "at {rest}");
    }
}

/// The numbers of a byte string as Rust shows it.
fn bytes(quoted: &str) -> String {
    let mut rest = quoted[1..quoted.len() - 1].bytes();
    let mut list = String::new();
    while let Some(byte) = rest.next() {
        let value = match byte {
            b'\\' => match rest.next().expect("an escape ends") {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'0' => 0,
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            },
            other => other,
        };
        write!(list, "{}{value}", if list.is_empty() { "" } else { "," }).unwrap();
    }
    format!("[{list}]")
}

#[test]
fn both_ways_to_show_a_value_are_one() {
    let ours = r#"Join { group: "a\"", id: Uuid([0, 17]), data: [1, 34], rack: None, list: [Some("x")] }"#;
    let theirs =
        r#"Join { group: GroupId("a\""), id: [0, 17], data: b"\x01\"", rack: None, list: [Tag("x")], "#;
    let theirs = format!("{theirs}unknown_tagged_fields: {{}} }}");
    assert_eq!(plain(ours), plain(&theirs));
    assert_eq!(plain("00010203-0405-0607-0809-0a0b0c0d0eff"), "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255]");
}
