//! The state of a router: buffers and allocation of its virtual channels, and the state of the allocators.
//!
//! An input virtual channel goes through `Idle`, `Routing` (four stages only), `Waiting` for an output virtual channel, and `Active`. The
//! channels of a router are numbered over its ports, each of which has space for a power of two of channels: a channel's number is its port
//! times that power, plus its virtual channel. Unused channels and ports request nothing, and an arbiter that points at one of them
//! continues with the next, so pointers do not depend on their number. Invariants: an output's `want` holds the channels that wait for one
//! of its virtual channels; `ready` holds the active channels towards it that have a flit and a credit; `free` holds the virtual channels
//! that no packet holds, and `credited` the virtual channels with credits. [`RouterRequests::vc`] has the outputs whose `want` is not empty, and
//! [`RouterRequests::switch`] those whose `ready` is not empty.

use super::bits::BitSet;
use super::requests::RouterRequests;
use super::spec::{NetworkSpec, Pipeline};
use super::topology::ChannelEnd;
use super::wheel::{Flit, VcAddress};

#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum VcState {
    Idle,
    Routing,
    Waiting,
    Active,
}

/// The input side of a virtual channel.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct InputVc {
    pub(super) state: VcState,
    /// The output channel that the packet holds; before the allocation, the first channel of the output.
    pub(super) to: u16,
    /// The pointer of the VC allocator's accept arbiter, a channel of the outputs.
    pub(super) accept: u16,
    head: u16,
    pub(super) len: u16,
}

/// The output side of a virtual channel.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct OutputVc {
    pub(super) credits: u16,
    /// The input channel whose packet holds the virtual channel.
    pub(super) owner: u16,
    /// The pointer of the VC allocator's grant arbiter, a channel of the inputs.
    pub(super) grant: u16,
}

/// A virtual channel of a port, with input and output side.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct VirtualChannel {
    pub(super) input: InputVc,
    pub(super) output: OutputVc,
}

const _: () = assert!(size_of::<VirtualChannel>() == 16);

/// A port, with input and output side.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct MeshPort<const W: usize> {
    /// Input channels that wait for a virtual channel of this output, and input channels that may send a flit to it.
    pub(super) waiting_inputs: BitSet<W>,
    pub(super) ready: BitSet<W>,
    /// The first channel of the neighbour: the destination of this port's flits and of the credits of its input.
    pub(super) peer: VcAddress,
    /// Free virtual channels of the output, and virtual channels with credits, as bit sets.
    pub(super) free: u16,
    pub(super) credited: u16,
    /// The first channel of the input at which the switch allocator's grant arbiter begins.
    pub(super) grant: u16,
    /// The output at which the switch allocator's accept arbiter begins.
    pub(super) accept: u16,
    /// The virtual channel of the input that is next at the switch.
    pub(super) turn: u8,
    /// The virtual channel of the input that has won the switch in this round, plus one.
    pub(super) winning_vc: u8,
}

const _: () = assert!(size_of::<MeshPort<1>>() == 32);

/// The first cycles in which a port's channels are free; used only with a speedup above 1.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct PortPacing {
    pub(super) flits: u64,
    pub(super) credits: u64,
}

/// The parameters shared by all routers of a network.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct RouterShape<const W: usize> {
    pipeline: Pipeline,
    /// Flits that a buffer holds, and the distance between buffers, a power of two.
    capacity: u16,
    stride: usize,
    /// Virtual channels that a packet in virtual channel v may move to.
    pub(super) allowed: [u16; 16],
    /// Channels from which a packet may move to virtual channel v.
    pub(super) sources: [BitSet<W>; 16],
}

impl<const W: usize> RouterShape<W> {
    /// Returns the shape of routers with `room` virtual channels per port.
    pub(super) fn new(spec: &NetworkSpec, room: usize) -> Self {
        let vcs = usize::from(spec.vcs);
        // A virtual channel that no class uses counts as a separate class.
        let mut allowed: [u16; 16] = std::array::from_fn(|vc| 1 << vc);
        for range in &spec.classes {
            for vc in range.first..range.first + range.count {
                allowed[usize::from(vc)] = (((1u32 << range.count) - 1) << range.first) as u16;
            }
        }
        let mut sources = [BitSet::EMPTY_SET; 16];
        for (port, from) in (0..spec.topology.ports()).flat_map(|port| (0..vcs).map(move |vc| (port, vc))) {
            (0..vcs).filter(|to| allowed[from] >> to & 1 != 0).for_each(|to| sources[to].set(port * room + from));
        }
        let stride = usize::from(spec.buffers).next_power_of_two();
        Self { pipeline: spec.pipeline, capacity: spec.buffers, stride, allowed, sources }
    }
}

