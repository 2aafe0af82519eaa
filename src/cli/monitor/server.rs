//! The server of the monitor: one thread, HTTP/1.1, a bounded number of connections.
//!
//! Only a client with the token can see or change the run; other users of this host cannot. Other pages of the same browser cannot read or
//! request anything either: the `Host` header must contain the served address, and changes need a header that a foreign page cannot send.

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

use warpshard_chip::{Live, LiveRequest};
use warpshard_config::input;
use warpshard_run::Exit;

use super::super::failure::Failure;
use super::super::output;
use super::state::MonitorState;

/// The page and the files it loads: path, media type and text. They contain no data of the run.
const PAGES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("page.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
];

/// The content security policy of the page: it may only load files from this server and send requests to it.
const SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The header that requests which change the run must contain.
const CHANGE_HEADER: &str = "x-warpshard";

/// Minimum length of a token in characters.
const MIN_TOKEN_CHARS: usize = 16;

/// Random bytes of a generated token, which has two characters per byte.
const TOKEN_BYTES: usize = 16;

/// Maximum number of open connections. Other clients wait until a connection closes.
const MAX_CONNECTIONS: usize = 32;

/// Timeout for the head of a client's next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum lifetime of a connection, so that a client that does not read its response does not block other clients.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(60);

/// Maximum size of the head of a request in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// An address that is bound before the run begins.
#[derive(Debug)]
pub(in crate::cli) struct BoundMonitor {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
}

/// The token that a client must send; `shown` is true if the printed address of the page contains the token.
#[derive(Debug)]
struct Token {
    text: String,
    shown: bool,
}

