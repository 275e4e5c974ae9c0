// The admin client of kafkajs.
import kafkajs from 'kafkajs'
import { args, serveAdmin, sorted } from './protocol.mjs'

const kafka = new kafkajs.Kafka({
  clientId: 'suite', brokers: [args.bootstrap], logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 3 }
})
const admin = kafka.admin()
await admin.connect()

const assigned = member => Object.values(
  kafkajs.AssignerProtocol.MemberAssignment.decode(member.memberAssignment)?.assignment ?? {}
).flat()

serveAdmin({
  list: async () => (await admin.listGroups()).groups.map(g => g.groupId),
  describe: async group => {
    const { groups: [found] } = await admin.describeGroups([group])
    return { state: found.state, members: found.members.map(m => sorted(assigned(m))) }
  },
  offsets: async (groupId, topic) => {
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
    return Object.fromEntries(partitions.filter(p => p.offset !== '-1').map(p => [p.partition, Number(p.offset)]))
  },
  set: (groupId, topic, partition, offset) =>
    admin.setOffsets({ groupId, topic, partitions: [{ partition: Number(partition), offset }] }),
  // It commits the sentinel for `earliest` itself, and leaves it to consumers to resolve it.
  reset: async (groupId, topic) => {
    await admin.resetOffsets({ groupId, topic, earliest: true })
    return -2
  },
  delete: async group => {
    try {
      await admin.deleteGroups([group])
    } catch (problem) {
      throw problem.groups?.[0]?.error ?? problem
    }
  },
  create: (topic, count) => admin.createTopics({ topics: [{ topic, numPartitions: Number(count) }] }),
  'delete-topic': topic => admin.deleteTopics({ topics: [topic] }),
  topics: async () => {
    const { topics } = await admin.fetchTopicMetadata()
    return Object.fromEntries(topics.map(t => [t.name, t.partitions.length]))
  }
})
