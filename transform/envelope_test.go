package transform_test

import (
	"testing"

	"github.com/fleetgate/fleetgate/transform"
)

func TestAppendSuccess(t *testing.T) {
	dst := transform.AppendSuccessHead([]byte(dstPrefix))
	dst = append(dst, `[1.50]`...)
	got := appended(t, transform.AppendSuccessTail(dst), nil)
	if want := `{"status":"Success","message":"Success","data":[1.50]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendError(t *testing.T) {
	one := []transform.Problem{{Field: "start_date", Message: "start_date is invalid"}}
	two := append(one, transform.Problem{Field: `"limit"`, Message: "limit is\ninvalid"})
	tests := []struct {
		name     string
		message  string
		problems []transform.Problem
		want     string
	}{
		{"no problem", "Unauthenticated", nil, `{"status":"Error","message":"Unauthenticated","data":null}`},
		{"one problem", one[0].Message, one, `{"status":"Error","message":"start_date is invalid","data":null}`},
		{
			"two problems", two[0].Message, two,
			`{"status":"Error","message":"start_date is invalid","data":{"errors":[` +
				`{"field":"start_date","message":"start_date is invalid"},{"field":"\"limit\"","message":"limit is\ninvalid"}]}}`,
		},
		{"message with anything", "a\"\xff\x00", nil, "{\"status\":\"Error\",\"message\":\"a\\\"\ufffd\\u0000\",\"data\":null}"},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			got := appended(t, transform.AppendError([]byte(dstPrefix), tt.message, tt.problems), nil)
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
