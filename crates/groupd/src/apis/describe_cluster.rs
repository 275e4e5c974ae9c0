//! DescribeCluster, versions 0 to 2: one broker, which is the controller too.

use kafka_wire::{DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse, WireError};

use super::Client;
use crate::node::Node;

pub(super) fn answer(
    node: &Node,
    client: &Client,
    version: i16,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let request = DescribeClusterRequest::decode(version, body)?;
    let (host, port) = node.address_for(client);
    let broker = DescribeClusterBroker { broker_id: node.id, host: &host, port, ..Default::default() };
    DescribeClusterResponse {
        endpoint_type: request.endpoint_type,
        cluster_id: &node.cluster_id,
        controller_id: node.id,
        brokers: vec![broker],
        ..Default::default()
    }
    .encode(version, out)
}
