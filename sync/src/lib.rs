//! The concurrency primitives of warpshard: everything in the project that uses an atomic.
//!
//! # The problem
//! A simulated machine is cut into shards, which worker threads step in parallel. Two things are required: the threads must
//! rarely wait for each other, and the result must be the same bytes for any number of threads. Locks around shared queues
//! give neither.
//!
//! # The idea
//! Time is cut into *epochs* so short that a message sent in one has no effect on another shard before the next. Within an
//! epoch a worker accesses only its own state. All exchange happens at a barrier between two epochs, and a message carries
//! the epoch in which it is received. So the timing of the threads has no effect on the result, and almost all memory needs
//! no synchronisation of its own, because the barrier supplies it.
//!
//! # The terms
//! * [`EpochBarrier`]: each worker holds a [`Party`] with a *local state* of its own and reads a *shared state*. The last
//!   party to arrive runs the *coordinator* on all states, with exclusive access; then all parties go on. The coordinator
//!   may *retire* parties: they sleep, and the barrier does not wait for them until they are active again.
//! * [`mailbox()`]: carries a batch from one worker to another; what is sent in epoch e is received in epoch e+1. It has one
//!   *slot* per parity of the epoch, so that sender and receiver never use the same one at a time.
//! * [`worklist()`]: a worker's list of items for work stealing. In each epoch the owner offers those that have work; workers
//!   that have finished their own steal from it. Each item goes to one worker.
//! * [`Published`]: the newest of some values, for readers outside of the workers that look at any time, such as a progress bar;
//!   nothing simulated may depend on it.
//! * [`StopFlag`]: a request from outside to end the run; the coordinator reads it and chooses the cycle.
//! * *Poison*: a party has failed (a panic, a drop, a call), so the barrier can never again be complete: every wait, now or
//!   later, returns [`Poisoned`] with the party and the reason, and no party hangs.
//!
//! # An example
//! Two workers send each other their numbers; the coordinator counts the epochs and sees all states.
//!
//! ```
//! use warpshard_sync::{EpochBarrier, Party, Receiver, Sender, WaitPolicy, mailbox};
//!
//! let (to_second, from_first) = mailbox();
//! let (to_first, from_second) = mailbox();
//! // Local state: the two ends of the mailboxes and a sum. Shared state: the present epoch.
//! let locals = vec![(to_second, from_second, 0), (to_first, from_first, 0)];
//! let parties = EpochBarrier::new(locals, 0_u64, WaitPolicy::for_threads(2, 2));
//! let ends = std::thread::scope(|scope| {
//!     let run = |mut party: Party<(Sender<u64>, Receiver<u64>, u64), u64>| {
//!         let mut batch = Vec::new();
//!         while *party.shared() < 10 {
//!             let worker = party.index() as u64;
//!             let ((sender, receiver, sum), &epoch) = party.both();
//!             receiver.receive(epoch, |number| *sum += number);
//!             batch.push(100 * worker + epoch);
//!             sender.send(epoch, &mut batch);
//!             // Last in the epoch or not: afterwards all see the next one.
//!             party.wait(|epoch, _all| *epoch += 1).expect("nobody breaks off");
//!         }
//!         party.finish()
//!     };
//!     let threads: Vec<_> = parties.into_iter().map(|party| scope.spawn(move || run(party))).collect();
//!     threads.into_iter().filter_map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
//! });
//! let (locals, epochs) = &ends[0];
//! assert_eq!(*epochs, 10);
//! // Epochs 0 to 8 were received; what was sent in epoch 9 would be seen in epoch 10.
//! assert_eq!((locals[0].2, locals[1].2), (900 + 36, 36));
//! ```
//!
//! # How it is checked
//! All atomics, locks and cells come from one module, which is the standard library's or, under `--cfg loom`, loom's. loom
//! runs a small model under every interleaving, up to a number of preemptions, and every result that the memory orders
//! permit; it finds deadlocks, data races on cells and failed assertions. `tests/loom_*.rs` hold one file per primitive and
//! one test per property:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p warpshard-sync --release --test 'loom_*'
//! ```
//!
//! `LOOM_MAX_PREEMPTIONS=3` searches further than the default of two. A model that cannot fail proves nothing, so each
//! property has a deliberate fault (a feature `mutant_*`, effective only under loom) that its test must catch:
//! `sync/tests/mutants.sh` runs them all.
//!
//! # What loom does not see
//! * arc-swap, on which [`Published`] stands: `tests/stress.rs` exercises it on real threads. That test is also fit for miri
//!   and, with an instrumented standard library, the thread sanitizer.
//! * More threads, epochs and preemptions than the models have: three parties and three epochs at most.
//! * The time after an access has begun: a reference that a [`Party`] hands out is checked where it is made. That it ends
//!   before the next `wait` is the borrow checker's part.
//! * A conflict of a store with another thread's earlier load, if the storing thread has itself loaded the word in
//!   between; the `primitive` module makes every access to a 64-bit word visible to loom's search for that reason.
//! * Spurious wake-ups, which the barrier tolerates because a sleeper looks again; and unwinding on a real thread, which
//!   `tests/poison.rs` covers.

mod barrier;
mod mailbox;
mod mutant;
mod primitive;
mod published;
mod stop;
mod worklist;

pub use barrier::{EpochBarrier, Locals, Party, Poisoned, Role, WaitPolicy};
pub use mailbox::{Receiver, Sender, mailbox};
pub use published::Published;
pub use stop::StopFlag;
pub use worklist::{Stealer, Taken, WorkOwner, worklist};
