// What a bot does with the client that oapi-codegen makes. Prints what it has seen.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func bearing(token string) RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

func submit(api *ClientWithResponses, platform, id string, order OrderSubmit) string {
	signal := SignalEnvelope{
		V: N1, SignalId: id, Ts: time.Now().UnixMilli(), TtlMs: 30000,
		Platform: platform, Type: "order", Cmd: "submit",
	}
	if err := signal.Payload.FromOrderSubmit(order); err != nil {
		panic(err)
	}
	accepted := must(api.SubmitSignalWithResponse(ctx, &SubmitSignalParams{IdempotencyKey: id}, signal))
	if accepted.JSON202 == nil {
		panic(string(accepted.Body))
	}
	return accepted.JSON202.RequestId
}

func readUntil(api *ClientWithResponses, id string, wanted ExecutionStatus) Execution {
	waitMs := WaitMs(100)
	for tries := 0; tries < 100; tries++ {
		signal := must(api.ReadSignalWithResponse(ctx, id, &ReadSignalParams{WaitMs: &waitMs})).JSON200
		if len(signal.Executions) > 0 && signal.Executions[0].Status == wanted {
			return signal.Executions[0]
		}
	}
	panic("never " + wanted)
}

// The quantity of the first position that the stream reports.
func firstPosition(stream *http.Response) float64 {
	for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		var event TerminalEvent
		if err := json.Unmarshal(lines.Bytes()[len("data: "):], &event); err != nil {
			panic(err)
		}
		if position, ok := must(event.ValueByDiscriminator()).(PositionUpdateEvent); ok {
			return *position.Data.Quantity
		}
	}
	panic("no position")
}

func main() {
	url, email, password := os.Args[1], os.Args[2], os.Args[3]
	open := must(NewClientWithResponses(url))
	session := must(open.LoginWithResponse(ctx, LoginRequest{Email: email, Password: password})).JSON200
	user := must(NewClientWithResponses(url, WithRequestEditorFn(bearing(session.Token))))
	key := must(user.CreateKeyWithResponse(ctx, KeyRequest{
		Name: "go", Scopes: []KnownScope{EventsRead, OrdersCancel, SignalsRead, SignalsWrite},
	})).JSON201
	hasKey := false
	for _, listed := range *must(user.ListKeysWithResponse(ctx)).JSON200 {
		hasKey = hasKey || listed.Id == key.Id
	}
	api := must(NewClientWithResponses(url, WithRequestEditorFn(bearing(key.Key))))

	source := must(api.ListSourcesWithResponse(ctx)).JSON200.Sources[0]
	stream := must(api.StreamEvents(ctx, &StreamEventsParams{
		Platform: source.Platform, InstanceId: source.InstanceId, AccountName: source.AccountName,
	}))
	defer stream.Body.Close()

	var market, limit OrderSubmit
	market.FromMarketOrder(MarketOrder{Instrument: "ES", Side: Buy, Quantity: 1})
	limit.FromLimitOrder(LimitOrder{Instrument: "ES", Side: Buy, Quantity: 1, LimitPrice: 1})
	id := fmt.Sprint("go-", time.Now().UnixNano())
	filled := readUntil(api, submit(api, source.Platform, id+"-1", market), KnownExecutionStatusFilled)
	position := firstPosition(stream)
	resting := submit(api, source.Platform, id+"-2", limit)
	order := *readUntil(api, resting, KnownExecutionStatusWorking).OrderRef
	cancel := must(api.CancelOrderWithResponse(ctx, order, &CancelOrderParams{IdempotencyKey: id + "-3"})).JSON202
	cancelled := readUntil(api, resting, KnownExecutionStatusCancelled)
	snapshot := must(api.ReadSnapshotWithResponse(ctx, &ReadSnapshotParams{
		Platform: source.Platform, InstanceId: source.InstanceId, AccountName: source.AccountName,
	})).JSON200
	missing := must(api.ReadSignalWithResponse(ctx, "none", &ReadSignalParams{})).JSON404
	revoked := must(user.RevokeKeyWithResponse(ctx, key.Id))

	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"hasKey": hasKey, "filled": filled.FilledQuantity, "cancel": cancel.Status,
		"reason": cancelled.ReasonCode, "event": position, "snapshot": snapshot.Event,
		"error": missing.Error.Code, "revoked": revoked.StatusCode(),
	})
}
