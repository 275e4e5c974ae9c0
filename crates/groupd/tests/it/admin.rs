//! The admin commands as a user runs them: the program itself, its output and its exit code.

mod hostile;
mod real;
mod scripted;

use std::process::{Command, Output};

/// What a run of the program came to.
#[derive(Debug)]
pub(crate) struct Run {
    code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs `groupd` with these words, against this server.
pub(crate) fn groupd(server: &str, typed: &str) -> Run {
    let words = typed.split_whitespace();
    let mut command = Command::new(env!("CARGO_BIN_EXE_groupd"));
    // The tests' own environment must not speak for the user.
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GROUPD_"));
    for (name, _) in ours {
        command.env_remove(name);
    }
    let Output { status, stdout, stderr } =
        command.args(words).env("GROUPD_SERVER", server).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Run { code: status.code().expect("an exit code"), out: text(stdout), err: text(stderr) }
}
