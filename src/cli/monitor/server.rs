//! The server of the monitor: one thread, HTTP/1.1, a bounded number of connections.
//!
//! Only a client with the token sees or changes the run: other users of this host do not. Other pages of the same browser can neither read nor ask for
//! anything either: the name in `Host` must be the address that was asked for, and changes need a header that a foreign page cannot send.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use subtle::ConstantTimeEq as _;
use tokio::sync::{Semaphore, oneshot};

use warpshard_chip::{Live, Wish};
use warpshard_config::input;
use warpshard_run::Exit;

use super::super::failure::Failure;
use super::super::output;
use super::state::State;

/// The page and what it loads: the path, its media type and its text. Nothing in them tells of the run.
const PAGES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("page.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
];

/// What the page may load and ask: only what this server gives.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The header of requests that change something.
const ASKS: &str = "x-warpshard";

/// Characters of a token, at least.
const SHORTEST: usize = 16;

/// Random bytes of a token, which has two characters for each.
const RANDOM: usize = 16;

/// The most connections that are open at the same time. Other clients wait until one closes.
const MOST_CONNECTIONS: usize = 32;

/// Time within which a client sends the head of its next request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time after which a connection is closed, so that one that does not read what it asked for keeps no others waiting.
const LIFETIME: Duration = Duration::from_secs(60);

/// Bytes of the head of a request, at most.
const LONGEST_HEAD: usize = 16 << 10;

/// An address that is taken, before the run begins.
#[derive(Debug)]
pub(in crate::cli) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
}

/// The text that a client must send, and whether the message that names the page has it.
#[derive(Debug)]
struct Token {
    text: String,
    shown: bool,
}

/// Takes the address, and reads or draws the token.
///
/// # Errors
/// See [`super::bind`].
pub(super) fn bind(address: SocketAddr, token: Option<&Path>) -> Result<Bound, Failure> {
    let usage = |problem: String| Failure::new(Exit::Usage, problem);
    if !address.ip().is_loopback() && token.is_none() {
        return Err(usage(format!(
            "--monitor {address}: other hosts can reach this address, so that a token of yours is needed: --monitor-token-file FILE names a file with \
             one; a port alone is served to this host only"
        )));
    }
    let token = match token {
        Some(path) => Token { text: read_token(path)?, shown: false },
        None => Token { text: random_token()?, shown: true },
    };
    let taken = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok((listener.local_addr()?, listener))
    });
    let (address, listener) = taken.map_err(|error| usage(format!("--monitor {address}: {error}")))?;
    Ok(Bound { listener, address, token })
}

fn read_token(path: &Path) -> Result<String, Failure> {
    let usage = |problem: String| Failure::new(Exit::Usage, format!("--monitor-token-file {}: {problem}", path.display()));
    let text = input::read_text(path).map_err(|error| usage(error.to_string()))?;
    let token = text.trim();
    if token.len() < SHORTEST || !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err(usage(format!(
            "expected a line of at least {SHORTEST} letters, digits or signs, such as `openssl rand -hex 16` makes"
        )));
    }
    Ok(token.to_owned())
}

