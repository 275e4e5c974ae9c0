// A member, an admin client and a transactional producer, by sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"

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

func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	return config
}

type member struct {
	args  protocol.Args
	group sarama.ConsumerGroup
	admin sarama.ClusterAdmin

	mu      sync.Mutex
	session sarama.ConsumerGroupSession
}

func newMember(args protocol.Args) *member {
	settings := config()
	settings.Consumer.Group.Session.Timeout = args.Session
	settings.Consumer.Group.Heartbeat.Interval = args.Heartbeat
	settings.Consumer.Group.InstanceId = args.Instance
	settings.Consumer.Offsets.AutoCommit.Enable = false
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Return.Errors = true
	// Its heartbeat tries a refused connection again without a pause, this often, and then gives up its session.
	settings.Metadata.Retry.Max = 1_000_000
	settings.Metadata.Retry.Backoff = 250 * time.Millisecond
	client, err := sarama.NewClient([]string{args.Bootstrap}, settings)
	if err != nil {
		panic(err)
	}
	group, err := sarama.NewConsumerGroupFromClient(args.Group, client)
	if err != nil {
		panic(err)
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		panic(err)
	}
	return &member{args: args, group: group, admin: admin}
}

// Setup starts a generation.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	m.session = session
	m.mu.Unlock()
	partitions := slices.Clone(session.Claims()[m.args.Topic])
	slices.Sort(partitions)
	if partitions == nil {
		partitions = []int32{}
	}
	protocol.Say("assigned", protocol.Fields{"partitions": partitions, "generation": session.GenerationID()})
	return nil
}

// Cleanup ends it.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	protocol.Say("revoked", nil)
	return nil
}

// ConsumeClaim reads one partition until the generation ends.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case _, open := <-claim.Messages():
			if !open {
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) run() {
	go func() {
		for problem := range m.group.Errors() {
			protocol.Error(problem)
		}
	}()
	go func() {
		for {
			err := m.group.Consume(context.Background(), []string{m.args.Topic}, m)
			if errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return
			}
			if err != nil {
				protocol.Error(err)
				if errors.Is(err, sarama.ErrFencedInstancedId) {
					return
				}
				time.Sleep(200 * time.Millisecond)
			}
		}
	}()
	for words := range protocol.Commands() {
		switch words[0] {
		case "commit":
			m.commit(int32(number(words[1])), number(words[2]))
		case "offsets":
			offsets, err := committed(m.admin, m.args.Group, m.args.Topic)
			if err != nil {
				protocol.Error(err)
				continue
			}
			protocol.Say("offsets", protocol.Fields{"offsets": offsets})
		case "close":
			if err := m.group.Close(); err != nil {
				protocol.Error(err)
			}
			protocol.Say("closed", nil)
			return
		}
	}
}

// Sarama's Commit does not say whether it was answered: the commit is called a success once it can be read.
func (m *member) commit(partition int32, offset int64) {
	fields := protocol.Fields{"partition": partition, "offset": offset}
	m.mu.Lock()
	session := m.session
	m.mu.Unlock()
	session.MarkOffset(m.args.Topic, partition, offset, "")
	session.Commit()
	found, err := committed(m.admin, m.args.Group, m.args.Topic)
	if err == nil && found[partition] != offset {
		err = fmt.Errorf("committed is %d", found[partition])
	}
	if err != nil {
		fields["error"] = err.Error()
		protocol.Say("commit_failed", fields)
		return
	}
	protocol.Say("committed", fields)
}

func committed(admin sarama.ClusterAdmin, group, topic string) (map[int32]int64, error) {
	found, err := admin.ListConsumerGroupOffsets(group, nil)
	if err != nil {
		return nil, err
	}
	if found.Err != sarama.ErrNoError {
		return nil, found.Err
	}
	offsets := map[int32]int64{}
	for partition, block := range found.Blocks[topic] {
		if block.Err != sarama.ErrNoError {
			return nil, block.Err
		}
		offsets[partition] = block.Offset
	}
	return offsets, nil
}

func number(word string) int64 {
	value, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}