/// A router with space for P ports and C channels, both powers of two, in sets of W words.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Router<const W: usize, const P: usize, const C: usize> {
    /// The number of the router's first port, counted over all routers.
    pub(super) base: u32,
    channels: [VirtualChannel; C],
    ports: [MeshPort<W>; P],
    pub(super) pace: Box<[PortPacing]>,
    buffers: Box<[Flit]>,
}

impl<const W: usize, const P: usize, const C: usize> Router<W, P, C> {
    const CHANNELS_PER_PORT: usize = {
        assert!(P.is_power_of_two() && C.is_power_of_two() && C <= 64 * W && P < C && C / P <= 16);
        C / P
    };
    const CHANNEL_BITS: u32 = Self::CHANNELS_PER_PORT.trailing_zeros();

    pub(super) fn new(spec: &NetworkSpec, shape: &RouterShape<W>, router: usize) -> Self {
        let input = InputVc { state: VcState::Idle, to: 0, accept: 0, head: 0, len: 0 };
        let channel = VirtualChannel { input, output: OutputVc { credits: spec.buffers, owner: 0, grant: 0 } };
        let all_vcs = (u32::MAX >> (32 - u32::from(spec.vcs))) as u16;
        let port = |port| {
            let far_end = if port < spec.topology.ports() { spec.topology.far_end(router, port) } else { ChannelEnd::Nothing };
            let peer = match far_end {
                ChannelEnd::Router(next, port) => VcAddress::router(next, port << Self::CHANNEL_BITS),
                ChannelEnd::Terminal(terminal) => VcAddress::terminal(terminal, 0),
                ChannelEnd::Nothing => VcAddress::NO_NEIGHBOUR,
            };
            MeshPort {
                waiting_inputs: BitSet::EMPTY_SET,
                ready: BitSet::EMPTY_SET,
                peer,
                free: all_vcs,
                credited: all_vcs,
                grant: 0,
                accept: 0,
                turn: 0,
                winning_vc: 0,
            }
        };
        Self {
            base: (router * P) as u32,
            channels: [channel; C],
            ports: std::array::from_fn(port),
            pace: vec![PortPacing::default(); spec.topology.ports()].into(),
            buffers: vec![Flit::new(0, false, false); (spec.topology.ports() << Self::CHANNEL_BITS) * shape.stride].into(),
        }
    }

    /// Returns the port of a channel.
    #[inline]
    pub(super) fn port_of(&self, channel: usize) -> usize {
        channel >> Self::CHANNEL_BITS
    }

    /// Returns the index of a channel within its port.
    #[inline]
    pub(super) fn vc_of(&self, channel: usize) -> usize {
        channel & (Self::CHANNELS_PER_PORT - 1)
    }

    /// Returns the first channel of a port.
    #[inline]
    pub(super) fn first(&self, port: usize) -> usize {
        port << Self::CHANNEL_BITS
    }

    /// Returns the members of `channels` that belong to one port, as bits.
    #[inline]
    pub(super) fn of_port(&self, channels: &BitSet<W>, port: usize) -> u16 {
        channels.group(port << Self::CHANNEL_BITS) & ((1u32 << Self::CHANNELS_PER_PORT) - 1) as u16
    }

    #[inline]
    pub(super) fn channel(&self, channel: usize) -> &VirtualChannel {
        debug_assert!(channel < C);
        &self.channels[channel & (C - 1)]
    }

    #[inline]
    pub(super) fn channel_mut(&mut self, channel: usize) -> &mut VirtualChannel {
        debug_assert!(channel < C);
        &mut self.channels[channel & (C - 1)]
    }

    #[inline]
    pub(super) fn port(&self, port: usize) -> &MeshPort<W> {
        debug_assert!(port < P);
        &self.ports[port & (P - 1)]
    }

    #[inline]
    pub(super) fn port_mut(&mut self, port: usize) -> &mut MeshPort<W> {
        debug_assert!(port < P);
        &mut self.ports[port & (P - 1)]
    }

