//! FindCoordinator, versions 0 to 6: this server coordinates everything it knows of.

use kafka_wire::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};

use super::Client;
use crate::node::Node;
use crate::wire::limits::{self, at_most};
use crate::wire::{Unreadable, errors};

/// From here on a request has several keys.
const BATCH: i16 = 4;
/// A group's coordinator.
const GROUP: i8 = 0;
/// A transaction's.
const TRANSACTION: i8 = 1;

pub(super) fn answer(
    node: &Node,
    client: &Client,
    version: i16,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Unreadable> {
    let request = FindCoordinatorRequest::decode(version, body)?;
    at_most(limits::GROUPS, "keys", request.coordinator_keys.len())?;
    let known = matches!(request.key_type, GROUP | TRANSACTION);
    let message = (!known).then(|| format!("There are no coordinators of type {} here.", request.key_type));
    let error_code = if known { errors::NONE } else { errors::INVALID_REQUEST };
    let (host, port) = node.address_for(client);
    let (node_id, host, port) = if known { (node.id, host.as_str(), port) } else { (-1, "", -1) };
    let error_message = message.as_deref();
    if version < BATCH {
        return Ok(FindCoordinatorResponse {
            error_code,
            error_message,
            node_id,
            host,
            port,
            ..Default::default()
        }
        .encode(version, out)?);
    }
    let keys = request.coordinator_keys.iter();
    let coordinators =
        keys.map(|key| Coordinator { key, node_id, host, port, error_code, error_message }).collect();
    Ok(FindCoordinatorResponse { coordinators, ..Default::default() }.encode(version, out)?)
}
