//! Where one group is, and what a heartbeat needs to know of it, so that a heartbeat of a calm group reads nothing of the
//! group itself.

use crate::group::Group;
use crate::ids::Generation;

/// A group's place among all groups.
#[derive(Debug)]
pub(super) struct Place {
    version: u32,
    /// A heartbeat of this generation needs nothing but a longer session. `None`: look at the group. Only ever remembered
    /// from one such heartbeat to the next: whoever may change the group makes it unknown first.
    calm: Option<Generation>,
    group: Option<Box<Group>>,
}

impl Place {
    /// A place without group.
    pub(super) fn free() -> Self {
        Self { version: 0, calm: None, group: None }
    }

    /// How many groups were here before.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// Puts a group here.
    pub(super) fn settle(&mut self, group: Group) {
        self.calm = None;
        self.group = Some(Box::new(group));
    }

    /// Takes the group out; what named it is stale for good.
    pub(super) fn vacate(&mut self) -> Option<Box<Group>> {
        self.version = self.version.wrapping_add(1);
        self.calm = None;
        self.group.take()
    }

    pub(super) fn group(&self) -> Option<&Group> {
        self.group.as_deref()
    }

    /// The group, for who may change it.
    pub(super) fn group_mut(&mut self) -> Option<&mut Group> {
        self.calm = None;
        self.group.as_deref_mut()
    }

    pub(super) fn calm_generation(&self) -> Option<Generation> {
        self.calm
    }

    /// A heartbeat of this generation was found to need nothing of the group.
    pub(super) fn set_calm(&mut self, generation: Generation) {
        self.calm = Some(generation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_places_fit_a_cache() {
        assert_eq!(size_of::<Place>(), 24);
    }
}
