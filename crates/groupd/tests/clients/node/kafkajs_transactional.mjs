// The transactional producer of kafkajs. It commits by the group's name alone.
import kafkajs from 'kafkajs'
import { args, serveAdmin } from './protocol.mjs'

const kafka = new kafkajs.Kafka({
  clientId: 'suite',
  brokers: [args.bootstrap],
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { retries: 60, initialRetryTime: 100, maxRetryTime: 500 }
})
const producer = kafka.producer({
  transactionalId: args['transactional-id'],
  transactionTimeout: Number(args['timeout-ms']),
  idempotent: true,
  maxInFlightRequests: 1
})
let transaction

serveAdmin({
  // It initialises its id with its first transaction.
  init: async () => {
    await producer.connect()
    await (await producer.transaction()).abort()
  },
  begin: async () => {
    transaction = await producer.transaction()
  },
  send: (partition, offset) => transaction.sendOffsets({
    consumerGroupId: args.group,
    topics: [{ topic: args.topic, partitions: [{ partition: Number(partition), offset }] }]
  }),
  commit: () => transaction.commit(),
  abort: () => transaction.abort()
})
