package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"groupd/clients/protocol"
)

// How long one step may take, retries included, and how long it waits before each.
const (
	patience = 40 * time.Second
	pause    = 100 * time.Millisecond
)

// producer is a transactional one. Franz-go's own session commits the offsets of what was fetched, and there is nothing to
// fetch here: so its client initialises the id, finds the coordinators and picks the versions, and the offsets and
// ends are requests of its own making.
type producer struct {
	args   protocol.Args
	client *kgo.Client
	id     int64
	epoch  int16
}

func transactional(args protocol.Args) {
	// From version 6 of the request on topics have ids instead of names.
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.TxnOffsetCommit.Int16(), 5)
	client, err := kgo.NewClient(
		kgo.MaxVersions(versions),
		kgo.SeedBrokers(args.Bootstrap),
		kgo.TransactionalID(args.TransactionalID),
		kgo.TransactionTimeout(args.Timeout),
	)
	if err != nil {
		panic(err)
	}
	p := &producer{args: args, client: client}
	protocol.ServeAdmin(map[string]func([]string) (any, error){
		"init":   func([]string) (any, error) { return nil, p.init() },
		"begin":  func([]string) (any, error) { return nil, nil },
		"send":   p.send,
		"commit": func([]string) (any, error) { return nil, p.end(true) },
		"abort":  func([]string) (any, error) { return nil, p.end(false) },
	})
}

func (p *producer) init() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	id, epoch, err := p.client.ProducerID(ctx)
	p.id, p.epoch = id, epoch
	return err
}

// By version 5 of the request the group becomes part of the transaction by itself (KIP-890).
func (p *producer) send(words []string) (any, error) {
	index, err := strconv.ParseInt(words[0], 10, 32)
	if err != nil {
		return nil, err
	}
	offset, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return nil, err
	}
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = int32(index), offset
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = p.args.Topic
	topic.Partitions = append(topic.Partitions, partition)
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = p.args.TransactionalID, p.args.Group
	request.ProducerID, request.ProducerEpoch = p.id, p.epoch
	request.Topics = append(request.Topics, topic)
	return nil, again(func(ctx context.Context) error {
		response, err := request.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode)
	})
}

// The producer goes on under the epoch that it is told.
func (p *producer) end(commit bool) error {
	request := kmsg.NewPtrEndTxnRequest()
	request.TransactionalID, request.Commit = p.args.TransactionalID, commit
	request.ProducerID, request.ProducerEpoch = p.id, p.epoch
	return again(func(ctx context.Context) error {
		response, err := request.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		if response.ErrorCode == 0 {
			p.id, p.epoch = response.ProducerID, response.ProducerEpoch
		}
		return kerr.ErrorForCode(response.ErrorCode)
	})
}

// again takes the step until it is done, refused for good, or too late.
func again(step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := step(ctx)
		var refusal *kerr.Error
		isFinal := errors.As(err, &refusal) && !refusal.Retriable && refusal != kerr.ConcurrentTransactions
		if err == nil || ctx.Err() != nil || isFinal {
			return err
		}
		time.Sleep(pause)
	}
}