/// Binds the address, and reads or generates the token.
///
/// # Errors
/// Fails as [`super::bind`] does.
pub(super) fn bind(address: SocketAddr, token: Option<&Path>) -> Result<BoundMonitor, Failure> {
    let usage = |problem: String| Failure::new(Exit::Usage, problem);
    if !address.ip().is_loopback() && token.is_none() {
        return Err(usage(format!(
            "--monitor {address}: other hosts can reach this address, so that a token is required: name a file with a \
             token with --monitor-token-file FILE; a port alone is served to this host only"
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
    Ok(BoundMonitor { listener, address, token })
}

fn read_token(path: &Path) -> Result<String, Failure> {
    let usage = |problem: String| Failure::new(Exit::Usage, format!("--monitor-token-file {}: {problem}", path.display()));
    let text = input::read_text(path).map_err(|error| usage(error.to_string()))?;
    let token = text.trim();
    if token.len() < MIN_TOKEN_CHARS || !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err(usage(format!(
            "expected a line of at least {MIN_TOKEN_CHARS} letters, digits or punctuation, such as the output of `openssl rand -hex 16`"
        )));
    }
    Ok(token.to_owned())
}

/// Generates a token from random numbers of the operating system.
fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(Exit::Internal, format!("--monitor: no random token: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl BoundMonitor {
    /// Serves the page until the returned value is dropped, and prints its address.
    ///
    /// # Errors
    /// Fails if the operating system cannot start a thread.
    pub(in crate::cli) fn serve(self, title: String) -> Result<RunningMonitor, Failure> {
        let Self { listener, address, token } = self;
        let live = Live::default();
        let fragment = if token.shown { format!("#{}", token.text) } else { "#TOKEN, with the token of --monitor-token-file".to_owned() };
        let handler = Arc::new(Handler { address, token: token.text, live: live.clone(), state: Mutex::new(MonitorState::new(title)) });
        let (stop, stopped) = oneshot::channel();
        let internal = |error: std::io::Error| Failure::new(Exit::Internal, format!("--monitor: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(internal)?;
        let work = move || runtime.block_on(accept(listener, handler, stopped));
        let thread = std::thread::Builder::new().name("monitor".into()).spawn(work).map_err(internal)?;
        output::warn(&format!("Monitor at http://{address}/{fragment}"));
        Ok(RunningMonitor { live, stop: Some(stop), thread: Some(thread) })
    }
}

/// A running server of the monitor.
#[derive(Debug)]
pub(in crate::cli) struct RunningMonitor {
    live: Live,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningMonitor {
    /// Returns the run's side of the channels between run and monitor.
    pub(in crate::cli) fn live(&self) -> Live {
        self.live.clone()
    }
}

impl Drop for RunningMonitor {
    fn drop(&mut self) {
        // The receiver may be gone if the server has already ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has printed the reason; the run does not depend on it.
            let _ = thread.join();
        }
    }
}

/// Data from which responses are made.
struct Handler {
    address: SocketAddr,
    token: String,
    live: Live,
    state: Mutex<MonitorState>,
}

async fn accept(listener: TcpListener, handler: Arc<Handler>, mut stopped: oneshot::Receiver<()>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return output::warn(&format!("warning: --monitor: {error}")),
    };
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let next = async || {
        let permit = Arc::clone(&permits).acquire_owned().await;
        (permit, listener.accept().await)
    };
    loop {
        let (permit, accepted) = tokio::select! {
            _ = &mut stopped => return,
            next = next() => next,
        };
        let Ok((stream, _)) = accepted else {
            // An error such as too many open files is temporary.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let handler = Arc::clone(&handler);
        tokio::spawn(async move {
            let _permit = permit;
            let answer = service_fn(move |request| {
                let handler = Arc::clone(&handler);
                async move { Ok::<_, Infallible>(handler.answer(&request)) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(MAX_HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), answer);
            // A client that disconnects causes no error of the run.
            let _ = tokio::time::timeout(CONNECTION_LIFETIME, connection).await;
        });
    }
}

type HttpResponse = Response<Full<Bytes>>;

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> HttpResponse {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    for (name, value) in [(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, SECURITY_POLICY)] {
        answer.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    }
    answer
}

fn text(status: StatusCode, text: &'static str) -> HttpResponse {
    answer(status, "text/plain; charset=utf-8", text)
}

impl Handler {
    fn answer(&self, request: &Request<Incoming>) -> HttpResponse {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !self.is_own_host(header(HOST.as_str())) {
            return text(StatusCode::FORBIDDEN, "The Host header is not the served address.\n");
        }
        let (method, path) = (request.method(), request.uri().path());
        // The page reads the token from the fragment of its address, which browsers do not send.
        if let Some((_, kind, page)) = PAGES.iter().find(|(at, ..)| *at == path && method == Method::GET) {
            return answer(StatusCode::OK, kind, *page);
        }
        if !self.has_token(header(AUTHORIZATION.as_str())) {
            return text(
                StatusCode::UNAUTHORIZED,
                "A token is required: open http://ADDRESS/#TOKEN, which the run prints, or send the header Authorization: Bearer TOKEN.\n",
            );
        }
        match (method, path) {
            (&Method::GET, "/state") => {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).json(self.live.views.newest().as_deref());
                answer(StatusCode::OK, "application/json", state)
            }
            (&Method::POST, _) if header(CHANGE_HEADER).is_empty() => text(StatusCode::FORBIDDEN, "The header X-Warpshard is missing.\n"),
            (&Method::POST, "/pause") => self.change_request(|wish| wish.paused = true),
            (&Method::POST, "/resume") => self.change_request(|wish| wish.paused = false),
            (&Method::POST, "/list") => self.change_request(|wish| wish.list += 1),
            _ => text(
                StatusCode::NOT_FOUND,
                "Not found. The paths are /, /page.css, /page.js, /state, and with POST /pause, /resume and /list.\n",
            ),
        }
    }

    /// Returns true if a request names this server: its address, or `localhost` for a loopback address. A foreign host name that resolves
    /// to this host is rejected.
    fn is_own_host(&self, host: &str) -> bool {
        let port = self.address.port();
        if self.address.ip().is_loopback() {
            return host == self.address.to_string() || host == format!("localhost:{port}");
        }
        // Without the token, a foreign page gets no response; the requested address may differ from the served one because of network
        // address translation.
        true
    }

    /// Returns true if a request has the token; the comparison takes constant time.
    fn has_token(&self, authorization: &str) -> bool {
        let given = authorization.strip_prefix("Bearer ").unwrap_or_default();
        self.token.as_bytes().ct_eq(given.as_bytes()).into()
    }

    fn change_request(&self, change: impl FnOnce(&mut LiveRequest)) -> HttpResponse {
        // Only this thread publishes requests to the run.
        let mut wish = self.live.requests.newest().map_or_else(LiveRequest::default, |wish| *wish);
        change(&mut wish);
        self.live.requests.publish(wish);
        text(StatusCode::OK, "ok\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(address: &str, token: &str) -> Handler {
        let state = Mutex::new(MonitorState::new(String::new()));
        Handler { address: address.parse().unwrap(), token: token.to_owned(), live: Live::default(), state }
    }

    #[test]
    fn only_the_token_gives_access() {
        let handler = handler("127.0.0.1:80", "0123456789abcdef");
        assert!(handler.has_token("Bearer 0123456789abcdef"));
        for wrong in ["", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0", "0123456789abcdef"] {
            assert!(!handler.has_token(wrong), "{wrong}");
        }
    }

    #[test]
    fn every_bind_generates_a_new_token() {
        let bind = || bind("127.0.0.1:0".parse().unwrap(), None).unwrap().token;
        let (first, second) = (bind(), bind());
        assert!(first.shown && first.text.len() == 2 * TOKEN_BYTES && first.text.chars().all(|c| c.is_ascii_hexdigit()), "{first:?}");
        assert_ne!(first.text, second.text);
    }

    #[test]
    fn a_foreign_name_for_this_host_is_refused() {
        let own = handler("127.0.0.1:80", "");
        assert!(own.is_own_host("127.0.0.1:80") && own.is_own_host("localhost:80"));
        assert!(!own.is_own_host("evil.example:80") && !own.is_own_host("") && !own.is_own_host("127.0.0.1:81"));
    }

    #[test]
    fn other_addresses_require_a_long_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let refused = |address: &str, token: Option<&Path>| bind(address.parse().unwrap(), token).unwrap_err().message;
        assert!(refused("0.0.0.0:0", None).contains("a token is required"));
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
