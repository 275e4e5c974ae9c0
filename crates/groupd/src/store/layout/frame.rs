//! One batch as it lies in the append table: checksum, partition, epoch, records.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};

use super::{LayoutError, RawRecord, Reader};

/// Bytes of a frame before its records.
pub const FRAME_HEADER: usize = 20;

/// A batch read back, its checksum verified; the records are parsed as they are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Where it belongs.
    pub partition: OffsetsPartition,
    /// Under which ownership it was written.
    pub epoch: OwnerEpoch,
    /// How many records there are.
    pub count: u32,
    /// The records, one behind the other.
    pub records: &'a [u8],
}

/// Appends one batch to `out`. `records` are `count` encoded records.
///
/// # Panics
/// If `records` are longer than 4 GiB; batches are bounded far below.
pub fn write_frame(
    out: &mut Vec<u8>,
    partition: OffsetsPartition,
    epoch: OwnerEpoch,
    count: u32,
    records: &[u8],
) {
    let length = u32::try_from(records.len() + 12).expect("invariant: batches are bounded far below 4 GiB");
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&partition.0.to_le_bytes());
    out.extend_from_slice(&epoch.0.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(records);
    let checksum = crc32c::crc32c(&out[start + 4..]);
    out[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
}

impl<'a> Frame<'a> {
    /// Takes one frame off the front of `bytes`.
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], [`LayoutError::Checksum`].
    pub fn read(bytes: &mut &'a [u8]) -> Result<Self, LayoutError> {
        let mut reader = Reader(bytes);
        let checksum = u32::from_le_bytes(reader.array()?);
        let checked = reader.0;
        let length = u32::from_le_bytes(reader.array()?) as usize;
        let mut body = Reader(reader.take(length)?);
        if crc32c::crc32c(&checked[..4 + length]) != checksum {
            return Err(LayoutError::Checksum);
        }
        *bytes = reader.0;
        Ok(Self {
            partition: OffsetsPartition(i32::from_le_bytes(body.array()?)),
            epoch: OwnerEpoch(i32::from_le_bytes(body.array()?)),
            count: u32::from_le_bytes(body.array()?),
            records: body.0,
        })
    }

    /// The records in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<RawRecord<'a>, LayoutError>> + use<'a> {
        RawRecord::all(self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_and_damage_is_seen() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, OffsetsPartition(3), OwnerEpoch(7), 0, &[]);
        write_frame(&mut bytes, OffsetsPartition(-1), OwnerEpoch(1), 2, &[1, 2, 3]);
        let mut rest = bytes.as_slice();
        let first = Frame::read(&mut rest).unwrap();
        assert_eq!((first.partition.0, first.epoch.0, first.count, first.records.len()), (3, 7, 0, 0));
        assert_eq!(Frame::read(&mut rest).unwrap().records, &[1, 2, 3]);
        assert!(rest.is_empty());

        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            let mut rest = damaged.as_slice();
            let both = Frame::read(&mut rest).and_then(|_| Frame::read(&mut rest));
            assert!(both.is_err(), "a flipped bit at {at} went unseen");
        }
        for end in 0..FRAME_HEADER {
            assert_eq!(Frame::read(&mut &bytes[..end]), Err(LayoutError::Truncated));
        }
    }
}
