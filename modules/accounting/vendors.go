package accounting

import (
	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// listVendors is contract 4.1 #7.
func (h *Handler) listVendors(c *area.Call) error {
	return h.list(c, accounting.KindVendor)
}

// readVendor is contract 4.1 #8.
func (h *Handler) readVendor(c *area.Call) error {
	return h.read(c, accounting.KindVendor, "vendor_id")
}

// createVendor is contract 4.1 #9.
func (h *Handler) createVendor(c *area.Call) error {
	return h.write(c, &vendorCreate, h.provider.Create)
}

// updateVendor is contract 4.1 #10.
func (h *Handler) updateVendor(c *area.Call) error {
	return h.write(c, &vendorUpdate, h.provider.Update)
}
