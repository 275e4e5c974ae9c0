//! Frames out of a byte stream: a length of four bytes, then that many. Memory follows the bytes that arrived,
//! never the length that was announced.

use std::future::poll_fn;
use std::io;

use tokio::net::TcpStream;

/// Bytes read from a socket at once.
const READ: usize = 8 * 1024;

/// Why a stream cannot be read on.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone, Copy)]
pub(crate) enum FrameError {
    /// The announced length is not between 0 and the limit.
    #[error("a frame of {announced} bytes, {limit} are allowed")]
    Length {
        /// As the client wrote it.
        announced: i32,
        /// `socket.request.max.bytes`.
        limit: usize,
    },
}

/// The half-read end of a stream.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
    /// Bytes at the front that were handed out.
    consumed: usize,
    limit: usize,
}

impl Frames {
    /// Frames of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), consumed: 0, limit }
    }

    /// Waits for bytes and takes up to [`READ`] of them. `Ok(false)`: the client closed its side. Dropped
    /// half-way it loses nothing.
    ///
    /// # Errors
    ///
    /// Those of the socket.
    pub(crate) async fn fill(&mut self, stream: &TcpStream) -> io::Result<bool> {
        loop {
            poll_fn(|cx| stream.poll_read_ready(cx)).await?;
            self.compact();
            self.buffer.reserve(READ);
            match stream.try_read_buf(&mut self.buffer) {
                Ok(read) => return Ok(read > 0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.compact(),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next whole frame, without its length; `None`: more bytes are needed.
    ///
    /// # Errors
    ///
    /// A length that cannot be: the stream is not to be read further.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = &self.buffer[self.consumed..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let announced = i32::from_be_bytes(*length);
        let length = usize::try_from(announced).ok().filter(|length| *length <= self.limit);
        let length = length.ok_or(FrameError::Length { announced, limit: self.limit })?;
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        self.consumed += 4 + length;
        Ok(Some(frame))
    }

    /// The length of the frame that is here in part, if it is known and can be.
    pub(crate) fn half_read(&self) -> Option<usize> {
        let rest = &self.buffer[self.consumed..];
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        (length <= self.limit && rest.len() < length).then_some(length)
    }

    /// Bytes that are here and not handed out.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    /// Forgets what was handed out. An idle connection keeps no buffer.
    fn compact(&mut self) {
        if self.consumed == self.buffer.len() {
            self.buffer = Vec::new();
        } else {
            self.buffer.drain(..self.consumed);
        }
        self.consumed = 0;
    }

    /// Gives the buffer back if nothing is half read.
    pub(crate) fn rest(&mut self) {
        if self.consumed == self.buffer.len() {
            self.compact();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Frames {
        Frames { buffer: bytes.to_vec(), consumed: 0, limit: 10 }
    }

    #[test]
    fn frames_come_whole_and_in_order() {
        let mut frames = frames(&[0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 7]);
        assert_eq!(frames.next(), Ok(Some(&[1, 2][..])));
        assert_eq!(frames.next(), Ok(Some(&[][..])));
        assert_eq!(frames.next(), Ok(None));
        assert_eq!(frames.half_read(), Some(3));
        frames.compact();
        assert_eq!(frames.buffer, [0, 0, 0, 3, 7]);
        frames.buffer.extend([8, 9]);
        assert_eq!(frames.next(), Ok(Some(&[7, 8, 9][..])));
        frames.rest();
        assert_eq!(frames.buffer.capacity(), 0, "an idle connection keeps no buffer");
    }

    #[test]
    fn impossible_lengths_are_refused_before_their_bytes_arrive() {
        for announced in [i32::MAX, -1, i32::MIN, 11] {
            let error = FrameError::Length { announced, limit: 10 };
            let mut frames = frames(&announced.to_be_bytes());
            assert_eq!(frames.half_read(), None);
            assert_eq!(frames.next(), Err(error));
        }
    }
}
