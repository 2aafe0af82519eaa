//! Runs in several processes: the ranks that `mpirun` or `srun` started.
//!
//! Every rank loads machine and workload, and simulates its part. Only rank 0 writes results and prints.

use warpshard_chip::host::Ranks;
use warpshard_sync::StopFlag;

use super::failure::Failure;

/// The MPI processes of a run with `--mpi`. MPI ends when the value is dropped.
#[derive(Debug)]
pub(super) struct World(backend::World);

impl World {
    /// Initializes MPI and joins its ranks.
    ///
    /// # Errors
    /// Fails if this build has no MPI, or MPI cannot be initialized with the required thread support.
    pub(super) fn join() -> Result<Self, Failure> {
        backend::World::join().map(Self)
    }

    /// Returns true for rank 0, which writes results and prints.
    pub(super) fn is_first(&self) -> bool {
        self.0.rank() == 0
    }

    /// Returns the ranks for the simulation engine.
    pub(super) fn ranks(&self) -> Box<dyn Ranks> {
        self.0.ranks()
    }

    /// Prints a failure and aborts all ranks, since they may wait for this rank. All ranks find invalid input; a rank other than 0
    /// therefore waits for a moment, and prints its failure only if rank 0 has not ended the run meanwhile.
    pub(super) fn abort(&self, failure: &Failure, stop: &StopFlag) -> ! {
        self.0.abort(failure, stop)
    }
}

#[cfg(not(feature = "mpi"))]
mod backend {
    use warpshard_sync::StopFlag;

    use warpshard_run::Exit;

    use super::super::failure::Failure;
    use warpshard_chip::host::Ranks;

    /// An uninhabited type: a build without MPI joins no ranks.
    #[derive(Debug)]
    pub(super) enum World {}

    impl World {
        pub(super) fn join() -> Result<Self, Failure> {
            let text = "--mpi: this program was built without MPI; build it with `cargo build --release --features mpi` \
                        (which needs an MPI library and libclang), or run without --mpi";
            Err(Failure::new(Exit::Usage, text))
        }

        pub(super) fn rank(&self) -> usize {
            match *self {}
        }

        pub(super) fn ranks(&self) -> Box<dyn Ranks> {
            match *self {}
        }

        pub(super) fn abort(&self, _: &Failure, _: &StopFlag) -> ! {
            match *self {}
        }
    }
}

#[cfg(feature = "mpi")]
mod backend {
    use std::time::Duration;

    use mpi::environment::Universe;
    use mpi::request::{WaitGuard, scope};
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::{Communicator, Destination, Equivalence, Source};
    use mpi::{Threading, initialize_with_threading};
    use warpshard_sync::StopFlag;

    use warpshard_run::Exit;

    use super::super::failure::Failure;
    use super::super::output;
    use warpshard_chip::host::Ranks;

    /// Time for which a failed rank waits until rank 0 ends the run with the same failure.
    const ABORT_DELAY: Duration = Duration::from_millis(500);

    /// The MPI environment of this process.
    pub(super) struct World {
        /// Finalizes MPI when it is dropped.
        _universe: Universe,
        rank: usize,
        count: usize,
    }

    impl std::fmt::Debug for World {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "rank {} of {}", self.rank, self.count)
        }
    }

    impl World {
        pub(super) fn join() -> Result<Self, Failure> {
            // The worker that arrives last at the end of an epoch calls MPI; only one worker calls MPI at a time.
            let (universe, provided) = initialize_with_threading(Threading::Serialized)
                .ok_or_else(|| Failure::new(Exit::Internal, "--mpi: MPI was started before"))?;
            if provided < Threading::Serialized {
                return Err(Failure::new(
                    Exit::Usage,
                    format!("--mpi: this MPI library allows threads only as {provided:?}, not as Serialized"),
                ));
            }
            let world = universe.world();
            Ok(Self { rank: world.rank() as usize, count: world.size() as usize, _universe: universe })
        }

        pub(super) fn rank(&self) -> usize {
            self.rank
        }

        pub(super) fn ranks(&self) -> Box<dyn Ranks> {
            Box::new(MpiRanks { rank: self.rank, count: self.count })
        }

        pub(super) fn abort(&self, failure: &Failure, stop: &StopFlag) -> ! {
            if self.rank == 0 {
                output::report(failure);
            } else {
                std::thread::sleep(ABORT_DELAY);
                if !stop.requested() {
                    output::report(&Failure::new(failure.exit, format!("rank {} of {}: {}", self.rank, self.count, failure.message)));
                }
            }
            SimpleCommunicator::world().abort(failure.exit as i32)
        }
    }

    /// The ranks of MPI's world communicator, usable from every thread of the process.
    #[derive(Debug)]
    struct MpiRanks {
        rank: usize,
        count: usize,
    }

    impl Ranks for MpiRanks {
        fn rank(&self) -> usize {
            self.rank
        }

        fn count(&self) -> usize {
            self.count
        }

        fn exchange(&mut self, out: &mut [Vec<u8>], came: &mut [Vec<u8>]) -> Result<(), String> {
            let world = SimpleCommunicator::world();
            let others = || (0..self.count).filter(|rank| *rank != self.rank);
            // By MPI's default, an error such as a lost rank ends the process.
            scope(|scope| {
                let send = |rank: usize| WaitGuard::from(world.process_at_rank(rank as i32).immediate_send(scope, &out[rank][..]));
                let sending: Vec<_> = others().map(send).collect();
                for rank in others() {
                    let (message, status) = world.process_at_rank(rank as i32).matched_probe();
                    came[rank].resize(status.count(u8::equivalent_datatype()) as usize, 0);
                    message.matched_receive_into(&mut came[rank][..]);
                }
                drop(sending);
            });
            Ok(())
        }
    }
}
