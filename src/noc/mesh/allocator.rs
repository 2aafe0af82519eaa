//! Who gets which output virtual channel, and who the switch: iSLIP with one iteration (McKeown, 1999).
//!
//! Each output grants one request, in turn; each input accepts one grant, in turn; both pointers move behind what was
//! accepted. Both allocators look at the state at the beginning of a round and change nothing but their pointers: what they
//! grant is carried out afterwards.

use super::bits::{Bits, cyclic};
use super::router::{Routers, State};

/// An output virtual channel for an input channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct VcGrant {
    pub(super) channel: u16,
    pub(super) out: u16,
    pub(super) vc: u8,
}

/// What the allocators of one router granted, and their working memory.
#[derive(Clone, Debug)]
pub(super) struct Round<const W: usize> {
    pub(super) vc_grants: Vec<VcGrant>,
    /// Input channels that may send a flit through the switch.
    pub(super) switch_grants: Vec<u16>,
    /// Virtual channels of one output that were granted to a channel.
    offers: Vec<(u16, u16)>,
    /// The virtual channel with which an input asks for an output, [`SPECULATIVE`] added.
    chosen: Box<[u8]>,
    /// Outputs that an input asks for, and inputs that ask for an output.
    by_input: Box<[Bits<W>]>,
    by_output: Box<[Bits<W>]>,
    granted: Box<[Bits<W>]>,
    asked: Bits<W>,
    asking: Bits<W>,
    /// Requests that the switch refused in this round.
    pub(super) refused: u32,
}

const SPECULATIVE: u8 = 0x80;

impl<const W: usize> Round<W> {
    pub(super) fn new(ports: usize, channels: usize) -> Self {
        Self {
            vc_grants: Vec::with_capacity(channels),
            switch_grants: Vec::with_capacity(ports),
            offers: Vec::with_capacity(16),
            chosen: vec![0; ports * ports].into(),
            by_input: vec![Bits::EMPTY; ports].into(),
            by_output: vec![Bits::EMPTY; ports].into(),
            granted: vec![Bits::EMPTY; ports].into(),
            asked: Bits::EMPTY,
            asking: Bits::EMPTY,
            refused: 0,
        }
    }

    /// Allocates output virtual channels to the packets that wait for one.
    pub(super) fn allocate_vcs(&mut self, routers: &mut Routers<W>, router: usize) {
        self.vc_grants.clear();
        for out in routers.all[router].wanted.iter() {
            let port = &routers.output_ports[router * routers.ports + out];
            let (free, want) = (port.free, port.want);
            if free == 0 {
                continue;
            }
            if let Some(channel) = want.single() {
                // Whoever is alone is granted every virtual channel that it may use.
                let offer = free & routers.allowed[usize::from(routers.vc_of[channel])];
                if offer != 0 {
                    self.accept_vc(routers, router, channel, out, offer);
                }
                continue;
            }
            self.offers.clear();
            let mut left = free;
            while left != 0 {
                let vc = left.trailing_zeros() as usize;
                left &= left - 1;
                let turn = routers.outputs[router * routers.channels + out * routers.vcs + vc].grant;
                let Some(channel) = want.and(&routers.sources[vc]).next_from(usize::from(turn)) else { continue };
                match self.offers.iter_mut().find(|offer| usize::from(offer.0) == channel) {
                    Some(offer) => offer.1 |= 1 << vc,
                    None => self.offers.push((channel as u16, 1 << vc)),
                }
            }
            for i in 0..self.offers.len() {
                let (channel, offer) = self.offers[i];
                self.accept_vc(routers, router, usize::from(channel), out, offer);
            }
        }
    }

    #[inline]
    fn accept_vc(&mut self, routers: &mut Routers<W>, router: usize, channel: usize, out: usize, offer: u16) {
        let (base, first) = (router * routers.channels, out * routers.vcs);
        let input = &mut routers.inputs[base + channel];
        let from = usize::from(input.accept).wrapping_sub(first);
        let vc = cyclic(offer, if from < routers.vcs { from } else { 0 });
        input.accept = wrapped(first + vc + 1, routers.channels);
        routers.outputs[base + first + vc].grant = wrapped(channel + 1, routers.channels);
        self.vc_grants.push(VcGrant { channel: channel as u16, out: out as u16, vc: vc as u8 });
    }

