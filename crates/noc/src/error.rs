//! The error of a network specification.

warpshard_base::message_error! {
    /// A network with this specification cannot be built.
    pub struct SpecError;
}
