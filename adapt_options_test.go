package fleetgate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// TestOptions checks that the goldens show each option of each module, spelled the
// same in the Caddyfile and in JSON.
func TestOptions(t *testing.T) {
	setEnvironment(t)
	shown := make(options)
	for _, g := range goldens(t) {
		if strings.HasPrefix(g.name, "fail_") {
			continue
		}
		var config any
		if err := json.Unmarshal([]byte(g.want), &config); err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		shown.find(config, firstWords(g.source))
	}

	known := make(options)
	for _, id := range caddy.Modules() {
		if typ, ok := ourModule(id); ok {
			known.declare(id, typ, true)
		}
	}
	if len(known) < 20 {
		t.Fatalf("only %d options are known", len(known))
	}
	for _, option := range slices.Sorted(maps.Keys(known)) {
		spelled, ok := shown[option]
		switch {
		case !ok:
			t.Errorf("no golden has %s", option)
		case known[option] && !spelled:
			t.Errorf("no golden that has %s spells it so in the Caddyfile", option)
		}
	}
}

// options are options by module and JSON path. The value is whether the option is a
// subdirective of its own.
type options map[string]bool

// ourModule returns the type of a module of this repository.
func ourModule(id string) (reflect.Type, bool) {
	info, err := caddy.GetModule(id)
	if err != nil {
		return nil, false
	}
	typ := reflect.TypeOf(info.New())
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	_, ours := ourFolder(typ.PkgPath())
	return typ, ours && typ.Kind() == reflect.Struct
}

// fields calls f for each field of the configuration in typ.
func fields(typ reflect.Type, f func(name string, field reflect.StructField)) {
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			fields(field.Type, f)
		case name != "" && name != "-":
			f(name, field)
		}
	}
}

// element returns the struct that a value of typ holds, one or many of them.
func element(typ reflect.Type) (reflect.Type, bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	return typ, typ.Kind() == reflect.Struct
}

// declare adds the options that typ has.
func (o options) declare(path string, typ reflect.Type, top bool) {
	fields(typ, func(name string, field reflect.StructField) {
		o[path+" "+name] = top
		if inner, ok := element(field.Type); ok {
			o.declare(path+" "+name, inner, false)
		}
	})
}

// find adds the options of our modules that are anywhere in a configuration, whose
// Caddyfile has lines that begin with words.
func (o options) find(value any, words map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			o.find(v, words)
		}
	case map[string]any:
		if name, ok := value["handler"].(string); ok {
			o.show("http.handlers."+name, value, words)
		}
		if apps, ok := value["apps"].(map[string]any); ok {
			o.show("gateway", apps["gateway"], words)
		}
		for _, v := range value {
			o.find(v, words)
		}
	}
}

// show adds the options in the configuration of a module, and of its guests.
func (o options) show(id string, config any, words map[string]bool) {
	object, ok := config.(map[string]any)
	typ, ours := ourModule(id)
	if !ok || !ours {
		return
	}
	fields(typ, func(name string, field reflect.StructField) {
		value, given := object[name]
		if !given {
			return
		}
		path := id + " " + name
		o[path] = o[path] || words[name]
		if inner, ok := element(field.Type); ok {
			o.showInner(path, inner, value)
		}
		if tag := field.Tag.Get("caddy"); tag != "" {
			var namespace, key string
			if _, err := fmt.Sscanf(tag, "namespace=%s inline_key=%s", &namespace, &key); err != nil {
				panic(fmt.Sprintf("%s: %v", path, err))
			}
			guest, _ := value.(map[string]any)
			o.show(fmt.Sprintf("%s.%v", namespace, guest[key]), value, words)
		}
	})
}

func (o options) showInner(path string, typ reflect.Type, value any) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			o.showInner(path, typ, v)
		}
	case map[string]any:
		fields(typ, func(name string, field reflect.StructField) {
			if v, given := value[name]; given {
				o[path+" "+name] = false
				if inner, ok := element(field.Type); ok {
					o.showInner(path+" "+name, inner, v)
				}
			}
		})
	}
}

// firstWords are the words that lines of a Caddyfile begin with.
func firstWords(source string) map[string]bool {
	words := make(map[string]bool)
	for line := range strings.Lines(source) {
		if f := strings.Fields(line); len(f) > 0 {
			words[f[0]] = true
		}
	}
	return words
}
