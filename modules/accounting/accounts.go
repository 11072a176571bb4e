package accounting

import (
	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// listAccounts is contract 4.1 #1.
func (h *Handler) listAccounts(c *area.Call) error {
	return h.list(c, accounting.KindAccount)
}

// readAccount is contract 4.1 #2.
func (h *Handler) readAccount(c *area.Call) error {
	return h.read(c, accounting.KindAccount, "account_id")
}
