//! What happened: always as a fingerprint, and as text when somebody wants to read it.
//!
//! A run that nobody reads only mixes numbers; since a seed replays exactly, the text of a failure is made by running
//! it again.

use std::fmt::Write;

use crate::agenda::Moment;
use crate::random::mix;

/// The record of one run.
#[derive(Debug, Default)]
pub struct Transcript {
    fingerprint: u64,
    lines: u64,
    text: Option<String>,
}

impl Transcript {
    /// One that keeps the text too.
    pub fn recording() -> Self {
        Self { text: Some(String::new()), ..Self::default() }
    }

    /// Notes one line: `kind` and `words` tell it from all others, `say` tells it to people.
    #[inline]
    pub fn note(&mut self, now: Moment, kind: &'static str, words: [u64; 3], say: impl FnOnce() -> String) {
        let start = kind.as_bytes();
        let named = u64::from(start[0]) | u64::from(start[start.len() - 1]) << 8 | (start.len() as u64) << 16;
        let mut state = mix(self.fingerprint ^ now.0);
        state = mix(state.wrapping_add(named) ^ words[0]);
        state = state.wrapping_add(words[1].rotate_left(17)) ^ words[2].rotate_left(41);
        self.fingerprint = mix(state);
        self.lines += 1;
        if let Some(text) = &mut self.text {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{now} {kind:9} {}", say());
        }
    }

    /// A number that stands for all that was noted, in order.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// How many lines were noted.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The text; empty unless it was recorded.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}
