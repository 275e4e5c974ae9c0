//! Takes values off the front of a body, and never more than is there.

use crate::error::Fault;
use crate::field::{Field, Version};

/// A decoded message never holds more than this many bytes of heap per byte of its body, plus
/// [`MEMORY_ALLOWANCE`].
///
/// Strings and bytes are borrowed, so only arrays take memory. A list of strings of one letter each fits;
/// what is refused, as [`Fault::OverBudget`], is a frame of nothing but empty strings or empty structures,
/// which no client sends.
pub const MEMORY_PER_BYTE: usize = 16;

/// What a message of any size may take on top of [`MEMORY_PER_BYTE`], in bytes: a small frame that is dense
/// with small elements is no danger.
pub const MEMORY_ALLOWANCE: usize = 4096;

/// Kafka's own limit for strings of any encoding, in bytes.
pub(crate) const MAX_STRING: usize = i16::MAX as usize;

/// The bytes of one body that are not read yet, and the memory its arrays may still take.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    budget: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self {
            rest: body,
            budget: body.len().saturating_mul(MEMORY_PER_BYTE).saturating_add(MEMORY_ALLOWANCE),
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn into_rest(self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let Some((head, rest)) = self.rest.split_at_checked(length) else {
            return Err(Fault::Truncated { needed: length, left: self.rest.len() });
        };
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Fault::Truncated { needed: N, left: self.rest.len() });
        };
        self.rest = rest;
        Ok(*head)
    }

    /// An unsigned varint of at most 32 bits: five bytes, the last of which has four bits to give.
    #[inline]
    pub(crate) fn uvarint(&mut self) -> Result<u32, Fault> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            if shift == 28 && byte > 0x0f {
                return Err(Fault::Varint);
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value)
    }

    /// The length of a string; `None` is null.
    #[inline]
    pub(crate) fn string_length(&mut self, flexible: bool) -> Result<Option<usize>, Fault> {
        let length = if flexible { self.compact()? } else { i64::from(i16::from_be_bytes(self.array()?)) };
        match usize::try_from(length) {
            Ok(length) if length <= MAX_STRING => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Ok(_) | Err(_) => Err(Fault::Length(length)),
        }
    }

    /// The length of a byte sequence, or the count of an array; `None` is null.
    #[inline]
    pub(crate) fn length(&mut self, flexible: bool) -> Result<Option<usize>, Fault> {
        let length = if flexible { self.compact()? } else { i64::from(i32::from_be_bytes(self.array()?)) };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(Fault::Length(length)),
        }
    }

    /// Compact lengths are one more than they say, so that 0 is null.
    #[inline]
    fn compact(&mut self) -> Result<i64, Fault> {
        Ok(i64::from(self.uvarint()?) - 1)
    }

    /// The tag and the size of the next tagged field.
    pub(crate) fn tag(&mut self) -> Result<(u32, usize), Fault> {
        let tag = self.uvarint()?;
        let size = self.uvarint()? as usize;
        if size > self.left() {
            return Err(Fault::Truncated { needed: size, left: self.left() });
        }
        Ok((tag, size))
    }

    /// The value of a tagged field, which must take exactly the size it was announced with.
    pub(crate) fn tagged<T: Field<'a>>(
        &mut self,
        tag: u32,
        size: usize,
        version: Version,
        nullable: bool,
    ) -> Result<T, Fault> {
        let before = self.left();
        let value = T::read(self, version, nullable)?;
        let took = before - self.left();
        if took != size {
            return Err(Fault::TagSize { tag, said: size, took });
        }
        Ok(value)
    }

    /// Skips all tagged fields, where none is known.
    pub(crate) fn skip_tags(&mut self) -> Result<(), Fault> {
        for _ in 0..self.uvarint()? {
            let (_, size) = self.tag()?;
            self.take(size)?;
        }
        Ok(())
    }

    /// Sets memory aside before it is allocated.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.budget = self.budget.checked_sub(bytes).ok_or(Fault::OverBudget)?;
        Ok(())
    }

    /// Gives back what was freed again.
    pub(crate) fn refund(&mut self, bytes: usize) {
        self.budget += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_end_within_32_bits() {
        let read = |bytes: &[u8]| Reader::new(bytes).uvarint();
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x10]), Err(Fault::Varint));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x8f, 0x00]), Err(Fault::Varint));
        // Longer than it needs to be, which Kafka reads too.
        assert_eq!(read(&[0x81, 0x00]), Ok(1));
        assert_eq!(read(&[0x80]), Err(Fault::Truncated { needed: 1, left: 0 }));
    }

    #[test]
    fn lengths_below_null_are_refused() {
        assert_eq!(Reader::new(&[0xff, 0xff]).string_length(false), Ok(None));
        assert_eq!(Reader::new(&[0xff, 0xfe]).string_length(false), Err(Fault::Length(-2)));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xfe]).length(false), Err(Fault::Length(-2)));
        assert_eq!(Reader::new(&[0x80, 0x80, 0x02]).string_length(true), Ok(Some(32767)));
        assert_eq!(Reader::new(&[0x81, 0x80, 0x02]).string_length(true), Err(Fault::Length(32768)));
    }
}
