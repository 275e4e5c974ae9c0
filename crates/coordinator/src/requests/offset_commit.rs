//! Store offsets.

use crate::coordinator::Coordinator;
use crate::messages::{OffsetCommit, StoreError, Token};

/// Who waits for the offsets to be kept, and what becomes of them.
#[derive(Debug)]
pub(crate) struct Pending {}

pub(crate) fn handle(_coordinator: &mut Coordinator, _token: Token, _request: OffsetCommit) {}

/// The write ended. The group may be gone by now.
pub(crate) fn on_stored(_coordinator: &mut Coordinator, _pending: Pending, _outcome: Result<(), StoreError>) {
}
