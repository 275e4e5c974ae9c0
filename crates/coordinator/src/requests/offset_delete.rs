//! Offsets.

use crate::coordinator::Coordinator;
use crate::messages::{OffsetDelete, Token};

pub(crate) fn handle(_coordinator: &mut Coordinator, _token: Token, _request: OffsetDelete) {}
