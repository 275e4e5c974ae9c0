//! What a client does and what it holds a server to: the same for all kinds of clients.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use super::connection::{Connection, Life};
use super::ledger::Settled;

/// One client's account of a server.
pub(super) trait Account: Send {
    /// What its changes are, for the count.
    fn kind(&self) -> &'static str;

    /// Makes changes until the server is gone, or this many are acknowledged. Tells of each answer.
    fn run(&mut self, address: SocketAddr, answers: &Sender<()>, most: u64) -> Life<()>;

    /// Holds the server to what it said.
    fn settle(&mut self, connection: &mut Connection) -> Life<Settled>;
}
