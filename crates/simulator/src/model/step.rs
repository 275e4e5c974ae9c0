//! One thing that can happen next.

use std::fmt;

/// What happens. Numbers are those of clients, or of coordinators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client sends what it has to send next.
    Send(u8),
    /// The client dies and comes back without memory; the end of its connection is noticed.
    Crash(u8),
    /// The same, and nobody notices.
    Vanish(u8),
    /// The client leaves.
    Leave(u8),
    /// The oldest write of the coordinator ends well, unless another owner has taken over.
    Stored(u8),
    /// It fails.
    StoreFails(u8),
    /// It is written, and never reported.
    Unreported(u8),
    /// The clock goes to the next deadline.
    Tick,
    /// Another coordinator takes over, and the old one is not told.
    Move,
    /// The old one is told.
    Told,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(client) => write!(f, "client {client} sends"),
            Self::Crash(client) => write!(f, "client {client} dies, its connection ends"),
            Self::Vanish(client) => write!(f, "client {client} dies unnoticed"),
            Self::Leave(client) => write!(f, "client {client} leaves"),
            Self::Stored(owner) => write!(f, "the oldest write of coordinator {owner} is kept and reported"),
            Self::StoreFails(owner) => write!(f, "the oldest write of coordinator {owner} fails"),
            Self::Unreported(owner) => {
                write!(f, "the oldest write of coordinator {owner} is kept and never reported")
            }
            Self::Tick => f.write_str("time passes, to the next deadline"),
            Self::Move => f.write_str("another coordinator takes over"),
            Self::Told => f.write_str("the old coordinator is told"),
        }
    }
}
