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
    /// The output that an input accepts.
    accepted: Box<[u16]>,
}

impl<const W: usize> Round<W> {
    pub(super) fn new(ports: usize) -> Self {
        Self { took_vcs: false, granted: Bits::EMPTY, refused: 0, offers: [(0, 0); 16], accepted: vec![0; ports].into() }
    }

    /// Allocates output virtual channels to the packets that wait for one, and hands them over.
    #[inline]
    pub(super) fn allocate_vcs(&mut self, router: &mut Router<W>, shape: &Shape<W>) {
        self.took_vcs = false;
        for out in router.wanted.iter() {
            let port = &router.ports[out];
            let (free, want) = (port.free, port.want);
            if free == 0 {
                continue;
            }
            if let Some(channel) = want.single() {
                // Whoever is alone is granted every virtual channel that it may use.
                let offer = free & shape.allowed(channel);
                if offer != 0 {
                    self.accept_vc(router, shape, channel, out, offer);
                }
                continue;
            }
            let (mut left, mut offers) = (free, 0);
            while left != 0 {
                let vc = left.trailing_zeros() as usize;
                left &= left - 1;
                let turn = router.channels[shape.first(out) | vc].output.grant;
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
                self.accept_vc(router, shape, usize::from(channel), out, offer);
            }
        }
    }

    #[inline]
    fn accept_vc(&mut self, router: &mut Router<W>, shape: &Shape<W>, channel: usize, out: usize, offer: u16) {
        let first = shape.first(out);
        let input = &mut router.channels[channel].input;
        debug_assert!(input.state == State::Waiting && input.len > 0);
        let from = usize::from(input.accept).wrapping_sub(first);
        let vc = cyclic(offer, if from < shape.vcs { from } else { 0 });
        let to = first | vc;
        input.accept = (to + 1) as u16;
        input.state = State::Active;
        input.to = to as u16;
        let output = &mut router.channels[to].output;
        output.grant = Shape::<W>::after(channel + 1, shape.channels);
        output.owner = channel as u16;
        let credited = output.credits > 0;
        let port = &mut router.ports[out];
        port.free &= !(1 << vc);
        port.want.clear(channel);
        if port.want.is_empty() {
            router.wanted.clear(out);
        }
        if credited {
            port.ready.set(channel);
            router.asked.set(out);
        }
        self.took_vcs = true;
    }

    /// Allocates the switch. With speculation, packets that wait for a virtual channel ask too, behind those of their input.
    #[inline]
    pub(super) fn allocate_switch(&mut self, router: &mut Router<W>, shape: &Shape<W>, speculative: bool) {
        self.granted = Bits::EMPTY;
        let outputs = if speculative { router.asked.or(&router.wanted) } else { router.asked };
        let (mut requests, mut inputs) = (0, Bits::<W>::EMPTY);
        for out in outputs.iter() {
            let port = &router.ports[out];
            let mut asking = port.ready;
            requests += asking.count();
            if speculative {
                // An input asks once per output and channel; what waits is not active, so no channel counts twice.
                let hopeful = Self::hopeful(router, shape, out);
                requests += hopeful.count();
                asking = asking.or(&hopeful);
            }
            let Some(channel) = asking.next_from(usize::from(port.grant)) else { continue };
            let input = shape.port(channel);
            if inputs.has(input) {
                let from = usize::from(router.ports[input].accept);
                let distance = |out: usize| if out >= from { out - from } else { out + shape.ports - from };
                if distance(out) > distance(usize::from(self.accepted[input])) {
                    continue;
                }
            }
            inputs.set(input);
            self.accepted[input] = out as u16;
        }
        let mut grants = 0;
        for input in inputs.iter() {
            let out = usize::from(self.accepted[input]);
            let mut mine = shape.of_port(&router.ports[out].ready, input);
            if speculative && mine == 0 {
                mine = shape.of_port(&Self::hopeful(router, shape, out), input);
            }
            let port = &mut router.ports[input];
            let vc = cyclic(mine, usize::from(port.turn));
            port.accept = Shape::<W>::after(out + 1, shape.ports);
            port.turn = Shape::<W>::after(vc + 1, shape.vcs);
            router.ports[out].grant = Shape::<W>::after(shape.first(input + 1), shape.channels);
            self.granted.set(shape.first(input) | vc);
            grants += 1;
        }
        self.refused = requests - grants;
    }

    /// Channels that may get a virtual channel of `out` with a credit in this round.
    #[inline]
    fn hopeful(router: &Router<W>, shape: &Shape<W>, out: usize) -> Bits<W> {
        let port = &router.ports[out];
        let mut open = port.free & port.credited;
        let mut from = Bits::EMPTY;
        if port.want.is_empty() {
            return from;
        }
        while open != 0 {
            let vc = open.trailing_zeros() as usize & 15;
            // All virtual channels of a class have the same sources.
            open &= !shape.allowed(vc);
            from = from.or(&shape.sources[vc]);
        }
        port.want.and(&from)
    }
}
