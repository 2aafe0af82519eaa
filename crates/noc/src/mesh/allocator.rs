//! Allocation of output virtual channels and of the switch: iSLIP with one iteration (McKeown, 1999).
//!
//! Each output grants one request round robin; each input accepts one grant round robin; both pointers move past the accepted request. The
//! switch is allocated first and changes only pointers, so that both allocators use the state at the beginning of a round. Grants of the VC
//! allocator take effect immediately, because nothing else in the round reads them. At the switch, an input has one request per output,
//! from the channel that is next in round-robin order; speculative requests come last. An output therefore arbitrates among inputs, and
//! only an accepting input selects one of its channels.

use super::bits::{BitSet, next_cyclic};
use super::requests::RouterRequests;
use super::router::{Router, RouterShape, VcState};

/// The grants of a round in all routers.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct AllocationRound {
    /// True if an output virtual channel was granted.
    pub(super) took_vcs: bool,
    /// Input channels, numbered over all routers, that may send a flit through the switch.
    pub(super) granted_channels: Vec<u32>,
    /// Requests that lost the arbitration for a switch.
    pub(super) refused: u32,
    /// Offers of an output's virtual channels: an input channel and the virtual channels granted to it.
    offers: [(u16, u16); 16],
}

impl AllocationRound {
    /// Allocates output virtual channels to the packets that wait for one.
    #[inline]
    pub(super) fn allocate_vcs<const W: usize, const P: usize, const C: usize>(
        &mut self,
        routers: &mut [Router<W, P, C>],
        requests: &mut RouterRequests,
        shape: &RouterShape<W>,
    ) {
        self.took_vcs = false;
        for word in 0..requests.words() {
            let mut left = requests.vc(word);
            while left != 0 {
                let at = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let (router, out) = (&mut routers[at / P], at % P);
                let port = router.port(out);
                let (free, want) = (port.free, port.waiting_inputs);
                if free == 0 {
                    continue;
                }
                if let Some(channel) = want.single() {
                    // A single requester is granted every virtual channel that it may use.
                    let offer = free & shape.allowed[router.vc_of(channel)];
                    if offer != 0 {
                        self.accept_vc(router, requests, channel, out, offer);
                    }
                } else {
                    self.share_vcs(router, requests, shape, out);
                }
            }
        }
    }

    /// Allocates the free virtual channels of an output that several packets request.
    fn share_vcs<const W: usize, const P: usize, const C: usize>(
        &mut self,
        router: &mut Router<W, P, C>,
        requests: &mut RouterRequests,
        shape: &RouterShape<W>,
        out: usize,
    ) {
        let port = router.port(out);
        let (mut left, want, mut offers) = (port.free, port.waiting_inputs, 0);
        while left != 0 {
            let vc = left.trailing_zeros() as usize;
            left &= left - 1;
            let turn = router.channel(router.first(out) | vc).output.grant;
            let Some(channel) = want.and(&shape.sources[vc & 15]).next_from(usize::from(turn)) else { continue };
            match self.offers[..offers].iter_mut().find(|offer| usize::from(offer.0) == channel) {
                Some(offer) => offer.1 |= 1 << vc,
                None => {
                    self.offers[offers] = (channel as u16, 1 << vc);
                    offers += 1;
                }
            }
        }
        for i in 0..offers {
            let (channel, offer) = self.offers[i];
            self.accept_vc(router, requests, usize::from(channel), out, offer);
        }
    }

    #[inline]
    fn accept_vc<const W: usize, const P: usize, const C: usize>(
        &mut self,
        router: &mut Router<W, P, C>,
        requests: &mut RouterRequests,
        channel: usize,
        out: usize,
        offer: u16,
    ) {
        let first = router.first(out);
        let input = &mut router.channel_mut(channel).input;
        debug_assert!(input.state == VcState::Waiting && input.len > 0);
        // A pointer into another port is before or after all channels of this port, so the lowest channel is next.
        let from = usize::from(input.accept).wrapping_sub(first).min(16);
        let vc = next_cyclic(offer, from);
        let to = first | vc;
        input.accept = (to + 1) as u16;
        input.state = VcState::Active;
        input.to = to as u16;
        let output = &mut router.channel_mut(to).output;
        output.grant = ((channel + 1) & (C - 1)) as u16;
        output.owner = channel as u16;
        let credited = output.credits > 0;
        let port = router.port_mut(out);
        port.free &= !(1 << vc);
        port.waiting_inputs.clear(channel);
        if port.waiting_inputs.is_empty() {
            requests.vc.clear(router.base as usize + out);
        }
        if credited {
            router.set_ready(requests, out, channel);
        }
        self.took_vcs = true;
    }

