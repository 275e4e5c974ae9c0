//! Who is at the other end of a connection, and the numbers of its questions.

use std::net::SocketAddr;
use std::sync::Arc;

use super::handed_out::HandedOut;
use crate::connection::Share;
use crate::wire::Asker;

/// Bits of a token's number that count the questions of one connection.
const QUESTION_BITS: u32 = 24;

/// The client of one connection.
#[derive(Debug)]
pub(crate) struct Client {
    /// The connection's number: no other open one has it.
    pub(crate) connection: u64,
    /// Where the client reached us: told to it as our address unless another is advertised.
    pub(crate) reached: SocketAddr,
    host: Arc<str>,
    id: Arc<str>,
    questions: u64,
    /// What the request that is begun holds until a shard has taken it.
    pub(crate) share: Option<Arc<Share>>,
    /// Member ids that it was told and has not used.
    pub(super) handed_out: HandedOut,
}

impl Client {
    /// The client of connection number `connection`, which comes from `peer` and reached us at `reached`.
    pub(crate) fn new(connection: u64, peer: SocketAddr, reached: SocketAddr) -> Self {
        let host = format!("/{}", peer.ip().to_canonical()).into();
        Self {
            connection,
            reached,
            host,
            id: "".into(),
            questions: 0,
            share: None,
            handed_out: HandedOut::default(),
        }
    }

    /// As the coordinator remembers it.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { client_id: &self.id, client_host: &self.host }
    }

    /// A token number that no other open request has. The lower bits are enough for all that one connection can
    /// have open, the upper ones for all connections there will ever be.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.questions = self.questions.wrapping_add(1);
        self.connection << QUESTION_BITS | self.questions & ((1 << QUESTION_BITS) - 1)
    }

    /// Takes the id from a request's header. It seldom changes.
    pub(crate) fn called(&mut self, client_id: Option<&str>) {
        let client_id = client_id.unwrap_or_default();
        if *self.id != *client_id {
            self.id = client_id.into();
        }
    }
}
