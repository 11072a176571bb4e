package accounting

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/modules/internal/areatest"
)

const (
	required = " is required"
	invalid  = " is invalid"
	unknown  = " is unknown"
)

// nowhereGood are forms that no parameter takes.
var nowhereGood = []string{"", "%00", "a%0ab", "%0d%0a", "%ff", "%c2%85", strings.Repeat("7", 10_000)}

// TestRealmID is the row of contract 7.1 for it, and its form.
func TestRealmID(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		ok := func(id string) scenario {
			sc := op.scenario("ok/" + op.name() + " " + id)
			sc.Target = op.path + "?realmId=" + id
			sc.Check = op.check(func(a *asked) { a.Cred.RealmID = id })
			return sc
		}
		fail := func(query, message string) scenario {
			return op.refused(query[:min(len(query), 32)], op.path+query, headers(), 400, "invalid_request", failure(message))
		}
		all := []scenario{
			ok("1"), ok("007"), ok(strings.Repeat("9", 20)),
			fail("?", "realmId is required"),
			fail("?realmid=1&RealmId=1", "realmId is required"),
			fail("?realmId=", "realmId is required"),
			fail("?realmId", "realmId is required"),
			fail("?realmId=1&realmId=1", "realmId is invalid"),
			fail("?realmId=1;x=1", "query is invalid"),
			fail("?realmId=1%", "query is invalid"),
		}
		for _, form := range append(nowhereGood[1:], "a", "1a", "-1", "%2B1", "+1", "1.0", "1e3", "1%2F..%2F2", "1/2", "%252F", "1%3Fx=1", "%D9%A1", strings.Repeat("9", 21)) {
			all = append(all, fail("?realmId="+form, "realmId is invalid"))
		}
		return all
	})
}

func TestAccessToken(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		var all []scenario
		target := op.path + "?realmId=" + realm
		for name, tc := range map[string]struct {
			values []string
			suffix string
		}{
			"token missing":  {nil, required},
			"token empty":    {[]string{""}, required},
			"token repeated": {[]string{accessToken, accessToken}, invalid},
			"token 10 kB":    {[]string{strings.Repeat("x", 10_000)}, invalid},
			"token of words": {[]string{"a b"}, invalid},
			"token with tab": {[]string{"a\tb"}, invalid},
			"token with DEL": {[]string{"a\x7f"}, invalid},
			"not ASCII":      {[]string{"é"}, invalid},
			"not UTF-8":      {[]string{"a\xff"}, invalid},
		} {
			sc := op.refused(name, target, with("Access-Token-Accounting", tc.values...), 400, "invalid_request", failure("access-token-accounting"+tc.suffix))
			sc.NotContains = []string{"xxxx", "realmId"}
			all = append(all, sc)
		}
		both := op.refused("neither", op.path, with("Access-Token-Accounting"), 400, "invalid_request",
			failures([2]string{"realmId", required}, [2]string{"access-token-accounting", required}))
		longest := op.scenario("ok/" + op.name() + " longest token")
		token := strings.Repeat("!", 4095) + "~"
		longest.Header = with("Access-Token-Accounting", token)
		longest.Check = op.check(func(a *asked) { a.Cred.AccessToken = token })
		return append(all, both, longest)
	})
}

func TestMinorVersion(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		var all []scenario
		for _, version := range []string{"0", "1", "75", "075", "999999999"} {
			sc := op.scenario("ok/" + op.name() + " " + version)
			sc.Target += "&minorversion=" + version
			sc.Check = op.check(func(a *asked) {
				if op.writes() {
					a.Write.MinorVersion = version
				} else {
					a.Query.MinorVersion = version
				}
			})
			all = append(all, sc)
		}
		target := op.path + "?realmId=" + realm + "&minorversion="
		for _, form := range append(nowhereGood, "-1", "%2B75", "+75", "7.5", "1e2", "abc", "75&minorversion=75", "75%26x", "1234567890") {
			all = append(all, op.refused("minorversion "+form[:min(len(form), 24)], target+form, headers(), 400, "invalid_request", failure("minorversion is invalid")))
		}
		return all
	})
}

func TestPathIDs(t *testing.T) {
	var scenarios []scenario
	for i := range rows {
		op := &rows[i]
		if op.asked.Call != "read" {
			continue
		}
		target := func(id string) string { return strings.Replace(op.path, "17", id, 1) + "?realmId=" + realm }
		for _, id := range []string{"1", "017", "9223372036854775807", strings.Repeat("9", 20)} {
			sc := op.scenario("ok/" + op.name() + " " + id)
			sc.Target = target(id)
			sc.Check = op.check(func(a *asked) { a.ID = id })
			scenarios = append(scenarios, sc)
		}
		field := string(op.asked.Kind) + "_id"
		for _, id := range []string{
			"a", "17a", "-17", "+17", "1.7", "1e3", "%31", "1%2F7", "%00", "17%20", "'17'", "*", "create", "%D9%A1", "..", strings.Repeat("9", 21), strings.Repeat("1", 10_000),
		} {
			scenarios = append(scenarios, op.refused(id[:min(len(id), 24)], target(id), headers(), 400, "invalid_request", failure(field+invalid)))
		}
		scenarios = append(scenarios, op.refused("all wrong", strings.Replace(op.path, "17", "x", 1)+"?minorversion=x", with("Access-Token-Accounting"), 400, "invalid_request",
			failures([2]string{"realmId", required}, [2]string{"access-token-accounting", required}, [2]string{"minorversion", invalid}, [2]string{field, invalid})))
	}
	suite.Run(t, scenarios)
}

