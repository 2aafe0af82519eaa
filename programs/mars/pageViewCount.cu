// Page view count as MapReduce: a log has a page, a visitor's address and a cookie per line. The first round keeps one line of those with the same
// page and address; the second counts per page the lines that are left. Each round maps (a thread parses a line, hashes its key and emits a pair
// of hash and line; it parses twice, first to count what it will emit, so that a prefix sum says where it goes), groups (a bitonic sort of pairs;
// where hashes are equal, by the keys themselves) and reduces (a thread per group). Keys stay in the log and are read byte by byte.
const int THREADS = 256, TILE = 512;

// What stands behind all others in a sorted array is filled with ones.
struct Pair { unsigned hash, line; };
const unsigned NONE = ~0u;

// A log, where its lines begin, how many fields of a line are the key, and by how much its hash is shortened.
struct Log { const unsigned char *text; const unsigned *starts; int fields, shortened; };

// A log of lines "http://site/page<TAB>10.ddd.ddd<TAB>cookie" in which the page is up to 14 letters longer; one address of 16 is missing.
const int SHORTEST = 33;

__device__ unsigned mixed(unsigned number) {
    number = (number ^ number >> 16) * 0x7feb352d;
    number = (number ^ number >> 15) * 0x846ca68b;
    return number ^ number >> 16;
}

extern "C" __global__ void write(unsigned char *text, unsigned *starts, unsigned lines, unsigned pages, unsigned visitors) {
    unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    unsigned kind = line % 8, start = line / 8 * (8 * SHORTEST + 56) + kind * SHORTEST + kind * (kind - 1);
    unsigned page = mixed(line) % pages * 8 + kind, visitor = mixed(line + 0x40000000) % visitors;
    bool known = mixed(line + 0x80000000) % 16 > 0;
    starts[line] = start;
    unsigned char *out = text + start;
    for (int i = 0; i < 7; ++i) *out++ = "http://"[i];
    for (unsigned i = 0, rest = mixed(page % 1000); i < 4; ++i, rest /= 26) *out++ = 'a' + rest % 26;
    *out++ = '/';
    for (unsigned i = 0, rest = page; i < 4 + 2 * kind; ++i, rest /= 16) *out++ = 'a' + rest % 16;
    *out++ = '\t';
    if (known) {
        *out++ = '1', *out++ = '0', *out++ = '.';
        for (unsigned i = 0, rest = visitor; i < 7; ++i, rest /= i == 4 ? 1 : 10) *out++ = i == 3 ? '.' : '0' + rest % 10;
    } else {
        for (int i = 0; i < 10; ++i) *out++ = '-';
    }
    *out++ = '\t';
    for (unsigned i = 0, rest = visitor; i < 4; ++i, rest /= 26) *out++ = 'A' + rest % 26;
    *out++ = '\n';
}

// The hash of a line's key (FNV-1a); false if the line has no address.
__device__ __forceinline__ bool parse(const Log &log, unsigned line, unsigned &hash) {
    const unsigned char *at = log.text + log.starts[line];
    hash = 2166136261u;
    for (int field = 0; field < 2; ++field) {
        if (field == 1 && *at == '-') return false;
        for (; *at != '\t'; ++at) {
            if (field < log.fields) hash = (hash ^ *at) * 16777619u;
        }
        ++at;
    }
    hash >>= log.shortened;
    return true;
}

// The keys of two lines: negative, 0 or positive as the first comes before, is equal to, or comes after the second.
__device__ int compared(const Log &log, unsigned a, unsigned b) {
    const unsigned char *first = log.text + log.starts[a], *second = log.text + log.starts[b];
    for (int tabs = 0;; ++first, ++second) {
        if (*first != *second) return *first - *second;
        if (*first == '\t' && ++tabs == log.fields) return 0;
    }
}

__device__ __forceinline__ bool before(const Log &log, Pair a, Pair b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    if (a.line != NONE && b.line != NONE) {
        int order = compared(log, a.line, b.line);
        if (order) return order < 0;
    }
    return a.line < b.line;
}

__device__ __forceinline__ void order(const Log &log, Pair &a, Pair &b, bool ascending) {
    Pair first = a, second = b;
    if (before(log, second, first) == ascending) a = second, b = first;
}

extern "C" __global__ void mapCount(Log log, const unsigned *lines, const unsigned *count, unsigned *counts, unsigned size) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x, hash;
    if (i < size) counts[i] = i < *count && parse(log, lines[i], hash);
}