    /// Allocates the switch. With speculation, packets that wait for a virtual channel also request the switch, after the other packets of
    /// their input. Pointers move when a granted channel passes the switch; see [`Router::advance_pointers`].
    #[inline]
    pub(super) fn allocate_switch<const W: usize, const P: usize, const C: usize>(
        &mut self,
        routers: &mut [Router<W, P, C>],
        requests: &RouterRequests,
        shape: &RouterShape<W>,
        speculative: bool,
    ) {
        self.granted_channels.clear();
        let mut count = 0;
        for word in 0..requests.words() {
            let mut left = requests.switch(word) | if speculative { requests.vc(word) } else { 0 };
            while left != 0 {
                let at = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let (router, out) = (&mut routers[at / P], at % P);
                let port = router.port(out);
                let mut asking = port.ready;
                if speculative {
                    asking = asking.or(&Self::speculative_requests(router, shape, out));
                }
                let channel = match asking.single() {
                    Some(channel) => {
                        count += 1;
                        channel
                    }
                    None => {
                        let Some(first) = asking.next_from(usize::from(port.grant)) else { continue };
                        count += asking.count();
                        let input = router.port_of(first);
                        let certain = router.of_port(&port.ready, input);
                        let mine = if certain != 0 { certain } else { router.of_port(&asking, input) };
                        router.first(input) | next_cyclic(mine, usize::from(router.port(input).turn))
                    }
                };
                self.grant_switch(router, channel, out);
            }
        }
        self.refused = count - self.granted_channels.len() as u32;
    }

    /// Grants a channel the switch on behalf of an output. The input accepts the grant or keeps the grant of another output.
    #[inline]
    fn grant_switch<const W: usize, const P: usize, const C: usize>(&mut self, router: &mut Router<W, P, C>, channel: usize, out: usize) {
        let (input, vc) = (router.port_of(channel), router.vc_of(channel));
        let all = router.first(router.base as usize);
        let port = router.port_mut(input);
        let rival = port.winning_vc;
        if rival == 0 {
            port.winning_vc = vc as u8 + 1;
            self.granted_channels.push((all + channel) as u32);
            return;
        }
        let from = usize::from(port.accept);
        let rival = router.first(input) | usize::from(rival - 1);
        let distance = |out: usize| out.wrapping_sub(from) & (P - 1);
        if distance(out) < distance(router.port_of(usize::from(router.channel(rival).input.to))) {
            router.port_mut(input).winning_vc = vc as u8 + 1;
            // The competing grant belongs to the same router, so it is among the last ones.
            if let Some(grant) = self.granted_channels.iter_mut().rev().find(|grant| **grant == (all + rival) as u32) {
                *grant = (all + channel) as u32;
            }
        }
    }

    /// Returns the channels that may get a virtual channel of `out` with a credit in this round.
    #[inline]
    fn speculative_requests<const W: usize, const P: usize, const C: usize>(
        router: &Router<W, P, C>,
        shape: &RouterShape<W>,
        out: usize,
    ) -> BitSet<W> {
        let port = router.port(out);
        let mut from = BitSet::EMPTY_SET;
        if port.waiting_inputs.is_empty() {
            return from;
        }
        let mut open = port.free & port.credited;
        while open != 0 {
            let vc = open.trailing_zeros() as usize & 15;
            // All virtual channels of a class have the same sources.
            open &= !shape.allowed[vc];
            from = from.or(&shape.sources[vc]);
        }
        port.waiting_inputs.and(&from)
    }
}