// TestFilter expects that what is a filter's own syntax is left to the provider.
func TestFilter(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		if op.asked.Call != "list" {
			ignored := op.scenario("ok/" + op.name() + " ignores it")
			ignored.Target += "&filter=%00&filter="
			return []scenario{ignored}
		}
		var all []scenario
		for encoded, filter := range map[string]string{
			"Active=true":                          "Active=true",
			"WHERE%20TxnDate%20%3E%20'2024-01-01'": "WHERE TxnDate > '2024-01-01'",
			"Name+%3D+'Amy%5C's+%26+Jo%2BAnn%25'":  `Name = 'Amy\'s & Jo+Ann%'`,
			"Name%20%3D%20'Caf%C3%A9%20%E2%80%99'": "Name = 'Café ’'",
			"%20":                                  " ",
			strings.Repeat("x", 4096):              strings.Repeat("x", 4096),
		} {
			sc := op.scenario("ok/" + op.name() + " " + encoded[:min(len(encoded), 24)])
			sc.Target += "&filter=" + encoded
			sc.Check = op.check(func(a *asked) { a.Query.Filter = filter })
			all = append(all, sc)
		}
		target := op.path + "?realmId=" + realm + "&filter="
		for _, form := range append(nowhereGood, "a%09b", "a&filter=b", "%7f", strings.Repeat("%C3%A9", 2048)+"x") {
			all = append(all, op.refused("filter "+form[:min(len(form), 24)], target+form, headers(), 400, "invalid_request", failure("filter is invalid")))
		}
		return append(all, op.refused("filter, half an escape", target+"100%", headers(), 400, "invalid_request", failure("query is invalid")))
	})
}

func TestIdempotencyKey(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		if !op.writes() {
			ignored := op.scenario("ok/" + op.name() + " ignores it")
			ignored.Header.Set("Idempotency-Key", "a b")
			ignored.WantHeader = map[string]string{"Idempotency-Key": ""}
			return []scenario{ignored}
		}
		var all []scenario
		for _, key := range []string{"k", "!~", "0b5a-order:17/2", strings.Repeat("k", 255)} {
			sc := op.scenario("ok/" + op.name() + " " + key[:min(len(key), 24)])
			sc.Header.Set("Idempotency-Key", key)
			sc.Check = op.check(func(a *asked) { a.Write.Key = key })
			sc.WantHeader = map[string]string{"Idempotency-Key": key}
			all = append(all, sc)
		}
		for name, values := range map[string][]string{
			"empty": {""}, "repeated": {"k", "k"}, "long": {strings.Repeat("k", 256)}, "blank": {"a b"}, "tab": {"a\tb"}, "DEL": {"a\x7f"}, "not ASCII": {"é"}, "not UTF-8": {"\xff"},
		} {
			all = append(all, op.refused("key "+name, op.path+"?realmId="+realm, with("Idempotency-Key", values...), 400, "invalid_request", failure("Idempotency-Key is invalid")))
		}
		return all
	})
}

// TestKeysAreMade expects of two writes without a key that each gets one of its own, and
// that the caller learns it, above all when the write has failed.
func TestKeysAreMade(t *testing.T) {
	for i := range rows {
		op := &rows[i]
		if !op.writes() {
			continue
		}
		t.Run("ok/"+op.name(), func(t *testing.T) {
			h, fake, _ := suite.Load(t)
			seen := make(map[string]bool)
			for _, err := range []error{nil, nil, http.ErrServerClosed} {
				fake.err = err
				rec, broken := suite.Serve(t, h, op.scenario(""))
				if broken != nil {
					t.Error(broken)
				}
				key := fake.last.Write.Key
				if len(key) != 36 || seen[key] {
					t.Errorf("key is %q", key)
				}
				if got := rec.Header().Get("Idempotency-Key"); got != key {
					t.Errorf("the caller was told %q, not %q", got, key)
				}
				seen[key] = true
			}
		})
	}
}

// TestSeveralProblems expects those of the parameters before those of the body.
func TestSeveralProblems(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		if !op.writes() {
			return nil
		}
		problems := [][2]string{{"realmId", required}, {"access-token-accounting", required}, {"minorversion", invalid}, {"Idempotency-Key", invalid}}
		h := with("Access-Token-Accounting")
		h["Idempotency-Key"] = []string{"a b"}
		target := op.path + "?minorversion=" + areatest.Secret
		withBody := func(name, body string, more ...[2]string) scenario {
			sc := op.refused(name, target, h, 400, "invalid_request", failures(slices.Concat(problems, more)...))
			sc.Body = body
			return sc
		}
		plain := h.Clone()
		plain.Set("Content-Type", "text/plain")
		unread := op.refused("parameters and media type", target, plain, 400, "invalid_request", failures(problems...))
		return []scenario{
			withBody("parameters", op.body),
			withBody("parameters and members", strings.Replace(op.body, `{`, `{"zzz":1,`, 1), [2]string{"zzz", unknown}),
			withBody("parameters and body", ``, [2]string{"body", required}),
			withBody("parameters and size", `"`+strings.Repeat("x", 2<<20)+`"`),
			unread,
		}
	})
}