// Sums of all counts before each one within 256, and their total.
extern "C" __global__ void scanTiles(const unsigned *counts, unsigned *offsets, unsigned *totals, unsigned size) {
    __shared__ unsigned sums[THREADS];
    unsigned thread = threadIdx.x, i = blockIdx.x * THREADS + thread, own = i < size ? counts[i] : 0, sum = own;
    for (int distance = 1; distance < THREADS; distance *= 2) {
        sums[thread] = sum;
        __syncthreads();
        if (thread >= distance) sum += sums[thread - distance];
        __syncthreads();
    }
    if (i < size) offsets[i] = sum - own;
    if (thread == THREADS - 1) totals[blockIdx.x] = sum;
}

// The same of the totals, by one CTA, and the sum of all.
extern "C" __global__ void scanTotals(unsigned *totals, unsigned size, unsigned *all) {
    __shared__ unsigned sums[THREADS];
    unsigned thread = threadIdx.x, carried = 0;
    for (unsigned base = 0; base < size; base += THREADS) {
        unsigned own = base + thread < size ? totals[base + thread] : 0, sum = own;
        for (int distance = 1; distance < THREADS; distance *= 2) {
            sums[thread] = sum;
            __syncthreads();
            if (thread >= distance) sum += sums[thread - distance];
            __syncthreads();
        }
        if (base + thread < size) totals[base + thread] = carried + sum - own;
        sums[thread] = sum;
        __syncthreads();
        carried += sums[THREADS - 1];
        __syncthreads();
    }
    if (thread == 0) *all = carried;
}

extern "C" __global__ void map(Log log, const unsigned *lines, const unsigned *count, const unsigned *offsets, const unsigned *totals, Pair *pairs) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x, hash;
    if (i < *count && parse(log, lines[i], hash)) pairs[offsets[i] + totals[blockIdx.x]] = {hash, lines[i]};
}

// The steps of the sort that stay in a tile, which make sorted runs of `from` to `to` pairs.
__device__ __forceinline__ void sorted(const Log &log, Pair *pairs, unsigned from, unsigned to) {
    __shared__ Pair tile[TILE];
    unsigned thread = threadIdx.x, base = blockIdx.x * TILE;
    tile[thread] = pairs[base + thread];
    tile[thread + THREADS] = pairs[base + thread + THREADS];
    for (unsigned run = from; run <= to; run *= 2) {
        for (unsigned stride = min(run, TILE) / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned at = 2 * thread - (thread & stride - 1);
            order(log, tile[at], tile[at + stride], !(base + at & run));
        }
    }
    __syncthreads();
    pairs[base + thread] = tile[thread];
    pairs[base + thread + THREADS] = tile[thread + THREADS];
}

extern "C" __global__ void sortTiles(Log log, Pair *pairs) {
    sorted(log, pairs, 2, TILE);
}

extern "C" __global__ void exchange(Log log, Pair *pairs, unsigned run, unsigned stride) {
    unsigned thread = blockIdx.x * THREADS + threadIdx.x, at = 2 * thread - (thread & stride - 1);
    order(log, pairs[at], pairs[at + stride], !(at & run));
}

extern "C" __global__ void mergeTiles(Log log, Pair *pairs, unsigned run) {
    sorted(log, pairs, run, run);
}

// Where groups of equal keys begin: 1, elsewhere 0.
extern "C" __global__ void mark(Log log, const Pair *pairs, const unsigned *count, unsigned *counts) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    bool begins = i < *count;
    if (begins && i > 0) begins = pairs[i].hash != pairs[i - 1].hash || compared(log, pairs[i].line, pairs[i - 1].line) != 0;
    counts[i] = begins;
}

extern "C" __global__ void begin(const unsigned *counts, const unsigned *offsets, const unsigned *totals, unsigned *firsts) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    if (counts[i]) firsts[offsets[i] + totals[blockIdx.x]] = i;
}

// Of every group its first line and its length.
extern "C" __global__ void reduce(const Pair *pairs, const unsigned *count, const unsigned *firsts, const unsigned *groups, unsigned *lines,
                                  unsigned *lengths) {
    unsigned group = blockIdx.x * THREADS + threadIdx.x;
    if (group >= *groups) return;
    unsigned end = group + 1 < *groups ? firsts[group + 1] : *count, least = NONE, length = 0;
    for (unsigned i = firsts[group]; i < end; ++i) {
        least = min(least, pairs[i].line);
        ++length;
    }
    lines[group] = least, lengths[group] = length;
}
