//! What is to be said, in order, until the host asks for it.

use std::collections::VecDeque;

use crate::messages::Output;

/// Outputs in a row. A turn that says more, because thousands of groups are due at once, does not copy them to ever larger
/// places.
const CHUNK: usize = 256;

/// A queue of outputs: chunks, of which all but the last are full or being emptied.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    full: VecDeque<VecDeque<Output>>,
    last: VecDeque<Output>,
}

impl Outputs {
    pub(super) fn push(&mut self, output: Output) {
        if self.last.len() == CHUNK {
            self.full.push_back(std::mem::replace(&mut self.last, VecDeque::with_capacity(CHUNK)));
        }
        self.last.push_back(output);
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        if self.full.is_empty() { self.last.pop_front() } else { self.pop_full() }
    }

    #[cold]
    fn pop_full(&mut self) -> Option<Output> {
        let first = self.full.front_mut()?;
        let output = first.pop_front();
        if first.is_empty() {
            self.full.pop_front();
            if self.full.is_empty() {
                self.full = VecDeque::new();
            }
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Token;

    #[test]
    fn what_goes_in_first_comes_out_first_however_many_there_are() {
        let mut outputs = Outputs::default();
        let (mut pushed, mut popped) = (0, 0);
        for (push, pop) in [(1, 2), (256, 100), (600, 0), (0, 300), (1_000, 1_457), (3, 4)] {
            for _ in 0..push {
                outputs.push(Output::Superseded(Token::new(pushed)));
                pushed += 1;
            }
            for _ in 0..pop {
                match outputs.pop() {
                    Some(Output::Superseded(token)) => assert_eq!(token.number(), popped),
                    Some(other) => panic!("{other:?} was never pushed"),
                    None => {
                        assert_eq!(popped, pushed);
                        continue;
                    }
                }
                popped += 1;
            }
        }
        assert_eq!(popped, pushed);
        assert!(
            outputs.full.is_empty() && outputs.last.capacity() <= 2 * CHUNK,
            "what is gone takes no room"
        );
    }
}
