//! The `SaslAuthenticate` API: carries the bytes of the mechanism that the handshake agreed on.

use crate::structure::structures;

structures! {
    /// One step of the client.
    SaslAuthenticateRequest<'a> {
        auth_bytes: &'a [u8] => 0..;
    }

    /// One step of the server.
    SaslAuthenticateResponse<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> = Some("") => 0.., nullable 0..;
        auth_bytes: &'a [u8] => 0..;
        session_lifetime_ms: i64 => 1.., ignorable;
    }
}