    /// Returns the oldest flit of a channel; there must be one.
    #[inline]
    pub(super) fn front(&self, shape: &RouterShape<W>, channel: usize) -> Flit {
        self.buffers[channel * shape.stride + usize::from(self.channel(channel).input.head)]
    }

    #[inline]
    pub(super) fn pop(&mut self, shape: &RouterShape<W>, channel: usize) -> Flit {
        let flit = self.front(shape, channel);
        let input = &mut self.channel_mut(channel).input;
        input.head = (input.head + 1) & (shape.stride - 1) as u16;
        input.len -= 1;
        flit
    }

    /// Appends a flit to its buffer. Returns true if it is a head at the front of its buffer, which the router can process immediately.
    #[inline]
    pub(super) fn push(&mut self, requests: &mut RouterRequests, shape: &RouterShape<W>, channel: usize, flit: Flit) -> bool {
        let input = &mut self.channel_mut(channel).input;
        assert!(input.len < shape.capacity, "channel {channel} of a router has no free slot for a flit that had a credit");
        let place = usize::from(input.head + input.len) & (shape.stride - 1);
        input.len += 1;
        let (state, len, to) = (input.state, input.len, usize::from(input.to));
        self.buffers[channel * shape.stride + place] = flit;
        if state == VcState::Active && len == 1 && self.channel(to).output.credits > 0 {
            self.set_ready(requests, self.port_of(to), channel);
        }
        state == VcState::Idle
    }

    #[inline]
    pub(super) fn set_ready(&mut self, requests: &mut RouterRequests, out: usize, channel: usize) {
        self.port_mut(out).ready.set(channel);
        requests.switch.set(self.base as usize + out);
    }

    #[inline]
    pub(super) fn clear_ready(&mut self, requests: &mut RouterRequests, out: usize, channel: usize) {
        let ready = &mut self.port_mut(out).ready;
        ready.clear(channel);
        if ready.is_empty() {
            requests.switch.clear(self.base as usize + out);
        }
    }

    /// Sets the output port of the packet at the front of a channel to `out`.
    #[inline]
    pub(super) fn set_output(&mut self, requests: &mut RouterRequests, shape: &RouterShape<W>, channel: usize, out: usize) {
        self.channel_mut(channel).input.to = self.first(out) as u16;
        if shape.pipeline == Pipeline::Four {
            self.channel_mut(channel).input.state = VcState::Routing;
            requests.routing.push(self.base << Self::CHANNEL_BITS | channel as u32);
        } else {
            self.request_vc(requests, channel);
        }
    }

    /// Makes the packet at the front of a channel request an output virtual channel from the next allocation on.
    #[inline]
    pub(super) fn request_vc(&mut self, requests: &mut RouterRequests, channel: usize) {
        let input = &mut self.channel_mut(channel).input;
        input.state = VcState::Waiting;
        let to = usize::from(input.to);
        let out = self.port_of(to);
        self.port_mut(out).waiting_inputs.set(channel);
        requests.vc.set(self.base as usize + out);
    }

    /// Moves the switch allocator's pointers past a channel that was granted output `out`.
    #[inline]
    pub(super) fn advance_pointers(&mut self, channel: usize, out: usize) {
        let (input, vc) = (self.port_of(channel), self.vc_of(channel));
        let port = self.port_mut(input);
        port.accept = ((out + 1) & (P - 1)) as u16;
        port.turn = (vc + 1) as u8;
        port.winning_vc = 0;
        self.port_mut(out).grant = (self.first(input + 1) & (C - 1)) as u16;
    }

    /// Returns a credit to an output channel. Returns true if a flit or packet can now proceed.
    #[inline]
    pub(super) fn credit(&mut self, requests: &mut RouterRequests, shape: &RouterShape<W>, channel: usize) -> bool {
        let output = &mut self.channel_mut(channel).output;
        output.credits += 1;
        debug_assert!(output.credits <= shape.capacity, "channel {channel} of a router has more credits than slots");
        if output.credits > 1 {
            return false;
        }
        let owner = usize::from(output.owner);
        let (vc, out) = (self.vc_of(channel), self.port_of(channel));
        let port = self.port_mut(out);
        port.credited |= 1 << vc;
        let held = port.free >> vc & 1 == 0;
        let wanted = !port.waiting_inputs.is_empty();
        if held && self.channel(owner).input.len > 0 {
            self.set_ready(requests, out, owner);
            return true;
        }
        // A credit that no packet waits for has an effect only on speculative requests.
        !held && wanted
    }
}
