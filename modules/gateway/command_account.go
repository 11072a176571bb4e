package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetgate/fleetgate/modules/store"
)

// accountCommand returns `gateway account`.
func accountCommand() *cobra.Command {
	cmd := addStoreFlags(&cobra.Command{Use: "account", Short: "Creates and lists accounts"})
	return group(cmd, accountCreateCommand(), accountListCommand(), accountShowCommand())
}

// accountCreateCommand returns `gateway account create`.
func accountCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME [--balance CREDITS]",
		Short: "Creates an account, with credit if wanted",
		Args:  arguments("the NAME of the account"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := cmd.Flags().GetString("balance")
			if err != nil {
				return err
			}
			opening, err := store.ParseAmount(text)
			if err != nil {
				return fmt.Errorf("--balance: %w", err)
			}
			// Checked before a store is opened, and perhaps made, for nothing.
			if err := checkAccount(args[0], opening); err != nil {
				return err
			}
			return withNewStore(cmd, func(ctx context.Context, s store.Store) error {
				account, err := createAccount(ctx, s, args[0], opening, time.Now())
				if err != nil {
					return err
				}
				return showAccount(cmd, account)
			})
		},
	}
	cmd.Flags().String("balance", "0", "Credits to begin with, a decimal number")
	return cmd
}

// accountListCommand returns `gateway account list`.
func accountListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists all accounts",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, s store.Store) error {
				accounts, err := s.Accounts(ctx)
				if err != nil {
					return err
				}
				list, rows := []accountJSON{}, [][]string{}
				for _, account := range accounts {
					list = append(list, newAccountJSON(account))
					rows = append(rows, accountRow(account))
				}
				return show(cmd, list, accountHeadings, rows...)
			})
		},
	}
}

// accountShowCommand returns `gateway account show`.
func accountShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Shows one account",
		Args:  arguments("the NAME of the account"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, func(ctx context.Context, s store.Store) error {
				account, err := s.Account(ctx, args[0])
				if err != nil {
					return err
				}
				return showAccount(cmd, account)
			})
		},
	}
}

// accountJSON is an account as --json prints it.
type accountJSON struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Balance   store.Amount `json:"balance"`
	Available store.Amount `json:"available"`
	Created   jsonTime     `json:"created"`
}

// newAccountJSON returns the account for --json.
func newAccountJSON(a store.Account) accountJSON {
	return accountJSON{ID: a.ID, Name: a.Name, Balance: a.Balance, Available: a.Available, Created: jsonTime(a.Created)}
}

// accountHeadings are the headings over accountRow.
var accountHeadings = []string{"ID", "NAME", "BALANCE", "AVAILABLE", "CREATED"}

// accountRow returns the account for a table.
func accountRow(a store.Account) []string {
	return []string{a.ID, a.Name, a.Balance.String(), a.Available.String(), cell(a.Created)}
}

// showAccount prints one account.
func showAccount(cmd *cobra.Command, a store.Account) error {
	return show(cmd, newAccountJSON(a), accountHeadings, accountRow(a))
}
