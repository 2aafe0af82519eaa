//! Who gets which output virtual channel, and who the switch: iSLIP with one iteration (McKeown, 1999).
//!
//! Each output grants one request, in turn; each input accepts one grant, in turn; both pointers move behind what was
//! accepted. The switch is allocated first and changes nothing but pointers, so that both allocators see the state at the
//! beginning of a round; what the VC allocator grants is handed over at once, as nobody else in the round looks at it.
//! At the switch, an input has one request per output: of its channels the one whose turn it is, a speculative one last.
//! An output therefore looks for the next input, and only an input that accepts asks which of its channels goes.

use super::bits::{Bits, cyclic};
use super::router::{Router, Shape, State};

/// What the allocators of one router granted, and their working memory.
#[derive(Clone, Debug)]
pub(super) struct Round<const W: usize> {
    /// Whether an output virtual channel was granted.
    pub(super) took_vcs: bool,
    /// Input channels that may send a flit through the switch.
    pub(super) granted: Bits<W>,
    /// Requests that the switch refused in this round.
    pub(super) refused: u32,
    /// Virtual channels of one output that were granted to a channel.
    offers: [(u16, u16); 16],
}

impl<const W: usize> Round<W> {
    pub(super) fn new() -> Self {
        Self { took_vcs: false, granted: Bits::EMPTY, refused: 0, offers: [(0, 0); 16] }
    }

    /// Allocates output virtual channels to the packets that wait for one, and hands them over.
    #[inline]
    pub(super) fn allocate_vcs<const P: usize, const C: usize>(&mut self, router: &mut Router<W, P, C>, shape: &Shape<W>) {
        self.took_vcs = false;
        for out in router.wanted.iter() {
            let port = router.port(out);
            let (free, want) = (port.free, port.want);
            if free == 0 {
                continue;
            }
            if let Some(channel) = want.single() {
                // Whoever is alone is granted every virtual channel that it may use.
                let offer = free & shape.allowed[router.vc_of(channel)];
                if offer != 0 {
                    self.accept_vc(router, channel, out, offer);
                }
            } else {
                self.share_vcs(router, shape, out);
            }
        }
    }

    /// Allocates the free virtual channels of an output that several packets want.
    fn share_vcs<const P: usize, const C: usize>(&mut self, router: &mut Router<W, P, C>, shape: &Shape<W>, out: usize) {
        let port = router.port(out);
        let (mut left, want, mut offers) = (port.free, port.want, 0);
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
            self.accept_vc(router, usize::from(channel), out, offer);
        }
    }

    #[inline]
    fn accept_vc<const P: usize, const C: usize>(&mut self, router: &mut Router<W, P, C>, channel: usize, out: usize, offer: u16) {
        let first = router.first(out);
        let input = &mut router.channel_mut(channel).input;
        debug_assert!(input.state == State::Waiting && input.len > 0);
        // A pointer that lies in another port is before or behind all of this one's: the lowest is the next.
        let from = usize::from(input.accept).wrapping_sub(first).min(16);
        let vc = cyclic(offer, from);
        let to = first | vc;
        input.accept = (to + 1) as u16;
        input.state = State::Active;
        input.to = to as u16;
        let output = &mut router.channel_mut(to).output;
        output.grant = ((channel + 1) & (C - 1)) as u16;
        output.owner = channel as u16;
        let credited = output.credits > 0;
        let port = router.port_mut(out);
        port.free &= !(1 << vc);
        port.want.clear(channel);
        let satisfied = port.want.is_empty();
        if satisfied {
            router.wanted.clear(out);
        }
        if credited {
            router.set_ready(out, channel);
        }
        self.took_vcs = true;
    }

    /// Allocates the switch. With speculation, packets that wait for a virtual channel ask too, behind those of their input.
    /// Pointers move when a granted channel passes the switch; see [`Router::served`].
    #[inline]
    pub(super) fn allocate_switch<const P: usize, const C: usize>(
        &mut self,
        router: &Router<W, P, C>,
        shape: &Shape<W>,
        speculative: bool,
    ) {
        let (mut requests, mut grants, mut granted) = (0, 0, Bits::<W>::EMPTY);
        let outputs = if speculative { router.asked.or(&router.wanted) } else { router.asked };
        for out in outputs.iter() {
            let port = router.port(out);
            let mut asking = port.ready;
            if speculative {
                asking = asking.or(&Self::hopeful(router, shape, out));
            }
            let channel = match asking.single() {
                Some(channel) => {
                    requests += 1;
                    channel
                }
                None => {
                    let Some(first) = asking.next_from(usize::from(port.grant)) else { continue };
                    requests += asking.count();
                    let input = router.port_of(first);
                    let certain = router.of_port(&port.ready, input);
                    let mine = if certain != 0 { certain } else { router.of_port(&asking, input) };
                    router.first(input) | cyclic(mine, usize::from(router.port(input).turn))
                }
            };
            let input = router.port_of(channel);
            let rival = router.of_port(&granted, input);
            if rival != 0 {
                // Two outputs grant the same input.
                let rival = router.first(input) | rival.trailing_zeros() as usize;
                let from = usize::from(router.port(input).accept);
                let distance = |out: usize| out.wrapping_sub(from) & (P - 1);
                if distance(out) > distance(router.port_of(usize::from(router.channel(rival).input.to))) {
                    continue;
                }
                granted.clear(rival);
                grants -= 1;
            }
            granted.set(channel);
            grants += 1;
        }
        (self.granted, self.refused) = (granted, requests - grants);
    }

    /// Channels that may get a virtual channel of `out` with a credit in this round.
    #[inline]
    fn hopeful<const P: usize, const C: usize>(router: &Router<W, P, C>, shape: &Shape<W>, out: usize) -> Bits<W> {
        let port = router.port(out);
        let mut from = Bits::EMPTY;
        if port.want.is_empty() {
            return from;
        }
        let mut open = port.free & port.credited;
        while open != 0 {
            let vc = open.trailing_zeros() as usize & 15;
            // All virtual channels of a class have the same sources.
            open &= !shape.allowed[vc];
            from = from.or(&shape.sources[vc]);
        }
        port.want.and(&from)
    }
}
