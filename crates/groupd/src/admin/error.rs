//! What can go wrong with an admin command, as sentences that say what to do.

use std::fmt;
use std::io;
use std::time::Duration;

use kafka_wire::{ApiKey, WireError};

use super::codes;
use super::report::count;
use crate::settings::HostPort;

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum AdminError {
    /// What was typed cannot be.
    Usage(String),
    /// The server refused, with this code of the protocol.
    Refused {
        /// What it was about, as in `group orders`.
        about: String,
        /// The protocol's error code.
        code: i16,
    },
    /// The group has members, whose next commits would undo what was wanted.
    Alive {
        /// Which group.
        group: String,
        /// How many members.
        members: usize,
        /// The names of the first.
        some: String,
    },
    /// No connection, or it broke.
    Unreachable {
        /// Where.
        server: HostPort,
        /// As the system says it.
        cause: io::Error,
    },
    /// Connected, and then silence.
    TimedOut {
        /// Where.
        server: HostPort,
        /// How long it was waited for.
        patience: Duration,
    },
    /// An answer that is none.
    Garbled {
        /// Where.
        server: HostPort,
        /// What was wrong.
        why: String,
    },
    /// The server does not know this API in a version we know.
    NotOffered {
        /// Where.
        server: HostPort,
        /// What was wanted.
        api: ApiKey,
    },
    /// The server said no, in words of its own.
    Said(String),
    /// Nobody takes commands there.
    NoCommands {
        /// Where.
        http: HostPort,
        /// As the system says it.
        cause: io::Error,
    },
    /// A server that takes no commands: its clock is the system's.
    NotForTests {
        /// Where.
        http: HostPort,
    },
}

impl AdminError {
    /// A refusal, if the code is one.
    pub(super) fn check(code: i16, about: impl Into<String>) -> Result<(), Self> {
        if code == codes::NONE { Ok(()) } else { Err(Self::Refused { about: about.into(), code }) }
    }

    /// Whether the server understood and said no.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether asking again in a moment may help.
    pub(super) fn passes(&self) -> bool {
        match self {
            Self::Refused { code, .. } => codes::passes(*code),
            Self::Unreachable { .. } => true,
            Self::Usage(_)
            | Self::Alive { .. }
            | Self::TimedOut { .. }
            | Self::Garbled { .. }
            | Self::NotOffered { .. }
            | Self::Said(_)
            | Self::NoCommands { .. }
            | Self::NotForTests { .. } => false,
        }
    }

    pub(super) fn garbled(server: &HostPort, why: WireError) -> Self {
        Self::Garbled { server: server.clone(), why: why.to_string() }
    }

    pub(super) fn io(server: &HostPort, cause: io::Error, patience: Duration) -> Self {
        let server = server.clone();
        match cause.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::TimedOut { server, patience },
            _ => Self::Unreachable { server, cause },
        }
    }
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(sentence) | Self::Said(sentence) => f.write_str(sentence),
            Self::Refused { about, code } => {
                write!(f, "{about}: {} ({})", codes::sentence(*code), codes::name(*code))
            }
            Self::Alive { group, members, some } => write!(
                f,
                "group {group} has {} ({some}), whose next commits would undo this; stop them, \
                 or make them leave with: groupd groups evict {group} --all",
                count(*members, "live member")
            ),
            Self::Unreachable { server, cause } if cause.kind() == io::ErrorKind::UnexpectedEof => write!(
                f,
                "{server} closed the connection instead of answering; is it a Kafka server, without TLS?"
            ),
            Self::Unreachable { server, cause } => write!(
                f,
                "{server} cannot be reached ({cause}); is a server running there? \
                 Name another with --server HOST:PORT"
            ),
            Self::TimedOut { server, patience } => write!(
                f,
                "{server} did not answer within {} s; allow more with --timeout SECONDS",
                patience.as_secs()
            ),
            Self::Garbled { server, why } => {
                write!(
                    f,
                    "{server} sent something that is no answer ({why}); is it a Kafka server, without TLS?"
                )
            }
            Self::NotOffered { server, api } => {
                write!(f, "{server} does not offer {} in a version that is known here", api.name())
            }
            Self::NoCommands { http, cause } => write!(
                f,
                "no commands are taken at {http} ({cause}); a server started with --simulated-clock takes them at its \
                 --http address: name that with --http HOST:PORT"
            ),
            Self::NotForTests { http } => write!(
                f,
                "the server at {http} is not for tests: its clock is the system's, and nothing moves it; \
                 start one with groupd serve --simulated-clock"
            ),
        }
    }
}
