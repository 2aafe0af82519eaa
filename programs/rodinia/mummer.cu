// Longest matches of queries in a reference of bases (0 to 3) by a suffix tree in textures, a thread per query, and where they are.
// Node 1 is the root; 0 stands for none. A node: where its edge's bases stand in the reference (first, and the one after the last), the node
// of its string without the first base, the length of its string. Its children: one per base.
const int ACROSS = 256;

__device__ __forceinline__ uint4 texel(cudaTextureObject_t texture, unsigned node) {
    return tex2D<uint4>(texture, node % ACROSS + 0.5f, node / ACROSS + 0.5f);
}

__device__ __forceinline__ unsigned child(uint4 children, int base) {
    return base == 0 ? children.x : base == 1 ? children.y : base == 2 ? children.z : base == 3 ? children.w : 0;
}

// One thread makes the tree, suffix by suffix.
extern "C" __global__ void build(uint4 *nodes, unsigned *children, unsigned *parents, unsigned *ends, const unsigned char *reference, int length) {
    unsigned count = 2;
    nodes[1] = make_uint4(0, 0, 1, 0);
    for (int start = 0; start < length; ++start) {
        unsigned node = 1;
        int at = start;
        while (true) {
            if (at == length) {
                ends[node] = start + 1;
                break;
            }
            unsigned next = children[4 * node + reference[at]];
            if (next == 0) {
                nodes[count] = make_uint4(at, length, 0, length - start);
                parents[count] = node;
                ends[count] = start + 1;
                children[4 * node + reference[at]] = count++;
                break;
            }
            uint4 edge = nodes[next];
            unsigned on = edge.x + 1;
            for (++at; on < edge.y && at < length && reference[at] == reference[on]; ++at) ++on;
            if (on < edge.y) {
                // The edge is cut in two.
                nodes[count] = make_uint4(edge.x, on, 0, at - start);
                parents[count] = node;
                children[4 * node + reference[edge.x]] = count;
                children[4 * count + reference[on]] = next;
                nodes[next].x = on;
                parents[next] = count++;
                node = count - 1;
            } else {
                node = next;
            }
        }
    }
    for (unsigned node = 2; node < count; ++node) {
        uint4 mine = nodes[node];
        int from = mine.y - mine.w + 1, left = mine.w - 1;
        unsigned link = 1;
        while (left > 0) {
            unsigned next = children[4 * link + reference[from]];
            int edge = nodes[next].y - nodes[next].x;
            if (edge > left) break;
            link = next, from += edge, left -= edge;
        }
        nodes[node].z = link;
    }
}

extern "C" __global__ void matches(cudaTextureObject_t nodes, cudaTextureObject_t children, cudaTextureObject_t reference,
                                   const unsigned char *queries, uint2 *found, int number, int length, int least) {
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= number) return;
    queries += query * length;
    found += query * length;
    unsigned node = 1, depth = 0;
    // Bases below the node that are known to match.
    int known = 0;
    for (int start = 0; start < length; ++start) {
        unsigned below = 0;
        int on = 0, edge = 0;
        uint4 next;
        while (known > 0) {
            below = child(texel(children, node), queries[start + depth]);
            next = texel(nodes, below);
            edge = next.y - next.x;
            if (known < edge) {
                on = known;
                break;
            }
            node = below, depth += edge, known -= edge;
        }
        known = 0;
        while (true) {
            if (on == 0) {
                if (start + depth >= length) break;
                below = child(texel(children, node), queries[start + depth]);
                if (below == 0) break;
                next = texel(nodes, below);
                edge = next.y - next.x;
                on = 1;
            }
            while (on < edge && start + depth + on < length && queries[start + depth + on] == tex1Dfetch<unsigned char>(reference, next.x + on)) ++on;
            if (on < edge) break;
            node = below, depth += edge, on = 0;
        }
        unsigned whole = depth + on;
        found[start] = whole >= least ? make_uint2(on ? below : node, whole) : make_uint2(0, 0);
        // The same string without its first base.
        if (node == 1) {
            known = max(on - 1, 0);
        } else {
            known = on;
            node = texel(nodes, node).z;
            --depth;
        }
    }
}

// How often a match occurs in the reference, and where first: its part of the tree is walked without a stack.
extern "C" __global__ void locate(cudaTextureObject_t children, const unsigned *parents, const unsigned *ends, const uint2 *found, uint2 *places,
                                  int number) {
    int match = blockIdx.x * blockDim.x + threadIdx.x;
    if (match >= number) return;
    unsigned top = found[match].x, node = top, count = 0, first = ~0u;
    int base = 0;
    while (node != 0) {
        if (base == 0 && ends[node] != 0) ++count, first = min(first, ends[node] - 1);
        uint4 below = texel(children, node);
        while (base < 4 && child(below, base) == 0) ++base;
        if (base < 4) {
            node = child(below, base);
            base = 0;
        } else if (node == top) {
            break;
        } else {
            unsigned parent = parents[node];
            uint4 beside = texel(children, parent);
            base = 1 + (beside.x == node ? 0 : beside.y == node ? 1 : beside.z == node ? 2 : 3);
            node = parent;
        }
    }
    places[match] = make_uint2(count, first);
}
