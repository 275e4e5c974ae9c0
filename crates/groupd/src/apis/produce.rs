//! Produce, versions 3 to 13: advertised, since clients do not fetch from a broker that has no Produce, and refused
//! for good, so that a producer fails at once instead of trying again.

use kafka_wire::{PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse};

use super::head::{Head, respond};
use crate::wire::limits::{self, at_most};
use crate::wire::{Unreadable, errors};

const WHY: &str = "groupd coordinates consumer groups and keeps no records";
/// From here on an error has a message.
const MESSAGES: i16 = 8;

/// What became of it.
pub(super) enum Answer {
    Written,
    /// The producer wants no answer (acks = 0), so that only the end of the connection tells it.
    Unwanted,
}

pub(super) fn answer(head: Head, body: &[u8], out: &mut Vec<u8>) -> Result<Answer, Unreadable> {
    let request = ProduceRequest::decode(head.version, body)?;
    let partitions = request.topic_data.iter().map(|topic| topic.partition_data.len()).sum();
    at_most(limits::PARTITIONS, "partitions", partitions)?;
    if request.acks == 0 {
        return Ok(Answer::Unwanted);
    }
    let responses = request.topic_data.iter().map(|topic| {
        let refused = topic.partition_data.iter().map(|partition| PartitionProduceResponse {
            index: partition.index,
            error_code: errors::POLICY_VIOLATION,
            base_offset: -1,
            error_message: (head.version >= MESSAGES).then_some(WHY),
            ..Default::default()
        });
        TopicProduceResponse {
            name: topic.name,
            topic_id: topic.topic_id,
            partition_responses: refused.collect(),
        }
    });
    let response = ProduceResponse { responses: responses.collect(), ..Default::default() };
    respond(head, out, |out| response.encode(head.version, out))?;
    Ok(Answer::Written)
}
