//! The network between SMs and memory partitions, with one unit per subnet.
//!
//! A subnet consists of its ends (`subnet`) around a switch: `fifo` and `output_queued` are crossbars, `mesh` has networks of
//! virtual-channel routers. `queues` has the input queues, `matrix` and `outputs` the requests of a crossbar and the credits of its
//! outputs, and `calendar` the cycles in which messages become visible. A new crossbar is a file and a row of `crossbars!`.
#![forbid(unsafe_code)]

mod age;
mod calendar;
mod counters;
mod error;
mod fifo;
pub mod hub;
mod matrix;
pub mod mesh;
mod output_queued;
mod outputs;
pub mod peers;
mod queues;
mod subnet;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use warpshard_base::{Cycle, LinkId};
use warpshard_config::machine::{Crossbar as Kind, Noc};
use warpshard_engine::{SentMessage, Unit};
use warpshard_protocol::{EventKind, Outbox, Payload};
use warpshard_seam::BoxedArbiter;
use warpshard_stats::CounterVisitor;

pub use counters::NetCounters;
pub use error::SpecError;
pub use subnet::{Direction, FromNoc, Subnet, SubnetEnds, SubnetPorts, Switch};

macro_rules! crossbars {
    ($($module:ident::$name:ident),+ $(,)?) => {
        $(pub use $module::$name;)+

        /// A crossbar subnet. The enumeration avoids dynamic dispatch in every cycle.
        #[derive(Clone, Debug, warpshard_state::State)]
        pub enum Crossbar {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name(Subnet<$name>)),+
        }

        impl Crossbar {
            /// Returns a subnet of `inputs` senders and `outputs` receivers, at cycle 0; `None` for a network of routers.
            ///
            /// # Panics
            /// If a sender or receiver has no space for a packet.
            pub fn new(direction: Direction, spec: &Noc, inputs: usize, outputs: usize, ports: SubnetPorts) -> Option<Self> {
                match spec.crossbar {
                    $(Kind::$name => Some(Self::$name(Subnet::new(direction, spec, inputs, outputs, ports))),)+
                    Kind::Vc => None,
                }
            }
        }

        macro_rules! each {
            ($self:expr, $subnet:ident => $result:expr) => {
                match $self { $(Crossbar::$name($subnet) => $result),+ }
            };
        }
    };
}

crossbars! {
    fifo::Fifo,
    output_queued::OutputQueued,
}

impl Crossbar {
    /// Returns the subnet with an arbiter that examines packets, if it is a `fifo` crossbar; the other kinds have no arbiter.
    #[must_use]
    pub fn with_arbiter(mut self, arbiter: Option<BoxedArbiter>) -> Self {
        if let (Self::Fifo(subnet), Some(arbiter)) = (&mut self, arbiter) {
            subnet.switch.set_arbiter(arbiter);
        }
        self
    }
}

impl Unit for Crossbar {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        each!(self, subnet => subnet.deliver(link, at, payload));
    }

    #[inline(always)]
    fn deliver_all(&mut self, messages: &[SentMessage<Payload>], arrival: impl FnMut(&SentMessage<Payload>) -> Cycle) {
        each!(self, subnet => subnet.deliver_all(messages, arrival));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        each!(self, subnet => subnet.run(until, skip, out));
    }

    fn next_event(&self) -> Cycle {
        each!(self, subnet => subnet.next_event())
    }

    fn settle(&mut self, at: Cycle) {
        each!(self, subnet => subnet.settle(at));
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        each!(self, subnet => subnet.visit_counters(visitor));
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        each!(self, subnet => subnet.waiting())
    }
}
