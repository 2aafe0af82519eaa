// Search in a B+ tree of order 256: a CTA per query, a thread per key of a node. A key of slot s belongs to the child of slot s.
// Slot 0 of a node holds the least integer, unused slots the largest one. Leaves are half full, as after insertions in ascending order.
struct Node {
    int location;
    int child[257];
    int key[257];
    bool leaf;
    int keys;
};

extern "C" __global__ void find(long long height, const Node *nodes, long long count, const int *records, long long *current,
                                long long *next, const int *keys, int *answers) {
    int slot = threadIdx.x, query = blockIdx.x;
    for (int level = 0; level < height; level++) {
        if (nodes[current[query]].key[slot] <= keys[query] && nodes[current[query]].key[slot + 1] > keys[query])
            if (nodes[next[query]].child[slot] < count) next[query] = nodes[next[query]].child[slot];
        __syncthreads();
        if (slot == 0) current[query] = next[query];
        __syncthreads();
    }
    if (nodes[current[query]].key[slot] == keys[query]) answers[query] = records[nodes[current[query]].child[slot]];
}

// The first record at or above `low`, and the number of records up to `high`; both are keys of the tree.
extern "C" __global__ void findRange(long long height, const Node *nodes, long long count, long long *first, long long *firstNext,
                                     long long *last, long long *lastNext, const int *low, const int *high, int *start, int *length) {
    int slot = threadIdx.x, query = blockIdx.x;
    for (int level = 0; level < height; level++) {
        if (nodes[first[query]].key[slot] <= low[query] && nodes[first[query]].key[slot + 1] > low[query])
            if (nodes[first[query]].child[slot] < count) firstNext[query] = nodes[first[query]].child[slot];
        if (nodes[last[query]].key[slot] <= high[query] && nodes[last[query]].key[slot + 1] > high[query])
            if (nodes[last[query]].child[slot] < count) lastNext[query] = nodes[last[query]].child[slot];
        __syncthreads();
        if (slot == 0) {
            first[query] = firstNext[query];
            last[query] = lastNext[query];
        }
        __syncthreads();
    }
    if (nodes[first[query]].key[slot] == low[query]) start[query] = nodes[first[query]].child[slot];
    __syncthreads();
    if (nodes[last[query]].key[slot] == high[query]) length[query] = nodes[last[query]].child[slot] - start[query] + 1;
}

// The tree of the keys 0 to inner * 128 * 128 - 1: a root, `inner` nodes under it, and 128 leaves under each of these. A thread per slot.
extern "C" __global__ void makeTree(Node *nodes, int inner) {
    int number = blockIdx.x, slot = threadIdx.x;
    Node &node = nodes[number];
    bool root = number == 0, leaf = number > inner;
    int children = root ? inner : 128;
    int begin = root ? 0 : leaf ? (number - 1 - inner) * 128 : (number - 1) * 16384;
    int below = root ? 1 : leaf ? begin : inner + 1 + (number - 1) * 128;
    if (slot == 0) {
        node.location = number;
        node.leaf = leaf;
        node.keys = leaf ? children + 2 : children + 1;
    }
    int value = 2147483647;
    if (slot == 0) value = -2147483647 - 1;
    else if (leaf && slot <= children) value = begin + slot - 1;
    else if (!leaf && slot < children) value = begin + slot * (root ? 16384 : 128);
    node.key[slot] = value;
    node.child[slot] = leaf ? (slot > 0 && slot <= children ? below + slot - 1 : 0) : slot < children ? below + slot : number + 1;
}
