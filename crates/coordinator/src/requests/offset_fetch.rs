//! Offsets.

use crate::coordinator::Coordinator;
use crate::messages::{OffsetFetch, Token};

pub(crate) fn handle(_coordinator: &mut Coordinator, _token: Token, _request: OffsetFetch) {}
