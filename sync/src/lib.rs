//! The concurrency primitives of warpshard, with all atomics of the project.
//!
//! # The problem
//! A simulated machine is cut into shards, which worker threads step in parallel. There are two requirements: the threads must rarely wait
//! for each other, and the result must be the same bytes for any number of threads. Locks around shared queues meet neither.
//!
//! # The idea
//! Time is cut into *epochs* so short that a message sent in one epoch has no effect on another shard before the next epoch. Within an
//! epoch a worker accesses only its local state. All exchange happens at a barrier between two epochs, and a message carries the epoch in
//! which it is received. So the timing of the threads has no effect on the result. Almost all memory needs no further synchronisation,
//! because the barrier synchronises it.
//!
//! # The terms
//! * [`EpochBarrier`]: each worker holds a [`Party`] with a private *local state* and reads a *shared state*. The last party to arrive runs
//!   the *coordinator* on all states, with exclusive access; then all parties continue. The coordinator may *retire* parties: they sleep,
//!   and the barrier does not wait for them until they are active again.
//! * [`mailbox()`]: carries a batch from one worker to another; a batch that is sent in epoch e is received in epoch e+1. It has one *slot*
//!   per parity of the epoch, so that sender and receiver never use the same slot at the same time.
//! * [`worklist()`]: a worker's list of items for work stealing. In each epoch the owner offers the items that have work; workers that have
//!   finished their own items steal from it. Each item goes to one worker.
//! * [`Published`]: the newest published value, for readers outside the workers that read at any time, such as a progress bar; simulated
//!   results must not depend on it.
//! * [`StopFlag`]: an external request to end the run; the coordinator reads it and chooses the cycle.
//! * *Poison*: a party has failed (a panic, a drop, a call), so the barrier can never be complete again: every present or later wait
//!   returns [`Poisoned`] with the party and the reason, and no party hangs.
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
//!             let ((sender, receiver, sum), &epoch) = party.local_and_shared();
//!             receiver.receive(epoch, |number| *sum += number);
//!             batch.push(100 * worker + epoch);
//!             sender.send(epoch, &mut batch);
//!             // The last arriver increments the epoch; afterwards all parties see the new epoch.
//!             party.wait(|epoch, _all| *epoch += 1).expect("no party fails");
//!         }
//!         party.finish()
//!     };
//!     let threads: Vec<_> = parties.into_iter().map(|party| scope.spawn(move || run(party))).collect();
//!     threads.into_iter().filter_map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
//! });
//! let (locals, epochs) = &ends[0];
//! assert_eq!(*epochs, 10);
//! // Epochs 0 to 8 were received; the batch of epoch 9 would be received in epoch 10.
//! assert_eq!((locals[0].2, locals[1].2), (900 + 36, 36));
//! ```
//!
//! # How it is checked
//! All atomics, locks and cells come from one module, which uses the standard library's or, under `--cfg loom`, loom's. loom runs a small
//! model under every interleaving, up to a number of preemptions, and every result that the memory orders permit; it finds deadlocks, data
//! races on cells and failed assertions. Each `tests/loom_*.rs` tests one primitive, with one test per property:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p warpshard-sync --release --test 'loom_*'
//! ```
//!
//! `LOOM_MAX_PREEMPTIONS=3` searches further than the default of two. A model that cannot fail proves nothing, so each property has a
//! deliberate fault (a feature `mutant_*`, effective only under loom) that its test must catch: `sync/tests/mutants.sh` runs them all.
//!
//! # Limits of loom
//! * arc-swap, which implements [`Published`]: `tests/stress.rs` exercises it on real threads. That test also suits miri and, with an
//!   instrumented standard library, the thread sanitizer.
//! * More threads, epochs and preemptions than the models have: three parties and three epochs at most.
//! * The lifetime of a reference: loom checks a reference from a [`Party`] only when it is created. The borrow checker ensures that it ends
//!   before the next `wait`.
//! * A conflict of a store with another thread's earlier load, if the storing thread has itself loaded the word in between; for that reason
//!   the `primitive` module makes every access to a 64-bit word visible to loom's search.
//! * Spurious wake-ups, which the barrier tolerates because a sleeper checks again; and unwinding on a real thread, which `tests/poison.rs`
//!   covers.

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
pub use worklist::{Stealer, TakenItem, WorkOwner, worklist};
