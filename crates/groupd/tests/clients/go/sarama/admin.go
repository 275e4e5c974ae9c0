package main

import (
	"slices"

	"github.com/IBM/sarama"

	"groupd/clients/protocol"
)

type operations struct {
	client sarama.ClusterAdmin
}

func admin(args protocol.Args) {
	client, err := sarama.NewClusterAdmin([]string{args.Bootstrap}, config())
	if err != nil {
		panic(err)
	}
	o := operations{client}
	protocol.ServeAdmin(map[string]func([]string) (any, error){
		"list":          o.list,
		"describe":      o.describe,
		"offsets":       func(args []string) (any, error) { return committed(client, args[0], args[1]) },
		"set":           o.set,
		"delete":        func(args []string) (any, error) { return nil, client.DeleteConsumerGroup(args[0]) },
		"delete-offset": o.deleteOffset,
		"create":        o.create,
		"delete-topic":  func(args []string) (any, error) { return nil, client.DeleteTopic(args[0]) },
		"topics":        o.topics,
	})
}

func (o operations) list([]string) (any, error) {
	found, err := o.client.ListConsumerGroups()
	names := []string{}
	for name := range found {
		names = append(names, name)
	}
	return names, err
}

func (o operations) describe(args []string) (any, error) {
	found, err := o.client.DescribeConsumerGroups(args)
	if err != nil {
		return nil, err
	}
	if found[0].Err != sarama.ErrNoError {
		return nil, found[0].Err
	}
	members := [][]int32{}
	for _, member := range found[0].Members {
		all := []int32{}
		if assigned, err := member.GetMemberAssignment(); err == nil && assigned != nil {
			for _, partitions := range assigned.Topics {
				all = append(all, partitions...)
			}
		}
		slices.Sort(all)
		members = append(members, all)
	}
	return protocol.Fields{"state": found[0].State, "members": members}, nil
}

func (o operations) set(args []string) (any, error) {
	at := map[string]map[int32]sarama.OffsetAndMetadata{
		args[1]: {int32(number(args[2])): {Offset: number(args[3]), LeaderEpoch: -1}},
	}
	found, err := o.client.AlterConsumerGroupOffsets(args[0], at, nil)
	if err != nil {
		return nil, err
	}
	for _, partitions := range found.Errors {
		for _, code := range partitions {
			if code != sarama.ErrNoError {
				return nil, code
			}
		}
	}
	return nil, nil
}

func (o operations) deleteOffset(args []string) (any, error) {
	return nil, o.client.DeleteConsumerGroupOffset(args[0], args[1], int32(number(args[2])))
}

func (o operations) create(args []string) (any, error) {
	detail := sarama.TopicDetail{NumPartitions: int32(number(args[1])), ReplicationFactor: 1}
	return nil, o.client.CreateTopic(args[0], &detail, false)
}

func (o operations) topics([]string) (any, error) {
	found, err := o.client.DescribeTopics(nil)
	counts := map[string]int{}
	for _, topic := range found {
		counts[topic.Name] = len(topic.Partitions)
	}
	return counts, err
}
