//! The `SaslHandshake` API: agrees on a mechanism.

use crate::structure::structures;

structures! {
    /// Proposes a mechanism.
    SaslHandshakeRequest<'a> {
        mechanism: &'a str => 0..;
    }

    /// The mechanisms that the server has.
    SaslHandshakeResponse<'a> {
        error_code: i16 => 0..;
        mechanisms: Vec<&'a str> => 0..;
    }
}
