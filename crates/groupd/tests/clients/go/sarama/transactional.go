package main

import (
	"time"

	"github.com/IBM/sarama"

	"groupd/clients/protocol"
)

// transactional serves a transactional producer. It sends offsets when it commits, and by the group's name alone.
func transactional(args protocol.Args) {
	settings := config()
	settings.Producer.Idempotent = true
	settings.Producer.RequiredAcks = sarama.WaitForAll
	settings.Producer.Return.Successes = true
	settings.Producer.Transaction.ID = args.TransactionalID
	settings.Producer.Transaction.Timeout = args.Timeout
	settings.Producer.Transaction.Retry.Max = 200
	settings.Producer.Transaction.Retry.Backoff = 100 * time.Millisecond
	settings.Net.MaxOpenRequests = 1
	// It initialises its id as it is made, which may be refused.
	var producer sarama.SyncProducer
	protocol.ServeAdmin(map[string]func([]string) (any, error){
		"init": func([]string) (any, error) {
			made, err := sarama.NewSyncProducer([]string{args.Bootstrap}, settings)
			producer = made
			return nil, err
		},
		"begin": func([]string) (any, error) { return nil, producer.BeginTxn() },
		"send": func(words []string) (any, error) {
			offset := &sarama.PartitionOffsetMetadata{
				Partition:   int32(number(words[0])),
				Offset:      number(words[1]),
				LeaderEpoch: -1,
			}
			at := map[string][]*sarama.PartitionOffsetMetadata{args.Topic: {offset}}
			return nil, producer.AddOffsetsToTxn(at, args.Group)
		},
		"commit": func([]string) (any, error) { return nil, producer.CommitTxn() },
		"abort":  func([]string) (any, error) { return nil, producer.AbortTxn() },
	})
}
