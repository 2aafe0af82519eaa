// Distances from vertex 0: in every launch a thread relaxes all edges of its vertices, whatever has changed, with atomic minima.
// `relax` counts edges, `relaxWeighted` adds their weights. The graph is in rows: edges of v are begin[v] to begin[v + 1] - 1.
#define FAR 1000000000u

extern "C" __global__ void initialize(unsigned *distance, unsigned vertices) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < vertices) distance[v] = v == 0 ? 0 : FAR;
}

template <bool WEIGHTED> __device__ bool relaxEdges(unsigned *distance, const unsigned *begin, const unsigned *to, const unsigned *weight, unsigned v) {
    bool changed = false;
    unsigned first = begin[v], degree = begin[v + 1] - first;
    for (unsigned i = 0; i < degree; i++) {
        unsigned target = to[first + i], other = distance[v] + (WEIGHTED ? weight[first + i] : 1);
        if (other < distance[target] && other < atomicMin(&distance[target], other)) changed = true;
    }
    return changed;
}

template <bool WEIGHTED> __device__ void relaxAll(unsigned *distance, const unsigned *begin, const unsigned *to, const unsigned *weight,
                                                  bool *changed, unsigned vertices, unsigned each) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned v = thread * each; v < (thread + 1) * each; v++)
        if (v < vertices && relaxEdges<WEIGHTED>(distance, begin, to, weight, v)) *changed = true;
}

extern "C" __global__ void relax(unsigned *distance, const unsigned *begin, const unsigned *to, bool *changed, unsigned vertices, unsigned each) {
    relaxAll<false>(distance, begin, to, 0, changed, vertices, each);
}

extern "C" __global__ void relaxWeighted(unsigned *distance, const unsigned *begin, const unsigned *to, const unsigned *weight, bool *changed,
                                         unsigned vertices, unsigned each) {
    relaxAll<true>(distance, begin, to, weight, changed, vertices, each);
}
