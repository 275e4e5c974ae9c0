//! The parameters of a command: the query of a request's target.

use std::time::Duration;

/// Parameters of one request, at most.
const MOST: usize = 64;

/// What was asked for, name by name. What is not taken is one that nobody knows.
#[derive(Debug)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
}

impl Parameters {
    /// Those of `query`, percent-decoded.
    ///
    /// # Errors
    ///
    /// What cannot be read.
    pub(super) fn of(query: &str) -> Result<Self, String> {
        let parts = query.split('&').filter(|part| !part.is_empty());
        if parts.clone().count() > MOST {
            return Err(format!("more than {MOST} parameters"));
        }
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decoded(name)?, decoded(value)?))
        };
        Ok(Self { pairs: parts.map(pair).collect::<Result<_, String>>()? })
    }

    /// The values of `name`, each given once or more.
    pub(super) fn all(&mut self, name: &str) -> Vec<String> {
        self.pairs.extract_if(.., |(given, _)| given == name).map(|(_, value)| value).collect()
    }

    /// The value of `name`, if it was given.
    ///
    /// # Errors
    ///
    /// If it was given twice.
    pub(super) fn one(&mut self, name: &str) -> Result<Option<String>, String> {
        let mut values = self.all(name);
        if values.len() > 1 {
            return Err(format!("{name} is given twice"));
        }
        Ok(values.pop())
    }

    /// The value of `name`.
    ///
    /// # Errors
    ///
    /// If it was not given, or twice.
    pub(super) fn required(&mut self, name: &str) -> Result<String, String> {
        self.one(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// All has been taken.
    ///
    /// # Errors
    ///
    /// If there is a parameter that nobody knows.
    pub(super) fn finish(self) -> Result<(), String> {
        match self.pairs.first() {
            Some((name, _)) => Err(format!("there is no parameter {:?} here", shortened(name))),
            None => Ok(()),
        }
    }
}

/// Whole milliseconds, as in `45s` or `1h 30m`.
///
/// # Errors
///
/// Why `text` is none.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("time does not go back: {:?}", shortened(text)));
    }
    let example = "a time is 45s, 250ms or 1h 30m";
    let time = humantime::parse_duration(text)
        .map_err(|why| format!("{:?} is no time ({why}); {example}", shortened(text)))?;
    let whole = u64::try_from(time.as_millis()).ok().filter(|ms| Duration::from_millis(*ms) == time);
    whole.ok_or_else(|| format!("{:?} is not a whole number of milliseconds; {example}", shortened(text)))
}

/// Enough of `text` to know it by.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                match (digit(rest.next()), digit(rest.next())) {
                    (Some(high), Some(low)) => u8::try_from(high * 16 + low).unwrap_or_default(),
                    _ => return Err(format!("{:?} is not percent-encoded", shortened(text))),
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| format!("{:?} is not UTF-8", shortened(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_once_and_strangers_refused() {
        let mut given = Parameters::of("by=45s&silent=a%20b&silent=c+%C3%A9&flag").expect("can be read");
        assert_eq!(given.required("by").expect("is there"), "45s");
        assert_eq!(given.all("silent"), ["a b", "c é"]);
        assert!(given.required("by").is_err());
        assert_eq!(given.finish().expect_err("one is left"), "there is no parameter \"flag\" here");
        for junk in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(Parameters::of(junk).is_err(), "{junk}");
        }
        assert!(Parameters::of(&"a&".repeat(65)).is_err());
        assert!(Parameters::of("a=1&a=2").expect("can be read").one("a").is_err());
    }

    #[test]
    fn times_are_whole_and_go_forward() {
        assert_eq!(milliseconds("45s"), Ok(45_000));
        assert_eq!(milliseconds("1h 30m"), Ok(5_400_000));
        assert_eq!(milliseconds("0s"), Ok(0));
        for junk in ["", "-5s", "5", "1us", "soon", "99999999999999999999y", "1e3s", "18446744073709551615s"]
        {
            assert!(milliseconds(junk).is_err(), "{junk}");
        }
    }
}
