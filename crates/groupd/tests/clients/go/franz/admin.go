package main

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"groupd/clients/protocol"
)

type operations struct {
	client *kadm.Client
}

func admin(args protocol.Args) {
	client, err := kgo.NewClient(kgo.SeedBrokers(args.Bootstrap))
	if err != nil {
		panic(err)
	}
	o := operations{kadm.NewClient(client)}
	protocol.ServeAdmin(map[string]func([]string) (any, error){
		"list":          o.list,
		"describe":      o.describe,
		"offsets":       o.offsets,
		"set":           o.set,
		"delete-offset": o.deleteOffset,
		"delete":        o.delete,
		"create":        o.create,
		"delete-topic":  o.deleteTopic,
		"topics":        o.topics,
	})
}

// The driver bounds every command.
var ctx = context.Background()

func (o operations) list([]string) (any, error) {
	found, err := o.client.ListGroups(ctx)
	return found.Groups(), err
}

func (o operations) describe(args []string) (any, error) {
	found, err := o.client.DescribeGroups(ctx, args[0])
	if err == nil {
		err = found.Error()
	}
	members := [][]int32{}
	for _, member := range found[args[0]].Members {
		all := []int32{}
		if assigned, ok := member.Assigned.AsConsumer(); ok {
			for _, topic := range assigned.Topics {
				all = append(all, topic.Partitions...)
			}
		}
		slices.Sort(all)
		members = append(members, all)
	}
	return protocol.Fields{"state": found[args[0]].State, "members": members}, err
}

func (o operations) offsets(args []string) (any, error) {
	return committed(o.client, args[0], args[1])
}

func (o operations) set(args []string) (any, error) {
	at := kadm.Offsets{}
	at.AddOffset(args[1], int32(number(args[2])), number(args[3]), -1)
	return nil, o.client.CommitAllOffsets(ctx, args[0], at)
}

func (o operations) deleteOffset(args []string) (any, error) {
	topics := kadm.TopicsSet{}
	topics.Add(args[1], int32(number(args[2])))
	found, err := o.client.DeleteOffsets(ctx, args[0], topics)
	if err == nil {
		err = found.Error()
	}
	return nil, err
}

func (o operations) delete(args []string) (any, error) {
	found, err := o.client.DeleteGroup(ctx, args[0])
	if err == nil {
		err = found.Err
	}
	return nil, err
}

func (o operations) create(args []string) (any, error) {
	found, err := o.client.CreateTopic(ctx, int32(number(args[1])), 1, nil, args[0])
	if err == nil {
		err = found.Err
	}
	return nil, err
}

func (o operations) deleteTopic(args []string) (any, error) {
	found, err := o.client.DeleteTopic(ctx, args[0])
	if err == nil {
		err = found.Err
	}
	return nil, err
}

func (o operations) topics([]string) (any, error) {
	found, err := o.client.ListTopics(ctx)
	counts := map[string]int{}
	for name, topic := range found {
		counts[name] = len(topic.Partitions)
	}
	return counts, err
}
