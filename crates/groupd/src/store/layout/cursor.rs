//! Writes and reads the few primitives that records are made of.

use std::sync::Arc;

use super::LayoutError;

/// Four bytes that sort as `value` does.
pub(crate) fn ordered_i32(value: i32) -> [u8; 4] {
    (value.cast_unsigned() ^ (1 << 31)).to_be_bytes()
}

/// Appends primitives to a buffer.
#[derive(Debug)]
pub struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// An unsigned number, 1 to 10 bytes.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push((value & 0x7f) as u8);
    }

    /// A signed number, short when near zero.
    pub fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// Eight bytes that sort as the number does (big endian, for keys).
    pub fn ordered_i64(&mut self, value: i64) {
        self.0.extend_from_slice(&(value.cast_unsigned() ^ (1 << 63)).to_be_bytes());
    }

    /// Four bytes that sort as the number does (big endian, for keys).
    pub fn ordered_i32(&mut self, value: i32) {
        self.0.extend_from_slice(&ordered_i32(value));
    }

    /// Bytes with their length before them.
    pub fn bytes(&mut self, value: &[u8]) {
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A text with its length before it.
    pub fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// A text that may be missing: length + 1, or 0.
    pub fn optional_text(&mut self, value: Option<&str>) {
        match value {
            None => self.u8(0),
            Some(text) => {
                self.varint(text.len() as u64 + 1);
                self.0.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Takes primitives off the front of bytes that may be damaged.
#[derive(Clone, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// # Errors
    /// [`LayoutError::Trailing`] if bytes are left.
    pub fn finish(&self) -> Result<(), LayoutError> {
        if self.0.is_empty() { Ok(()) } else { Err(LayoutError::Trailing) }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], as all methods below.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], LayoutError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(LayoutError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`LayoutError::Truncated`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], LayoutError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(LayoutError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// One byte.
    ///
    /// # Errors
    /// [`LayoutError::Truncated`].
    pub fn u8(&mut self) -> Result<u8, LayoutError> {
        Ok(self.array::<1>()?[0])
    }

    /// See [`Writer::varint`].
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], [`LayoutError::Number`].
    pub fn varint(&mut self) -> Result<u64, LayoutError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                return Err(LayoutError::Number);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(LayoutError::Number)
    }

    /// See [`Writer::signed`].
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], [`LayoutError::Number`].
    pub fn signed(&mut self) -> Result<i64, LayoutError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A signed number of 32 bits.
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], [`LayoutError::Number`].
    pub fn signed_i32(&mut self) -> Result<i32, LayoutError> {
        i32::try_from(self.signed()?).map_err(|_| LayoutError::Number)
    }

    /// See [`Writer::ordered_i64`].
    ///
    /// # Errors
    /// [`LayoutError::Truncated`].
    pub fn ordered_i64(&mut self) -> Result<i64, LayoutError> {
        Ok((u64::from_be_bytes(self.array()?) ^ (1 << 63)).cast_signed())
    }

    /// See [`Writer::ordered_i32`].
    ///
    /// # Errors
    /// [`LayoutError::Truncated`].
    pub fn ordered_i32(&mut self) -> Result<i32, LayoutError> {
        Ok((u32::from_be_bytes(self.array()?) ^ (1 << 31)).cast_signed())
    }

    /// A length that the bytes left can hold.
    fn length(&mut self) -> Result<usize, LayoutError> {
        usize::try_from(self.varint()?).map_err(|_| LayoutError::Number)
    }

    /// See [`Writer::bytes`].
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], [`LayoutError::Number`].
    pub fn bytes(&mut self) -> Result<&'a [u8], LayoutError> {
        let length = self.length()?;
        self.take(length)
    }

    /// See [`Writer::text`].
    ///
    /// # Errors
    /// [`LayoutError::Truncated`], [`LayoutError::Number`], [`LayoutError::Text`].
    pub fn text(&mut self) -> Result<&'a str, LayoutError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| LayoutError::Text)
    }

    /// A text to keep.
    ///
    /// # Errors
    /// As [`Reader::text`].
    pub fn shared_text(&mut self) -> Result<Arc<str>, LayoutError> {
        Ok(self.text()?.into())
    }

    /// See [`Writer::optional_text`].
    ///
    /// # Errors
    /// As [`Reader::text`].
    pub fn optional_text(&mut self) -> Result<Option<Arc<str>>, LayoutError> {
        match self.length()? {
            0 => Ok(None),
            length => {
                let bytes = self.take(length - 1)?;
                Ok(Some(std::str::from_utf8(bytes).map_err(|_| LayoutError::Text)?.into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_at_their_edges() {
        for value in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN, i64::from(i32::MIN)] {
            let mut bytes = Vec::new();
            Writer(&mut bytes).signed(value);
            let mut reader = Reader(&bytes);
            assert_eq!(reader.signed(), Ok(value));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn ordered_numbers_sort_as_numbers() {
        let bytes = |value| {
            let mut bytes = Vec::new();
            Writer(&mut bytes).ordered_i32(value);
            bytes
        };
        let numbers = [i32::MIN, -2, -1, 0, 1, 255, 256, i32::MAX];
        assert!(numbers.windows(2).all(|pair| bytes(pair[0]) < bytes(pair[1])));
        assert!(numbers.iter().all(|&n| Reader(&bytes(n)).ordered_i32() == Ok(n)));
    }

    #[test]
    fn a_varint_that_does_not_end_or_fit_is_refused() {
        assert_eq!(Reader(&[0x80; 3]).varint(), Err(LayoutError::Truncated));
        assert_eq!(Reader(&[0xff; 11]).varint(), Err(LayoutError::Number));
        assert_eq!(
            Reader(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint(),
            Err(LayoutError::Number)
        );
    }
}