    /// Allocates the switch. With speculation, packets that wait for a virtual channel ask too, behind those of their input.
    pub(super) fn allocate_switch(&mut self, routers: &mut Routers<W>, router: usize, speculative: bool) {
        self.switch_grants.clear();
        self.refused = 0;
        let ready = routers.all[router].ready;
        let speculates = speculative && !routers.all[router].wanted.is_empty();
        if !speculates {
            if let Some(channel) = ready.single() {
                let out = usize::from(routers.inputs[router * routers.channels + channel].out);
                self.grant_switch(routers, router, usize::from(routers.port_of[channel]), out, routers.vc_of[channel]);
                return;
            }
        }
        let mut requests = 0;
        for channel in ready.iter() {
            let out = usize::from(routers.inputs[router * routers.channels + channel].out);
            self.ask(routers, router, channel, out, 0);
            requests += 1;
        }
        if speculates {
            requests += self.speculate(routers, router);
        }
        self.match_requests(routers, router);
        self.refused = requests - self.switch_grants.len() as u32;
    }

    /// Requests of packets that may get a virtual channel with a credit in this round.
    fn speculate(&mut self, routers: &Routers<W>, router: usize) -> u32 {
        let mut requests = 0;
        for out in routers.all[router].wanted.iter() {
            let port = &routers.output_ports[router * routers.ports + out];
            for channel in port.want.iter() {
                if port.free & port.credited & routers.allowed[usize::from(routers.vc_of[channel])] != 0 {
                    self.ask(routers, router, channel, out, SPECULATIVE);
                    requests += 1;
                }
            }
        }
        requests
    }

    /// Enters a request, unless one of the same input for the same output comes before it.
    #[inline]
    fn ask(&mut self, routers: &Routers<W>, router: usize, channel: usize, out: usize, speculative: u8) {
        let (input, vc) = (usize::from(routers.port_of[channel]), routers.vc_of[channel]);
        let chosen = &mut self.chosen[input * routers.ports + out];
        if !self.by_input[input].has(out) {
            self.by_input[input].set(out);
            self.by_output[out].set(input);
            self.asking.set(input);
            self.asked.set(out);
        } else {
            let turn = usize::from(routers.input_ports[router * routers.ports + input].turn);
            let distance = |vc: u8| (usize::from(vc) + routers.vcs - turn) % routers.vcs;
            let before = (speculative, distance(vc)) < (*chosen & SPECULATIVE, distance(*chosen & !SPECULATIVE));
            if !before {
                return;
            }
        }
        *chosen = vc | speculative;
    }

    fn match_requests(&mut self, routers: &mut Routers<W>, router: usize) {
        for out in self.asked.iter() {
            let requests = std::mem::replace(&mut self.by_output[out], Bits::EMPTY);
            let turn = routers.output_ports[router * routers.ports + out].grant;
            if let Some(input) = requests.next_from(usize::from(turn)) {
                self.granted[input].set(out);
            }
        }
        for input in self.asking.iter() {
            self.by_input[input] = Bits::EMPTY;
            let grants = std::mem::replace(&mut self.granted[input], Bits::EMPTY);
            let turn = routers.input_ports[router * routers.ports + input].accept;
            if let Some(out) = grants.next_from(usize::from(turn)) {
                let vc = self.chosen[input * routers.ports + out] & !SPECULATIVE;
                self.grant_switch(routers, router, input, out, vc);
            }
        }
        (self.asked, self.asking) = (Bits::EMPTY, Bits::EMPTY);
    }

    #[inline]
    fn grant_switch(&mut self, routers: &mut Routers<W>, router: usize, input: usize, out: usize, vc: u8) {
        let base = router * routers.ports;
        let (vcs, ports) = (routers.vcs, routers.ports);
        routers.output_ports[base + out].grant = wrapped(input + 1, ports);
        let port = &mut routers.input_ports[base + input];
        port.accept = wrapped(out + 1, ports);
        port.turn = wrapped(usize::from(vc) + 1, vcs);
        self.switch_grants.push((input * vcs + usize::from(vc)) as u16);
    }
}

/// Carries out what the VC allocator granted.
pub(super) fn take_vcs<const W: usize>(grants: &[VcGrant], routers: &mut Routers<W>, router: usize) {
    let base = router * routers.channels;
    for grant in grants {
        let (channel, out) = (usize::from(grant.channel), usize::from(grant.out));
        let input = &mut routers.inputs[base + channel];
        debug_assert!(input.state == State::Waiting && input.len > 0);
        input.state = State::Active;
        input.out_vc = grant.vc;
        let output = &mut routers.outputs[base + out * routers.vcs + usize::from(grant.vc)];
        output.owner = grant.channel;
        if output.credits > 0 {
            routers.all[router].ready.set(channel);
        }
        let port = &mut routers.output_ports[router * routers.ports + out];
        port.free &= !(1 << grant.vc);
        port.want.clear(channel);
        if port.want.is_empty() {
            routers.all[router].wanted.clear(out);
        }
    }
}

#[inline]
fn wrapped(next: usize, size: usize) -> u16 {
    if next == size { 0 } else { next as u16 }
}
