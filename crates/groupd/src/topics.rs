//! The virtual topics: names and partition counts, so that consumers have something to divide.
