//! An inconsistency among the units of a plan or among the processes that simulate it.

warpshard_base::message_error! {
    /// An inconsistency among the units of a plan or among the processes that simulate it.
    pub struct SetupError;
}
