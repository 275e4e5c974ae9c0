//! groupd from outside: settings, a real socket, a real client's bytes.
mod admin;
mod docs;
mod kill;
mod serve;
mod settings;
mod store;
mod telemetry;
mod topics;
