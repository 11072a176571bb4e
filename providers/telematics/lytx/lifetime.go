package lytx

import (
	"context"
	"sync"
)

// lifetime is the context of the calls in the background. It ends with the config,
// but not before the last request that waits for such a call: Caddy cleans up an old
// config while its requests are still being served.
type lifetime struct {
	mu      sync.Mutex
	ctx     context.Context // nil before the first use
	cancel  context.CancelFunc
	waiting int
	over    bool
}

// wait notes that a request waits until it calls the function returned.
func (l *lifetime) wait() (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	l.waiting++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting--
		l.settle()
	}
}

// current returns the context for a call in the background. It is used after wait.
func (l *lifetime) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// end ends the context now or with the last request.
func (l *lifetime) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.settle()
}

func (l *lifetime) settle() {
	if l.over && l.waiting == 0 && l.cancel != nil {
		l.cancel()
	}
}
