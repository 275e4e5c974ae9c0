// A member, an admin client and a transactional producer, by franz-go.
package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"groupd/clients/protocol"
)

func main() {
	args := protocol.Parse()
	if args.Admin {
		admin(args)
	} else if args.TransactionalID != "" {
		transactional(args)
	} else {
		newMember(args).run()
	}
}

type member struct {
	args   protocol.Args
	client *kgo.Client
	// Its default balancer is cooperative: callbacks say what was added and what was taken.
	mu    sync.Mutex
	owned map[int32]bool
}

func newMember(args protocol.Args) *member {
	m := &member{args: args, owned: map[int32]bool{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(args.Bootstrap),
		kgo.ConsumerGroup(args.Group),
		kgo.ConsumeTopics(args.Topic),
		kgo.SessionTimeout(args.Session),
		kgo.HeartbeatInterval(args.Heartbeat),
		kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) {
			m.change("assigned", added[args.Topic], true)
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
			m.change("revoked", taken[args.Topic], false)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
			m.change("revoked", taken[args.Topic], false)
		}),
	}
	if args.Instance != "" {
		options = append(options, kgo.InstanceID(args.Instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	m.client = client
	return m
}

// Every event tells the whole assignment that is left after the change.
func (m *member) change(event string, partitions []int32, owned bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, partition := range partitions {
		if owned {
			m.owned[partition] = true
		} else {
			delete(m.owned, partition)
		}
	}
	if event == "revoked" && len(partitions) == 0 {
		return
	}
	all := []int32{}
	for partition := range m.owned {
		all = append(all, partition)
	}
	slices.Sort(all)
	protocol.Say("assigned", protocol.Fields{"partitions": all})
}

func (m *member) run() {
	go func() {
		for {
			fetches := m.client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			for _, problem := range fetches.Errors() {
				protocol.Error(problem.Err)
			}
		}
	}()
	for words := range protocol.Commands() {
		switch words[0] {
		case "commit":
			m.commit(number(words[1]), number(words[2]))
		case "offsets":
			offsets, err := committed(kadm.NewClient(m.client), m.args.Group, m.args.Topic)
			if err != nil {
				protocol.Error(err)
				continue
			}
			protocol.Say("offsets", protocol.Fields{"offsets": offsets})
		case "close":
			m.client.Close()
			protocol.Say("closed", nil)
			return
		}
	}
}

func (m *member) commit(partition, offset int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	at := map[string]map[int32]kgo.EpochOffset{
		m.args.Topic: {int32(partition): {Epoch: -1, Offset: offset}},
	}
	fields := protocol.Fields{"partition": partition, "offset": offset}
	m.client.CommitOffsetsSync(ctx, at,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
			if err == nil && response == nil {
				err = context.Canceled
			}
			if err == nil {
				for _, topic := range response.Topics {
					for _, found := range topic.Partitions {
						err = kerr.ErrorForCode(found.ErrorCode)
					}
				}
			}
			if err != nil {
				fields["error"] = err.Error()
				protocol.Say("commit_failed", fields)
				return
			}
			protocol.Say("committed", fields)
		})
}

func committed(admin *kadm.Client, group, topic string) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	found, err := admin.FetchOffsets(ctx, group)
	if err == nil {
		err = found.Error()
	}
	offsets := map[int32]int64{}
	for partition, at := range found[topic] {
		offsets[partition] = at.At
	}
	return offsets, err
}

func number(word string) int64 {
	value, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}
