// Breadth-first search with masks: every level is two launches, one that visits the neighbours of the level's vertices and one that makes
// the vertices that were found the next level.
struct Vertex {
    int first, degree;
};

extern "C" __global__ void visit(const Vertex *vertices, const int *edges, bool *mask, bool *updating, const bool *visited, int *cost, int count) {
    int v = blockIdx.x * 512 + threadIdx.x;
    if (v >= count || !mask[v]) return;
    mask[v] = false;
    for (int i = vertices[v].first; i < vertices[v].degree + vertices[v].first; i++) {
        int to = edges[i];
        if (!visited[to]) {
            cost[to] = cost[v] + 1;
            updating[to] = true;
        }
    }
}

extern "C" __global__ void advance(bool *mask, bool *updating, bool *visited, bool *over, int count) {
    int v = blockIdx.x * 512 + threadIdx.x;
    if (v >= count || !updating[v]) return;
    mask[v] = true;
    visited[v] = true;
    *over = true;
    updating[v] = false;
}

// A random graph: vertices of one to `most` edges, the search begins at vertex 0. Edges are stored with a distance of `most`.
extern "C" __global__ void makeGraph(Vertex *vertices, int *edges, bool *mask, bool *visited, int *cost, int most, int count) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= count) return;
    unsigned state = v * 2654435761u + 12345u;
    vertices[v].first = v * most;
    vertices[v].degree = 1 + (state >> 16) % most;
    for (int i = 0; i < most; i++) {
        state = state * 1664525u + 1013904223u;
        edges[v * most + i] = (state >> 8) % count;
    }
    mask[v] = visited[v] = v == 0;
    cost[v] = v == 0 ? 0 : -1;
}
