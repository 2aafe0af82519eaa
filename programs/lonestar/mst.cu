// A least spanning tree (Boruvka): in every round each vertex finds its lightest edge to another component, each component the lightest of
// these, and components that are joined get one number. Edges lead both ways; weights differ, so that the tree is unique.
typedef unsigned long long word;
#define NONE 0xffffffffffffffffull

extern "C" __global__ void start(unsigned *component, word *lightest, unsigned vertices) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    component[v] = v;
    lightest[v] = NONE;
}

// The lightest edge of a vertex that leaves its component: weight above, number of the edge below.
extern "C" __global__ void ofVertices(const unsigned *begin, const unsigned *to, const unsigned *weight, const unsigned *component,
                                      word *lightest, unsigned vertices) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    word best = NONE;
    unsigned own = component[v];
    for (unsigned e = begin[v]; e < begin[v + 1]; e++)
        if (component[to[e]] != own) best = min(best, (word)weight[e] << 32 | e);
    if (best != NONE) atomicMin(&lightest[own], best);
}

// A component takes the number of the one that its lightest edge leads to, unless that one does the same and has the larger number.
extern "C" __global__ void join(const unsigned *to, const unsigned *component, word *lightest, unsigned *parent, unsigned *total,
                                unsigned *count, unsigned vertices) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= vertices) return;
    parent[c] = c;
    word best = lightest[c];
    if (component[c] != c || best == NONE) return;
    unsigned other = component[to[(unsigned)best]];
    word back = lightest[other];
    bool mutual = back != NONE && component[to[(unsigned)back]] == c && back >> 32 == best >> 32;
    if (mutual && c < other) return;
    parent[c] = other;
    atomicAdd(total, (unsigned)(best >> 32));
    atomicAdd(count, 1);
}

// Every vertex follows the parents to the end.
extern "C" __global__ void flatten(unsigned *component, const unsigned *parent, word *lightest, unsigned vertices) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    unsigned c = component[v];
    while (parent[c] != c) c = parent[c];
    component[v] = c;
    lightest[v] = NONE;
}

// A ring with chords: edge k of v leads `step` further or back; its weight depends on its lower end and its step.
extern "C" __global__ void makeGraph(unsigned *begin, unsigned *to, unsigned *weight, unsigned vertices) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v > vertices) return;
    begin[v] = 6 * v;
    if (v == vertices) return;
    const unsigned steps[3] = {1, 17, 301};
    for (unsigned k = 0; k < 6; k++) {
        unsigned step = steps[k % 3], other = k < 3 ? (v + step) % vertices : (v + vertices - step) % vertices, low = k < 3 ? v : other;
        to[6 * v + k] = other;
        // Multiplication with an odd number turns different numbers into different ones.
        weight[6 * v + k] = (low * 3 + k % 3) * 0x9e3779b1u >> 1 | 1;
    }
}
