//! Says how far loading is, where it takes long enough for somebody to wonder.

use std::time::{Duration, Instant};

/// Between two lines, and before the first.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a shard has loaded so far.
#[derive(Debug)]
pub(super) struct Progress {
    partitions: usize,
    loaded: usize,
    records: usize,
    began: Instant,
    told: Instant,
}

impl Progress {
    /// So many partitions are to be loaded, from `now` on.
    pub(super) fn new(partitions: usize, now: Instant) -> Self {
        Self { partitions, loaded: 0, records: 0, began: now, told: now }
    }

    /// Some records were read. A line, if it is time for one.
    pub(super) fn read(&mut self, records: usize, now: Instant) -> Option<String> {
        self.records += records;
        (now.duration_since(self.told) >= PATIENCE).then(|| self.line("loading", now))
    }

    /// A partition was read to its end. A line, if it was the last one and it took long.
    pub(super) fn finished(&mut self, now: Instant) -> Option<String> {
        self.loaded += 1;
        let is_long = now.duration_since(self.began) >= PATIENCE;
        (self.loaded == self.partitions && is_long).then(|| self.line("loaded", now))
    }

    fn line(&mut self, what: &str, now: Instant) -> String {
        self.told = now;
        let Self { partitions, loaded, records, began, .. } = self;
        let seconds = now.duration_since(*began).as_secs_f64();
        format!("{what}: {loaded} of {partitions} partitions, {records} records, {seconds:.1} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_quick_says_nothing_and_who_is_not_says_so_every_second() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut quick = Progress::new(1, start);
        assert_eq!(quick.read(10, at(900)), None);
        assert_eq!(quick.finished(at(999)), None);

        let mut slow = Progress::new(2, start);
        assert_eq!(slow.read(10, at(999)), None);
        assert_eq!(slow.read(5, at(1_000)).as_deref(), Some("loading: 0 of 2 partitions, 15 records, 1.0 s"));
        assert_eq!(slow.finished(at(1_500)), None);
        assert_eq!(slow.read(5, at(1_999)), None);
        assert_eq!(slow.read(5, at(2_100)).as_deref(), Some("loading: 1 of 2 partitions, 25 records, 2.1 s"));
        assert_eq!(slow.finished(at(2_200)).as_deref(), Some("loaded: 2 of 2 partitions, 25 records, 2.2 s"));
    }
}
