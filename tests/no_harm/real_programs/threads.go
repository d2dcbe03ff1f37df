package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func work(seed uint64) uint64 {
	kept := make([]uint64, 0)
	for i := 0; i < 400000; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		if i%16 == 0 {
			kept = append(kept, seed)
		}
	}
	return seed ^ uint64(len(kept))
}

func main() {
	var group sync.WaitGroup
	results := make([]uint64, 32)
	for i := range results {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			results[i] = work(uint64(i))
		}(i)
	}
	group.Wait()
	sum := uint64(0)
	for _, result := range results {
		sum += result
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1)
	for i := 0; i < 50; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-signals
	}
	output, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
	fmt.Println(sum, string(output), err)
}
