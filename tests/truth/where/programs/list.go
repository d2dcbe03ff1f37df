package main

type node struct {
	next *node
	rest [7]uint64
}

//go:noinline
func walk(at *node, steps int) *node {
	for i := 0; i < steps; i++ {
		at = at.next // PLANTED
	}
	return at
}

func main() {
	const count = 1 << 21 // 128 MiB
	nodes := make([]node, count)
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	state := uint64(88172645463325252)
	for i := count - 1; i > 0; i-- {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		other := int(state % uint64(i))
		order[i], order[other] = order[other], order[i]
	}
	for i := range order {
		nodes[order[i]].next = &nodes[order[(i+1)%count]]
	}
	if walk(&nodes[0], 12000000) == nil {
		panic("no ring")
	}
}
