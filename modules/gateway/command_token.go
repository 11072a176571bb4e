package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

// tokenCommand returns `gateway token`.
func tokenCommand() *cobra.Command {
	cmd := addStoreFlags(&cobra.Command{Use: "token", Short: "Issues, lists and revokes tokens"})
	return group(cmd, tokenIssueCommand(), tokenListCommand(), tokenRevokeCommand())
}

// tokenIssueCommand returns `gateway token issue`.
func tokenIssueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "issue --account NAME [--scope SCOPE ...] [--expires DURATION]",
		Short: "Issues a token and prints it, the only time that it can be seen",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags, err := readIssueFlags(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd, func(ctx context.Context, s store.Store) error {
				value, token, err := issueToken(ctx, s, flags.account, flags.scopes, flags.lifetime, time.Now())
				if err != nil {
					return err
				}
				if asJSON, err := cmd.Flags().GetBool("json"); err != nil || asJSON {
					return errors.Join(err, showJSON(cmd.OutOrStdout(), issuedJSON{tokenJSON: newTokenJSON(token), Token: value}))
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), value)
				return err
			})
		},
	}
	cmd.Flags().String("account", "", "Name of the account that owns the token")
	cmd.Flags().StringArray("scope", nil, "Area that the token may use, such as maps or accounting:read; repeat it for more; none = all")
	cmd.Flags().String("expires", "", "Lifetime, such as 90d or 12h; none = for ever")
	return cmd
}

// issueFlags are what `gateway token issue` is asked for.
type issueFlags struct {
	account  string
	scopes   Scopes
	lifetime time.Duration
}

// readIssueFlags reads and checks the flags of `gateway token issue`.
func readIssueFlags(cmd *cobra.Command) (issueFlags, error) {
	account, err := cmd.Flags().GetString("account")
	if err != nil {
		return issueFlags{}, err
	}
	if account == "" {
		return issueFlags{}, errors.New("--account is missing: name the account that owns the token")
	}
	raw, err := cmd.Flags().GetStringArray("scope")
	if err != nil {
		return issueFlags{}, err
	}
	if cmd.Flags().Changed("scope") && len(raw) == 0 {
		// pflag drops a single empty value, which would make a token for everything out
		// of a variable that is not set.
		raw = []string{""}
	}
	scopes, err := ParseScopes(raw)
	if err != nil {
		return issueFlags{}, fmt.Errorf("--scope: %w", err)
	}
	expires, err := cmd.Flags().GetString("expires")
	if err != nil {
		return issueFlags{}, err
	}
	var lifetime time.Duration
	if cmd.Flags().Changed("expires") {
		lifetime, err = caddy.ParseDuration(expires)
		if err != nil || lifetime < time.Second {
			return issueFlags{}, fmt.Errorf("--expires: %q is not a duration of a second or more, such as 90d or 12h", expires)
		}
	}
	return issueFlags{account: account, scopes: scopes, lifetime: lifetime}, nil
}

// tokenListCommand returns `gateway token list`.
func tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists all tokens, without their values",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, s store.Store) error {
				tokens, err := s.Tokens(ctx)
				if err != nil {
					return err
				}
				list, rows := []tokenJSON{}, [][]string{}
				for _, token := range tokens {
					list = append(list, newTokenJSON(token))
					rows = append(rows, tokenRow(token))
				}
				return show(cmd, list, tokenHeadings, rows...)
			})
		},
	}
}

// tokenRevokeCommand returns `gateway token revoke`.
func tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revokes a token; running servers refuse it within a second",
		Args:  arguments("the ID of the token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasPrefix(args[0], tokenPrefix) {
				return errors.New("this is the value of a token; name its ID, which `gateway token list` shows")
			}
			return withStore(cmd, func(ctx context.Context, s store.Store) error {
				token, err := s.RevokeToken(ctx, args[0], time.Now())
				if err != nil {
					return err
				}
				return show(cmd, newTokenJSON(token), tokenHeadings, tokenRow(token))
			})
		},
	}
}

// tokenJSON is a token as --json prints it.
type tokenJSON struct {
	ID       string   `json:"id"`
	Account  string   `json:"account"`
	Scopes   []string `json:"scopes"`
	Last4    string   `json:"last4"`
	Created  jsonTime `json:"created"`
	Expires  jsonTime `json:"expires"`
	LastUsed jsonTime `json:"last_used"`
	Revoked  jsonTime `json:"revoked"`
}

// issuedJSON is a new token as --json prints it.
type issuedJSON struct {
	tokenJSON

	Token string `json:"token"`
}

// newTokenJSON returns the token for --json.
func newTokenJSON(t store.Token) tokenJSON {
	return tokenJSON{
		ID:       t.ID,
		Account:  t.Account,
		Scopes:   append([]string{}, t.Scopes...), // [] and not null when there are none
		Last4:    t.Last4,
		Created:  jsonTime(t.Created),
		Expires:  jsonTime(t.Expires),
		LastUsed: jsonTime(t.LastUsed),
		Revoked:  jsonTime(t.Revoked),
	}
}

// tokenHeadings are the headings over tokenRow.
var tokenHeadings = []string{"ID", "ACCOUNT", "SCOPES", "LAST4", "CREATED", "EXPIRES", "LAST USED", "REVOKED"}

// tokenRow returns the token for a table.
func tokenRow(t store.Token) []string {
	scopes := "all"
	if len(t.Scopes) > 0 {
		scopes = strings.Join(t.Scopes, ",")
	}
	return []string{t.ID, t.Account, scopes, t.Last4, cell(t.Created), cell(t.Expires), cell(t.LastUsed), cell(t.Revoked)}
}
