//! The `DescribeCluster` API: the brokers of a cluster (KIP-700).

use crate::structure::structures;

structures! {
    /// Asks for brokers or controllers.
    DescribeClusterRequest {
        include_cluster_authorized_operations: bool => 0..;
        endpoint_type: i8 = 1 => 1..;
        include_fenced_brokers: bool => 2..;
    }

    /// The nodes of the cluster.
    DescribeClusterResponse<'a> {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 0.., nullable 0..;
        endpoint_type: i8 = 1 => 1..;
        cluster_id: &'a str => 0..;
        controller_id: i32 = -1 => 0..;
        brokers: Vec<DescribeClusterBroker<'a>> => 0..;
        cluster_authorized_operations: i32 = i32::MIN => 0..;
    }

    /// One of [`DescribeClusterResponse::brokers`].
    DescribeClusterBroker<'a> {
        broker_id: i32 => 0..;
        host: &'a str => 0..;
        port: i32 => 0..;
        rack: Option<&'a str> => 0.., nullable 0..;
        is_fenced: bool => 2..;
    }
}
