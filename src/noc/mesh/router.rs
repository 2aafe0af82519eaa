//! The state of all routers: buffers and allocation of their virtual channels, and what the allocators know.
//!
//! An input virtual channel goes through `Idle`, `Routing` (four stages only), `Waiting` for an output virtual channel, and
//! `Active`. A channel of a router is counted over its ports: port * vcs + vc.
//! Invariants: `wanted` holds the outputs whose `want` is not empty; `want` the channels that wait for it; `ready` the active
//! channels that have a flit and a credit; an output's `free` the virtual channels that no packet holds, `credited` those
//! with credits.

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

#[derive(Clone, Copy, Debug)]
pub(super) struct InputVc {
    pub(super) state: State,
    pub(super) out_vc: u8,
    pub(super) out: u16,
    /// Where the VC allocator's accept arbiter begins, as a channel of the outputs.
    pub(super) accept: u16,
    head: u16,
    pub(super) len: u16,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OutputVc {
    pub(super) credits: u16,
    /// The input channel whose packet holds it.
    pub(super) owner: u16,
    /// Where the VC allocator's grant arbiter begins, as a channel of the inputs.
    pub(super) grant: u16,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct InputPort {
    /// The virtual channel whose turn it is at the switch.
    pub(super) turn: u16,
    /// The output at which the switch allocator's accept arbiter begins.
    pub(super) accept: u16,
    /// Where credits go.
    pub(super) up: Place,
    /// The first cycle in which the credit channel is free.
    pub(super) credit_free: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OutputPort<const W: usize> {
    /// The input at which the switch allocator's grant arbiter begins.
    pub(super) grant: u16,
    pub(super) free: u16,
    pub(super) credited: u16,
    /// Where flits go.
    pub(super) down: Place,
    pub(super) want: Bits<W>,
    /// The first cycle in which the channel is free.
    pub(super) flit_free: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Router<const W: usize> {
    pub(super) wanted: Bits<W>,
    pub(super) ready: Bits<W>,
    pub(super) routing: Bits<W>,
}

/// All routers of a network.
#[derive(Clone, Debug)]
pub(super) struct Routers<const W: usize> {
    pub(super) ports: usize,
    pub(super) vcs: usize,
    /// Channels of a router: ports * vcs.
    pub(super) channels: usize,
    pub(super) pipeline: Pipeline,
    pub(super) all: Box<[Router<W>]>,
    pub(super) inputs: Box<[InputVc]>,
    pub(super) outputs: Box<[OutputVc]>,
    pub(super) input_ports: Box<[InputPort]>,
    pub(super) output_ports: Box<[OutputPort<W>]>,
    buffers: Box<[Flit]>,
    capacity: u16,
    stride: usize,
    /// The port and the virtual channel of a channel.
    pub(super) port_of: Box<[u16]>,
    pub(super) vc_of: Box<[u8]>,
    /// Virtual channels that a packet in virtual channel v may go to.
    pub(super) allowed: Box<[u16]>,
    /// Channels from which a packet may go to virtual channel v.
    pub(super) sources: Box<[Bits<W>]>,
}

impl<const W: usize> Routers<W> {
    pub(super) fn new(spec: &NetworkSpec) -> Self {
        let (ports, vcs, routers) = (spec.topology.ports(), usize::from(spec.vcs), spec.topology.routers());
        let channels = ports * vcs;
        assert!(channels <= 64 * W, "{channels} input virtual channels do not fit {W} words");
        let all_vcs = (u32::MAX >> (32 - vcs)) as u16;
        let mut allowed = vec![all_vcs; vcs];
        for range in &spec.classes {
            for vc in range.first..range.first + range.count {
                allowed[usize::from(vc)] = ((1u32 << range.count) - 1 << range.first) as u16;
            }
        }
        let sources = (0..vcs).map(|vc| {
            let mut from = Bits::EMPTY;
            (0..channels).filter(|channel| allowed[channel % vcs] >> vc & 1 != 0).for_each(|channel| from.set(channel));
            from
        });
        let place = |router, port| match spec.topology.beyond(router, port) {
            End::Router(next, port) => Place::router(next, port * vcs),
            End::Terminal(terminal) => Place::terminal(terminal, 0),
            End::Nothing => Place::NOWHERE,
        };
        let seats = || (0..routers).flat_map(|router| (0..ports).map(move |port| (router, port)));
        let input_vc = InputVc { state: State::Idle, out_vc: 0, out: 0, accept: 0, head: 0, len: 0 };
        let output_vc = OutputVc { credits: spec.buffers, owner: 0, grant: 0 };
        let input = |(router, port)| InputPort { turn: 0, accept: 0, up: place(router, port), credit_free: 0 };
        let output = |(router, port)| {
            let down = place(router, port);
            OutputPort { grant: 0, free: all_vcs, credited: all_vcs, down, want: Bits::EMPTY, flit_free: 0 }
        };
        let stride = usize::from(spec.buffers).next_power_of_two();
        Self {
            ports,
            vcs,
            channels,
            pipeline: spec.pipeline,
            all: vec![Router { wanted: Bits::EMPTY, ready: Bits::EMPTY, routing: Bits::EMPTY }; routers].into(),
            inputs: vec![input_vc; routers * channels].into(),
            outputs: vec![output_vc; routers * channels].into(),
            input_ports: seats().map(input).collect(),
            output_ports: seats().map(output).collect(),
            buffers: vec![Flit::new(0, false, false); routers * channels * stride].into(),
            capacity: spec.buffers,
            stride,
            port_of: (0..channels).map(|channel| (channel / vcs) as u16).collect(),
            vc_of: (0..channels).map(|channel| (channel % vcs) as u8).collect(),
            sources: sources.collect(),
            allowed: allowed.into(),
        }
    }

    /// The oldest flit of a channel, counted over all routers; there is one.
    #[inline]
    pub(super) fn front(&self, index: usize) -> Flit {
        self.buffers[index * self.stride + usize::from(self.inputs[index].head)]
    }

    #[inline]
    pub(super) fn pop(&mut self, index: usize) -> Flit {
        let flit = self.front(index);
        let input = &mut self.inputs[index];
        input.head = (input.head + 1) & (self.stride - 1) as u16;
        input.len -= 1;
        flit
    }

    /// Puts a flit into its buffer. Says whether it is the head of a packet that begins its way through the router now.
    #[inline]
    pub(super) fn push(&mut self, router: usize, channel: usize, flit: Flit) -> bool {
        let index = router * self.channels + channel;
        let input = &mut self.inputs[index];
        assert!(input.len < self.capacity, "router {router}: channel {channel} has no room for a flit that had a credit");
        let slot = usize::from(input.head + input.len) & (self.stride - 1);
        self.buffers[index * self.stride + slot] = flit;
        input.len += 1;
        match input.state {
            State::Idle => return true,
            State::Active if input.len == 1 => {
                let output = router * self.channels + usize::from(input.out) * self.vcs + usize::from(input.out_vc);
                if self.outputs[output].credits > 0 {
                    self.all[router].ready.set(channel);
                }
            }
            _ => (),
        }
        false
    }

    /// The packet at the front of a channel leaves by port `out`.
    #[inline]
    pub(super) fn begin(&mut self, router: usize, channel: usize, out: usize) {
        let input = &mut self.inputs[router * self.channels + channel];
        input.out = out as u16;
        if self.pipeline == Pipeline::Four {
            input.state = State::Routing;
            self.all[router].routing.set(channel);
        } else {
            self.wait(router, channel);
        }
    }

    /// The packet at the front of a channel asks for an output virtual channel from the next allocation on.
    #[inline]
    pub(super) fn wait(&mut self, router: usize, channel: usize) {
        let input = &mut self.inputs[router * self.channels + channel];
        input.state = State::Waiting;
        let out = usize::from(input.out);
        self.output_ports[router * self.ports + out].want.set(channel);
        self.all[router].wanted.set(out);
    }

    /// A credit for an output channel.
    #[inline]
    pub(super) fn credit(&mut self, router: usize, channel: usize) {
        let output = &mut self.outputs[router * self.channels + channel];
        output.credits += 1;
        debug_assert!(output.credits <= self.capacity, "router {router}: channel {channel} has more credits than places");
        if output.credits > 1 {
            return;
        }
        let (vc, owner) = (self.vc_of[channel], usize::from(output.owner));
        let port = &mut self.output_ports[router * self.ports + usize::from(self.port_of[channel])];
        port.credited |= 1 << vc;
        if port.free >> vc & 1 == 0 && self.inputs[router * self.channels + owner].len > 0 {
            self.all[router].ready.set(owner);
        }
    }
}
