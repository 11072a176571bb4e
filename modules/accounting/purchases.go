package accounting

import (
	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// listPurchases is contract 4.1 #3.
func (h *Handler) listPurchases(c *area.Call) error {
	return h.list(c, accounting.KindPurchase)
}

// readPurchase is contract 4.1 #4.
func (h *Handler) readPurchase(c *area.Call) error {
	return h.read(c, accounting.KindPurchase, "purchase_id")
}

// createPurchase is contract 4.1 #5.
func (h *Handler) createPurchase(c *area.Call) error {
	return h.write(c, &purchaseCreate, h.provider.Create)
}

// updatePurchase is contract 4.1 #6.
func (h *Handler) updatePurchase(c *area.Call) error {
	return h.write(c, &purchaseUpdate, h.provider.Update)
}
