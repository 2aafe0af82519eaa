# Image of the command-line program and the Python package, installed from a wheel built in the first stage. It has no Rust and no sources.
#
#     docker build -t warpshard .
#     docker run --rm -v "$PWD:/work" warpshard run --out results/first
#     docker run --rm -it -v "$PWD:/work" --entrypoint python warpshard
#
# CUDA sources need NVIDIA's compiler as a library: docker build --build-arg EXTRAS=[cuda] -t warpshard .

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/tools \
    && /opt/tools/bin/pip install --no-cache-dir 'maturin>=1.9,<2'
WORKDIR /source
COPY . .
RUN /opt/tools/bin/maturin build --release --locked --manifest-path python/Cargo.toml --target-dir /tmp/target --out /wheels

FROM python:3.12-slim-bookworm
ARG EXTRAS=
COPY --from=build /wheels /tmp/wheels
RUN set -- /tmp/wheels/*.whl \
    && pip install --no-cache-dir "$1${EXTRAS}" \
    && rm -rf /tmp/wheels \
    && useradd --create-home user \
    && install -d -o user /work
USER user
WORKDIR /work
ENTRYPOINT ["warpshard"]
CMD ["--help"]
