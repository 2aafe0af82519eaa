//! A network of this description cannot be built.

warpshard_base::message_error! {
    /// A network of this description cannot be built.
    pub struct SpecError;
}
