// A member by kafkajs.
import kafkajs from 'kafkajs'
import { args, error, say, serve, sorted, words } from './protocol.mjs'

const kafka = new kafkajs.Kafka({
  clientId: 'suite',
  brokers: [args.bootstrap],
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 30 }
})
const consumer = kafka.consumer({
  groupId: args.group,
  sessionTimeout: Number(args['session-ms']),
  heartbeatInterval: Number(args['heartbeat-ms']),
  // It heartbeats between fetches: with the default of 5 s it would learn of a rebalance that late.
  maxWaitTimeInMs: 500
})
const admin = kafka.admin()

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  say('assigned', { partitions: sorted(payload.memberAssignment[args.topic] ?? []) })
})
consumer.on(consumer.events.REBALANCING, () => say('revoked'))
consumer.on(consumer.events.CRASH, ({ payload }) => error(payload.error))

await consumer.connect()
await consumer.subscribe({ topic: args.topic, fromBeginning: true })
await consumer.run({ autoCommit: false, eachMessage: async () => {} })

serve({
  async commit (partition, offset) {
    const at = { partition: Number(partition), offset: Number(offset) }
    // Its commitOffsets also succeeds, having sent nothing, while the consumer restarts: the event tells.
    let answered = false
    const forget = consumer.on(consumer.events.COMMIT_OFFSETS, () => { answered = true })
    try {
      await consumer.commitOffsets([{ topic: args.topic, partition: at.partition, offset }])
      if (answered) say('committed', at)
      else say('commit_failed', { ...at, error: 'the consumer is not running' })
    } catch (problem) {
      say('commit_failed', { ...at, error: words(problem) })
    } finally {
      forget()
    }
  },
  async offsets () {
    // A kafkajs consumer does not tell what is committed; its admin does.
    await admin.connect()
    const [{ partitions }] = await admin.fetchOffsets({ groupId: args.group, topics: [args.topic] })
    const offsets = Object.fromEntries(partitions.map(p => [p.partition, Number(p.offset)]))
    say('offsets', { offsets })
  },
  async close () {
    await consumer.disconnect()
  }
})
