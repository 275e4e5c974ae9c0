// The Admin of @platformatic/kafka.
import { Admin } from '@platformatic/kafka'
import { args, serveAdmin, sorted } from './protocol.mjs'

const admin = new Admin({ clientId: 'suite', bootstrapBrokers: [args.bootstrap], retries: 2 })

serveAdmin({
  list: async () => [...(await admin.listGroups()).keys()],
  describe: async group => {
    const found = (await admin.describeGroups({ groups: [group] })).get(group)
    const members = [...found.members.values()]
      .map(m => sorted([...(m.assignments?.values() ?? [])].flatMap(a => a.partitions)))
    return { state: found.state[0] + found.state.slice(1).toLowerCase(), members }
  },
  offsets: async (group, topic) => {
    const [found] = await admin.listConsumerGroupOffsets({ groups: [group] })
    const partitions = found.topics.filter(t => t.name === topic).flatMap(t => t.partitions)
    return Object.fromEntries(partitions.map(p => [p.partitionIndex, Number(p.committedOffset)]))
  },
  set: (groupId, name, partition, offset) => admin.alterConsumerGroupOffsets({
    groupId, topics: [{ name, partitionOffsets: [{ partition: Number(partition), offset: BigInt(offset) }] }]
  }),
  'delete-offset': async (groupId, name, partition) => {
    await admin.deleteConsumerGroupOffsets({ groupId, topics: [{ name, partitionIndexes: [Number(partition)] }] })
  },
  delete: group => admin.deleteGroups({ groups: [group] }),
  create: async (topic, partitions) => {
    await admin.createTopics({ topics: [topic], partitions: Number(partitions), replicas: 1 })
  },
  'delete-topic': topic => admin.deleteTopics({ topics: [topic] }),
  topics: async () => {
    const { topics } = await admin.metadata({ topics: await admin.listTopics() })
    return Object.fromEntries([...topics].map(([name, t]) => [name, t.partitionsCount]))
  }
})
