// Breadth-first search, one launch per level: every vertex of the current level gives its unvisited neighbours the next level.
// rows has n + 1 entries; the neighbours of v are edges[rows[v]] to edges[rows[v + 1] - 1].
extern "C" __global__ void expand(const int *rows, const int *edges, int *level, int current, int *changed, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != current) return;
    for (int e = rows[v]; e < rows[v + 1]; e++) {
        int neighbour = edges[e];
        if (atomicCAS(&level[neighbour], -1, current + 1) == -1) *changed = 1;
    }
}

// A regular graph: vertex v leads to (v * 5 + k * 7 + 1) mod n for k from 0 to degree - 1.
extern "C" __global__ void makeGraph(int *rows, int *edges, int degree, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v > n) return;
    rows[v] = v * degree;
    if (v < n)
        for (int k = 0; k < degree; k++) edges[v * degree + k] = (int)(((long long)v * 5 + k * 7 + 1) % n);
}

// The level of one vertex.
extern "C" __global__ void setLevel(int *level, int vertex, int value) {
    if (threadIdx.x == 0) level[vertex] = value;
}