// TestMediaTypes is rule 1 of contract 4.1.
func TestMediaTypes(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		if !op.writes() {
			plain := op.scenario("ok/" + op.name() + " needs none")
			plain.Header.Set("Content-Type", "text/plain")
			plain.Body = "no JSON"
			return []scenario{plain}
		}
		var all []scenario
		for _, mediaType := range []string{"application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json ; v=\"1;2\"", "application/json;"} {
			sc := op.scenario("ok/" + op.name() + " " + mediaType)
			sc.Header.Set("Content-Type", mediaType)
			all = append(all, sc)
		}
		for name, values := range map[string][]string{
			"none": nil, "empty": {""}, "repeated": {"application/json", "application/json"}, "form": {"application/x-www-form-urlencoded"}, "text": {"text/json"},
			"suffix": {"application/hal+json"}, "prefix": {"application/jsonp"}, "list": {"application/json, text/plain"}, "broken": {"application/json; charset"},
		} {
			all = append(all, op.refused("media type "+name, op.path+"?realmId="+realm, with("Content-Type", values...), 415, "unsupported_media_type", failure("Content-Type must be application/json")))
		}
		return all
	})
}

func TestBodySizes(t *testing.T) {
	small := suite
	small.Config = `{"max_body":4096,"provider":{"name":"fake_accounting"}}`
	var scenarios, smallScenarios []scenario
	for i := range rows {
		op := &rows[i]
		if !op.writes() {
			continue
		}
		sized := func(size int) string { return op.body + strings.Repeat(" ", size-len(op.body)) }
		ok := func(size int) scenario {
			sc := op.scenario(fmt.Sprint("ok/", op.name(), " ", size))
			sc.Body = sized(size)
			sc.Check = op.check(func(a *asked) { a.Write.Body = []byte(sc.Body) })
			return sc
		}
		fail := func(size, limit int) scenario {
			sc := op.refused(strconv.Itoa(size), op.path+"?realmId="+realm, headers(), 413, "body_too_large", failure(fmt.Sprintf("body is larger than %d bytes", limit)))
			sc.Body = sized(size)
			return sc
		}
		scenarios = append(scenarios, ok(1<<20), fail(1<<20+1, 1<<20), fail(2_000_000, 1<<20))
		smallScenarios = append(smallScenarios, ok(4096), fail(4097, 4096))
	}
	suite.Run(t, scenarios)
	small.Run(t, smallScenarios)
}

func TestMalformedBodies(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		if !op.writes() {
			return nil
		}
		var all []scenario
		for body, message := range map[string]string{
			"": "body is required", " \r\n\t": "body is required",
			"[]": "body must be a JSON object", " [" + op.body + "]": "body must be a JSON object", "null": "body must be a JSON object",
			`"{}"`: "body must be a JSON object", "12": "body must be a JSON object", "true": "body must be a JSON object",
			"{":                          "body is not valid JSON: unexpected end at offset 1",
			"display_name=Joe":           "body is not valid JSON: unexpected character at offset 0",
			"<vendor/>":                  "body is not valid JSON: unexpected character at offset 0",
			"{'id':1}":                   "body is not valid JSON: unexpected character at offset 1",
			"\ufeff{}":                   "body is not valid JSON: unexpected character at offset 0",
			op.body + op.body:            fmt.Sprintf("body is not valid JSON: text after the document at offset %d", len(op.body)),
			`{"total_amount":NaN}`:       "body is not valid JSON: unexpected character at offset 16",
			`{"total_amount":-Infinity}`: "body is not valid JSON: unexpected character at offset 17",
			"{\"id\":\"\xff\"}":          "body is not valid JSON: not UTF-8 at offset 7",
			"{\"id\":\"a\nb\"}":          "body is not valid JSON: control character in a string at offset 8",
			`{"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}": "body is not valid JSON: nested too deeply at offset 260",
			`{"id":"1","id":"2"}`:                 "body repeats a member at offset 10",
			`{"id":"1","\u0069d":"1"}`:            "body repeats a member at offset 10",
			`{"lines":[{"amount":1,"amount":2}]}`: "body repeats a member at offset 22",
			`{"id":"1","id":"2"`:                  "body is not valid JSON: unexpected end at offset 18",
		} {
			sc := op.refused("body "+body[:min(len(body), 24)], op.path+"?realmId="+realm, headers(), 400, "invalid_request", failure(message))
			sc.Body = body
			all = append(all, sc)
		}
		return all
	})
}
