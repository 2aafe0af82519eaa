//! The state of a router: buffers and allocation of its virtual channels, and what the allocators know.
//!
//! An input virtual channel goes through `Idle`, `Routing` (four stages only), `Waiting` for an output virtual channel, and
//! `Active`. A channel of a router is counted over its ports, each of which has a power of two of them: port << bits | vc.
//! Invariants: `wanted` holds the outputs whose `want` is not empty, `asked` those whose `ready` is not empty; `want` the
//! channels that wait for a virtual channel of the output; `ready` the active channels towards it that have a flit and a
//! credit; `free` the virtual channels that no packet holds, `credited` those with credits.

use super::bits::Bits;
use super::spec::{NetworkSpec, Pipeline};
use super::topology::End;
use super::wheel::{Flit, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Routing,
    Waiting,
    Active,
}

/// What arrives by a virtual channel of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputVc {
    pub(super) state: State,
    /// The output channel that its packet holds; before it has one, the first channel of the output.
    pub(super) to: u16,
    /// Where the VC allocator's accept arbiter begins, as a channel of the outputs.
    pub(super) accept: u16,
    head: u16,
    pub(super) len: u16,
}

/// What leaves by a virtual channel of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputVc {
    pub(super) credits: u16,
    /// The input channel whose packet holds it.
    pub(super) owner: u16,
    /// Where the VC allocator's grant arbiter begins, as a channel of the inputs.
    pub(super) grant: u16,
}

/// A virtual channel of a port, both ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) input: InputVc,
    pub(super) output: OutputVc,
}

const _: () = assert!(size_of::<Channel>() == 16);

/// A port, both ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port<const W: usize> {
    /// Input channels that wait for a virtual channel of this output, and those that may send a flit to it.
    pub(super) want: Bits<W>,
    pub(super) ready: Bits<W>,
    /// Its neighbour's first channel: where its flits go, and where the credits of its input go.
    pub(super) peer: Place,
    /// Virtual channels of the output, as bits.
    pub(super) free: u16,
    pub(super) credited: u16,
    /// The first channel of the input at which the switch allocator's grant arbiter begins.
    pub(super) grant: u16,
    /// The output at which the switch allocator's accept arbiter begins.
    pub(super) accept: u16,
    /// The virtual channel of the input whose turn it is at the switch.
    pub(super) turn: u16,
}

/// The first cycles in which a port's channels are free; only a switch that is faster than they are looks at them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    pub(super) flits: u64,
    pub(super) credits: u64,
}

/// What all routers of a network have in common.
#[derive(Clone, Debug)]
pub(super) struct Shape<const W: usize> {
    pub(super) pipeline: Pipeline,
    pub(super) ports: usize,
    /// Virtual channels of a port, and the bits of a channel's number that name one of them.
    pub(super) vcs: usize,
    pub(super) bits: u32,
    /// All channels of a router: ports << bits.
    pub(super) channels: usize,
    /// Flits that a buffer holds, and the bits of a place in it.
    capacity: u16,
    place_bits: u32,
    /// Virtual channels that a packet in virtual channel v may go to.
    allowed: [u16; 16],
    /// Channels from which a packet may go to virtual channel v.
    pub(super) sources: [Bits<W>; 16],
}

impl<const W: usize> Shape<W> {
    pub(super) fn new(spec: &NetworkSpec) -> Self {
        let (ports, vcs, bits, channels) = (spec.topology.ports(), usize::from(spec.vcs), spec.vc_bits(), spec.channels());
        assert!(channels <= 64 * W, "{channels} input virtual channels do not fit {W} words");
        // A virtual channel of no class is never used; it counts as a class of its own.
        let mut allowed: [u16; 16] = std::array::from_fn(|vc| 1 << vc);
        for range in &spec.classes {
            for vc in range.first..range.first + range.count {
                allowed[usize::from(vc)] = (((1u32 << range.count) - 1) << range.first) as u16;
            }
        }
        let mut sources = [Bits::EMPTY; 16];
        for channel in (0..channels).filter(|channel| channel & ((1 << bits) - 1) < vcs) {
            let to = allowed[channel & ((1 << bits) - 1)];
            (0..vcs).filter(|vc| to >> vc & 1 != 0).for_each(|vc| sources[vc].set(channel));
        }
        let place_bits = spec.buffers.next_power_of_two().trailing_zeros();
        Self { pipeline: spec.pipeline, ports, vcs, bits, channels, capacity: spec.buffers, place_bits, allowed, sources }
    }

    #[inline]
    pub(super) fn port(&self, channel: usize) -> usize {
        channel >> self.bits
    }

    #[inline]
    pub(super) fn vc(&self, channel: usize) -> usize {
        channel & ((1 << self.bits) - 1)
    }

    #[inline]
    pub(super) fn first(&self, port: usize) -> usize {
        port << self.bits
    }

    /// Virtual channels that a packet in a channel may go to.
    #[inline]
    pub(super) fn allowed(&self, channel: usize) -> u16 {
        self.allowed[self.vc(channel) & 15]
    }

    /// Of `channels`, those of one port, as bits.
    #[inline]
    pub(super) fn of_port(&self, channels: &Bits<W>, port: usize) -> u16 {
        channels.group(self.first(port)) & ((1u32 << (1 << self.bits)) - 1) as u16
    }

    /// The channel or port behind `number` of `size`, wrapping.
    #[inline]
    pub(super) fn after(number: usize, size: usize) -> u16 {
        if number >= size { 0 } else { number as u16 }
    }
}

