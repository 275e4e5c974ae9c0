//! A vector that never moves what it holds once it is large: growing costs one segment, not a copy of everything.
//!
//! The first segment grows by doubling, so that a small wheel stays small; from then on segments of one size are added.
//! It is for chunks, which are aligned to cache lines, so that the allocator would copy them. Nodes and values lie in plain
//! vectors: a segment's address is one more thing to load, and costs expiry and heartbeats a fifth.

const SEGMENT_BITS: u32 = 12;
const SEGMENT: usize = 1 << SEGMENT_BITS;

#[derive(Debug)]
pub(super) struct Segments<T> {
    segments: Vec<Vec<T>>,
}

impl<T> Segments<T> {
    pub(super) const fn new() -> Self {
        Self { segments: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        let before = self.segments.len().saturating_sub(1) * SEGMENT;
        before + self.segments.last().map_or(0, Vec::len)
    }

    pub(super) fn push(&mut self, value: T) {
        if self.segments.last().is_none_or(|last| last.len() == SEGMENT) {
            let capacity = if self.segments.is_empty() { 0 } else { SEGMENT };
            self.segments.push(Vec::with_capacity(capacity));
        }
        if let Some(last) = self.segments.last_mut() {
            last.push(value);
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        let (segment, offset) = split(index);
        self.segments.get(segment)?.get(offset)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let (segment, offset) = split(index);
        self.segments.get_mut(segment)?.get_mut(offset)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let held: usize = self.segments.iter().map(Vec::capacity).sum();
        held * size_of::<T>() + self.segments.capacity() * size_of::<Vec<T>>()
    }
}

#[inline]
fn split(index: u32) -> (usize, usize) {
    ((index >> SEGMENT_BITS) as usize, index as usize % SEGMENT)
}

use alloc::vec::Vec;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_found_across_segments() {
        let mut segments = Segments::new();
        for value in 0..20_000_u32 {
            assert_eq!(segments.len(), value as usize);
            assert_eq!(segments.get(value), None);
            segments.push(value);
        }
        assert!((0..20_000).all(|index| segments.get(index) == Some(&index)));
        assert!(segments.bytes() < 20_000 * 4 + SEGMENT * 4 + 1_000);
    }
}