/// A token of the operating system's random numbers.
fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; RANDOM];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(Exit::Internal, format!("--monitor: no random token: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Bound {
    /// Serves until the result is dropped, and says where.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(in crate::cli) fn serve(self, title: String) -> Result<Served, Failure> {
        let Self { listener, address, token } = self;
        let live = Live::default();
        let fragment = if token.shown { format!("#{}", token.text) } else { "#TOKEN, with the token of --monitor-token-file".to_owned() };
        let site = Arc::new(Site { address, token: token.text, live: live.clone(), state: Mutex::new(State::new(title)) });
        let (stop, stopped) = oneshot::channel();
        let internal = |error: std::io::Error| Failure::new(Exit::Internal, format!("--monitor: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(internal)?;
        let work = move || runtime.block_on(accept(listener, site, stopped));
        let thread = std::thread::Builder::new().name("monitor".into()).spawn(work).map_err(internal)?;
        output::warn(&format!("Monitor at http://{address}/{fragment}"));
        Ok(Served { live, stop: Some(stop), thread: Some(thread) })
    }
}

/// A monitor that is served.
#[derive(Debug)]
pub(in crate::cli) struct Served {
    live: Live,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// The ends that the run takes.
    pub(in crate::cli) fn live(&self) -> Live {
        self.live.clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A server that has gone already needs no word.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            // One that panicked has printed why; the run does not depend on it.
            let _ = thread.join();
        }
    }
}

/// What the answers are made of.
struct Site {
    address: SocketAddr,
    token: String,
    live: Live,
    state: Mutex<State>,
}

async fn accept(listener: TcpListener, site: Arc<Site>, mut stopped: oneshot::Receiver<()>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return output::warn(&format!("warning: --monitor: {error}")),
    };
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let next = async || {
        let place = Arc::clone(&places).acquire_owned().await;
        (place, listener.accept().await)
    };
    loop {
        let (place, accepted) = tokio::select! {
            _ = &mut stopped => return,
            next = next() => next,
        };
        let Ok((stream, _)) = accepted else {
            // Too many open files pass.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(move |request| {
                let site = Arc::clone(&site);
                async move { Ok::<_, Infallible>(site.answer(&request)) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(LONGEST_HEAD)
                .serve_connection(TokioIo::new(stream), answer);
            // A client that leaves is no error of the run.
            let _ = tokio::time::timeout(LIFETIME, connection).await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    for (name, value) in [(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, POLICY)] {
        answer.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    }
    answer
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    answer(status, "text/plain; charset=utf-8", text)
}

impl Site {
    fn answer(&self, request: &Request<Incoming>) -> Answer {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !self.is_own(header(HOST.as_str())) {
            return text(StatusCode::FORBIDDEN, "This name is not the address that the monitor was asked to serve.\n");
        }
        let (method, path) = (request.method(), request.uri().path());
        // The page takes the token from the fragment of its address, which a browser sends nowhere.
        if let Some((_, kind, page)) = PAGES.iter().find(|(at, ..)| *at == path && method == Method::GET) {
            return answer(StatusCode::OK, kind, *page);
        }
        if !self.admits(header(AUTHORIZATION.as_str())) {
            return text(
                StatusCode::UNAUTHORIZED,
                "A token is needed: http://ADDRESS/#TOKEN, as the run prints it, or the header Authorization: Bearer TOKEN.\n",
            );
        }
        match (method, path) {
            (&Method::GET, "/state") => {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).json(self.live.views.newest().as_deref());
                answer(StatusCode::OK, "application/json", state)
            }
            (&Method::POST, _) if header(ASKS).is_empty() => text(StatusCode::FORBIDDEN, "The header X-Warpshard is missing.\n"),
            (&Method::POST, "/pause") => self.wish(|wish| wish.paused = true),
            (&Method::POST, "/resume") => self.wish(|wish| wish.paused = false),
            (&Method::POST, "/list") => self.wish(|wish| wish.list += 1),
            _ => text(StatusCode::NOT_FOUND, "There is /, /page.css, /page.js, /state, and with POST /pause, /resume and /list.\n"),
        }
    }

    /// Whether a request names this server: its address, or `localhost` where that is meant. A name that somebody made lead here is refused.
    fn is_own(&self, host: &str) -> bool {
        let port = self.address.port();
        if self.address.ip().is_loopback() {
            return host == self.address.to_string() || host == format!("localhost:{port}");
        }
        // With a token, a foreign page gets no answer in any case; the address may be that of a network address translation.
        true
    }

    /// Whether a request has the token, compared in a time that does not depend on where the first difference is.
    fn admits(&self, authorization: &str) -> bool {
        let given = authorization.strip_prefix("Bearer ").unwrap_or_default();
        self.token.as_bytes().ct_eq(given.as_bytes()).into()
    }

    fn wish(&self, change: impl FnOnce(&mut Wish)) -> Answer {
        // One thread makes all wishes.
        let mut wish = self.live.wishes.newest().map_or_else(Wish::default, |wish| *wish);
        change(&mut wish);
        self.live.wishes.publish(wish);
        text(StatusCode::OK, "ok\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(address: &str, token: &str) -> Site {
        let state = Mutex::new(State::new(String::new()));
        Site { address: address.parse().unwrap(), token: token.to_owned(), live: Live::default(), state }
    }

    #[test]
    fn only_the_token_admits() {
        let site = site("127.0.0.1:80", "0123456789abcdef");
        assert!(site.admits("Bearer 0123456789abcdef"));
        for wrong in ["", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0", "0123456789abcdef"] {
            assert!(!site.admits(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_port_alone_gets_a_token_that_is_new_each_time() {
        let bind = || bind("127.0.0.1:0".parse().unwrap(), None).unwrap().token;
        let (first, second) = (bind(), bind());
        assert!(first.shown && first.text.len() == 2 * RANDOM && first.text.chars().all(|c| c.is_ascii_hexdigit()), "{first:?}");
        assert_ne!(first.text, second.text);
    }

    #[test]
    fn a_foreign_name_for_this_host_is_refused() {
        let own = site("127.0.0.1:80", "");
        assert!(own.is_own("127.0.0.1:80") && own.is_own("localhost:80"));
        assert!(!own.is_own("evil.example:80") && !own.is_own("") && !own.is_own("127.0.0.1:81"));
    }

    #[test]
    fn other_addresses_need_a_token_that_is_long_enough() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let refused = |address: &str, token: Option<&Path>| bind(address.parse().unwrap(), token).unwrap_err().message;
        assert!(refused("0.0.0.0:0", None).contains("a token of yours is needed"));
        assert!(refused("0.0.0.0:0", Some(&path)).contains("token"));
        std::fs::write(&path, "short\n").unwrap();
        assert!(refused("127.0.0.1:0", Some(&path)).contains("at least 16"));
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let bound = bind("0.0.0.0:0".parse().unwrap(), Some(&path)).unwrap();
        assert!(bound.token.text == "0123456789abcdef" && !bound.token.shown);
        let twice = bind(bound.address, Some(&path)).unwrap_err();
        assert_eq!(twice.exit, Exit::Usage);
    }
}