/// A router.
#[derive(Clone, Debug)]
pub(super) struct Router<const W: usize> {
    pub(super) wanted: Bits<W>,
    pub(super) asked: Bits<W>,
    pub(super) routing: Bits<W>,
    pub(super) channels: Box<[Channel]>,
    pub(super) ports: Box<[Port<W>]>,
    pub(super) pace: Box<[Pace]>,
    buffers: Box<[Flit]>,
}

impl<const W: usize> Router<W> {
    pub(super) fn new(spec: &NetworkSpec, shape: &Shape<W>, router: usize) -> Self {
        let input = InputVc { state: State::Idle, to: 0, accept: 0, head: 0, len: 0 };
        let channel = Channel { input, output: OutputVc { credits: spec.buffers, owner: 0, grant: 0 } };
        let all_vcs = (u32::MAX >> (32 - shape.vcs)) as u16;
        let port = |port| {
            let peer = match spec.topology.beyond(router, port) {
                End::Router(next, port) => Place::router(next, shape.first(port)),
                End::Terminal(terminal) => Place::terminal(terminal, 0),
                End::Nothing => Place::NOWHERE,
            };
            Port { want: Bits::EMPTY, ready: Bits::EMPTY, peer, free: all_vcs, credited: all_vcs, grant: 0, accept: 0, turn: 0 }
        };
        Self {
            wanted: Bits::EMPTY,
            asked: Bits::EMPTY,
            routing: Bits::EMPTY,
            channels: vec![channel; shape.channels].into(),
            ports: (0..shape.ports).map(port).collect(),
            pace: vec![Pace::default(); shape.ports].into(),
            buffers: vec![Flit::new(0, false, false); shape.channels << shape.place_bits].into(),
        }
    }

    /// The oldest flit of a channel; there is one.
    #[inline]
    pub(super) fn front(&self, shape: &Shape<W>, channel: usize) -> Flit {
        self.buffers[channel << shape.place_bits | usize::from(self.channels[channel].input.head)]
    }

    #[inline]
    pub(super) fn pop(&mut self, shape: &Shape<W>, channel: usize) -> Flit {
        let input = &mut self.channels[channel].input;
        let flit = self.buffers[channel << shape.place_bits | usize::from(input.head)];
        input.head = (input.head + 1) & ((1 << shape.place_bits) - 1);
        input.len -= 1;
        flit
    }

    /// Puts a flit into its buffer. Says whether it is the head of a packet that begins its way through the router now.
    #[inline]
    pub(super) fn push(&mut self, shape: &Shape<W>, channel: usize, flit: Flit) -> bool {
        let input = &mut self.channels[channel].input;
        assert!(input.len < shape.capacity, "channel {channel} of a router has no room for a flit that had a credit");
        let place = usize::from(input.head + input.len) & ((1 << shape.place_bits) - 1);
        self.buffers[channel << shape.place_bits | place] = flit;
        input.len += 1;
        match input.state {
            State::Idle => return true,
            State::Active if input.len == 1 => {
                let to = usize::from(input.to);
                if self.channels[to].output.credits > 0 {
                    self.set_ready(shape.port(to), channel);
                }
            }
            _ => (),
        }
        false
    }

    #[inline]
    pub(super) fn set_ready(&mut self, out: usize, channel: usize) {
        self.ports[out].ready.set(channel);
        self.asked.set(out);
    }

    #[inline]
    pub(super) fn clear_ready(&mut self, out: usize, channel: usize) {
        let ready = &mut self.ports[out].ready;
        ready.clear(channel);
        if ready.is_empty() {
            self.asked.clear(out);
        }
    }

    /// The packet at the front of a channel leaves by port `out`.
    #[inline]
    pub(super) fn begin(&mut self, shape: &Shape<W>, channel: usize, out: usize) {
        self.channels[channel].input.to = shape.first(out) as u16;
        if shape.pipeline == Pipeline::Four {
            self.channels[channel].input.state = State::Routing;
            self.routing.set(channel);
        } else {
            self.wait(shape, channel);
        }
    }

    /// The packet at the front of a channel asks for an output virtual channel from the next allocation on.
    #[inline]
    pub(super) fn wait(&mut self, shape: &Shape<W>, channel: usize) {
        let input = &mut self.channels[channel].input;
        input.state = State::Waiting;
        let out = shape.port(usize::from(input.to));
        self.ports[out].want.set(channel);
        self.wanted.set(out);
    }

    /// A credit for an output channel. Says whether that lets anybody do something.
    #[inline]
    pub(super) fn credit(&mut self, shape: &Shape<W>, channel: usize) -> bool {
        let output = &mut self.channels[channel].output;
        output.credits += 1;
        debug_assert!(output.credits <= shape.capacity, "channel {channel} of a router has more credits than places");
        if output.credits > 1 {
            return false;
        }
        let (owner, vc, out) = (usize::from(output.owner), shape.vc(channel), shape.port(channel));
        let port = &mut self.ports[out];
        port.credited |= 1 << vc;
        let held = port.free >> vc & 1 == 0;
        let wanted = !port.want.is_empty();
        if held && self.channels[owner].input.len > 0 {
            self.set_ready(out, owner);
            return true;
        }
        // A credit that nobody waits for changes nothing, except for those that speculate on it.
        !held && wanted
    }

    /// Whether nothing asks for anything.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.asked.is_empty() && self.wanted.is_empty() && self.routing.is_empty()
    }
}
