package telematics

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

func init() {
	caddy.RegisterModule(fakeProvider{})
}

// fakeProvider answers what a scenario tells it to and remembers what it was asked.
type fakeProvider struct {
	events     telematics.Events
	err        error
	catalogs   telematics.Catalogs
	onEvents   func(context.Context)
	onCatalogs func(context.Context)

	mu        *sync.Mutex
	calls     int // of Events
	cred      telematics.Credential
	query     telematics.Query
	requestID string
}

func (fakeProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID: "gateway.telematics.fake_telematics",
		New: func() caddy.Module {
			return &fakeProvider{
				mu: new(sync.Mutex),
				events: telematics.Events{Fields: telematics.Fields{
					Trigger: "eventTriggerId", Status: "eventStatusId", Vehicle: "vehicleId",
					EventDate: []string{"recordDateUTC"}, LastUpdated: []string{"revisionDate", "creationDate"},
				}},
				catalogs: telematics.Catalogs{
					Triggers: map[string][]byte{"30": []byte(`"Hard Braking"`)},
					Statuses: map[string][]byte{"3": []byte(`"Resolved"`)},
					Vehicles: map[string][]byte{"v-1": []byte(`{"dcVehicleId":"v-1","name":"Truck 1","vin":"1FUJ"}`)},
				},
			}
		},
	}
}

func (p *fakeProvider) DisplayName() string { return "Fake" }

func (p *fakeProvider) Events(ctx context.Context, cred telematics.Credential, q telematics.Query) (telematics.Events, error) {
	p.mu.Lock()
	p.calls++
	p.cred, p.query, p.requestID = cred, q, providers.RequestID(ctx)
	p.mu.Unlock()
	if p.onEvents != nil {
		p.onEvents(ctx)
	}
	return p.events, p.err
}

func (p *fakeProvider) Catalogs(ctx context.Context, _ telematics.Credential) telematics.Catalogs {
	if p.onCatalogs != nil {
		p.onCatalogs(ctx)
	}
	return p.catalogs
}

func (p *fakeProvider) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

var suite = areatest.Suite[*Handler, *fakeProvider]{
	Module: "http.handlers.gateway_telematics",
	Config: `{"provider":{"name":"fake_telematics"}}`,
	Open: func(h *Handler, l *zap.Logger) *fakeProvider {
		h.logger = l
		return h.provider.(*fakeProvider)
	},
}
