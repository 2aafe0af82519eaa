//! The address option of the monitor.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// An address with a port; a port alone means the loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MonitorAddress(pub SocketAddr);

impl FromStr for MonitorAddress {
    type Err = String;

    /// Parses a port such as 8080, or an address with a port such as `192.168.0.7:8080` and `[::1]:8080`.
    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        let address = port.or_else(|_| text.parse()).map(Self);
        address
            .map_err(|_| "expected a port such as 8080, or a numeric address with a port such as 192.168.0.7:8080 or [::1]:8080".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_loopback() {
        let read = |text: &str| text.parse::<MonitorAddress>().map(|address| (address.0.ip().is_loopback(), address.0.port()));
        assert_eq!((read("8080"), read("[::1]:1"), read("0.0.0.0:0")), (Ok((true, 8080)), Ok((true, 1)), Ok((false, 0))));
        for wrong in ["", "70000", "localhost:80", "::1", ":80", "1.2.3.4"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
