//! How many bytes of records may wait for the commit thread.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Room for so many bytes, shared by all who write. Who finds too little waits, and the next ones behind it: a large
/// batch is not overtaken for ever.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    used: Mutex<usize>,
    freed: Condvar,
    first_in_line: Mutex<()>,
}

/// Room taken, and given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        Self { most, used: Mutex::new(0), freed: Condvar::new(), first_in_line: Mutex::new(()) }
    }

    /// Takes room, waiting for it. More than there is at all is let in alone.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Place {
        let _turn = self.first_in_line.lock();
        let mut used = self.used.lock();
        while *used > 0 && used.saturating_add(bytes) > self.most {
            self.freed.wait(&mut used);
        }
        *used += bytes;
        Place { room: Arc::clone(self), bytes }
    }

    /// Bytes taken now.
    pub(super) fn used(&self) -> usize {
        *self.used.lock()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.room.used.lock() -= self.bytes;
        self.room.freed.notify_one();
    }
}
