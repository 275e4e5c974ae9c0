// A member by @platformatic/kafka.
import { Consumer } from '@platformatic/kafka'
import { args, error, say, serve, sorted, words } from './protocol.mjs'

const consumer = new Consumer({
  clientId: 'suite',
  bootstrapBrokers: [args.bootstrap],
  groupId: args.group,
  groupInstanceId: args.instance,
  sessionTimeout: Number(args['session-ms']),
  heartbeatInterval: Number(args['heartbeat-ms']),
  // It must not be below the session timeout.
  rebalanceTimeout: Math.max(10000, Number(args['session-ms'])),
  maxWaitTime: 500,
  autocommit: false,
  retries: 30,
  retryDelay: 200
})

const here = assignments => (assignments ?? []).filter(a => a.topic === args.topic).flatMap(a => a.partitions)

consumer.on('consumer:group:join', ({ assignments }) => {
  say('assigned', { partitions: sorted(here(assignments ?? consumer.assignments)) })
})
consumer.on('consumer:group:rebalance', () => say('revoked'))
consumer.on('consumer:heartbeat:error', ({ error: problem }) => error(problem))
consumer.on('error', error)
process.on('unhandledRejection', error)

const stream = await consumer.consume({ topics: [args.topic], mode: 'committed', fallbackMode: 'earliest' })
stream.on('data', () => {})
stream.on('error', error)

serve({
  async commit (partition, offset) {
    const at = { partition: Number(partition), offset: Number(offset) }
    try {
      await consumer.commit({
        offsets: [{ topic: args.topic, partition: at.partition, offset: BigInt(offset), leaderEpoch: -1 }]
      })
      say('committed', at)
    } catch (problem) {
      say('commit_failed', { ...at, error: words(problem) })
    }
  },
  async offsets () {
    const metadata = await consumer.metadata({ topics: [args.topic] })
    const partitions = [...metadata.topics.get(args.topic).partitions.keys()]
    const found = await consumer.listCommittedOffsets({ topics: [{ topic: args.topic, partitions }] })
    const offsets = Object.fromEntries(found.get(args.topic).map((offset, index) => [index, Number(offset)]))
    say('offsets', { offsets })
  },
  async close () {
    await consumer.close(true)
  }
})
