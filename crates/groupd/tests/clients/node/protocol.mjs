// How a client program talks with the driver (see python/protocol.py).
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

export function say (event, fields = {}) {
  process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
}

// One line of all that is known: these clients wrap the server's answer several times.
export function words (problem) {
  const parts = []
  for (let error = problem, depth = 0; error && depth < 4; error = error.cause, depth++) {
    parts.push(`${error.name}: ${error.message} ${error.apiId ?? ''}`)
    for (const inner of error.errors ?? []) parts.push(words(inner))
  }
  return parts.join(' <- ')
}

export function error (problem) {
  const message = words(problem)
  const fenced = /fenced/i.test(message) && /instance/i.test(message)
  say(fenced ? 'fenced' : 'error', { message })
}

export const args = parseArgs({
  options: {
    bootstrap: { type: 'string' },
    group: { type: 'string', default: '' },
    topic: { type: 'string', default: '' },
    'session-ms': { type: 'string', default: '6000' },
    'heartbeat-ms': { type: 'string', default: '1000' },
    instance: { type: 'string' },
    'transactional-id': { type: 'string', default: '' },
    'timeout-ms': { type: 'string', default: '60000' },
    admin: { type: 'boolean' }
  }
}).values

export const sorted = numbers => [...numbers].sort((a, b) => a - b)

// Calls the operation named by each line's first word, one at a time, until `close` is done.
export async function serve (operations) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...rest] = line.trim().split(/\s+/)
    try {
      await operations[name](...rest)
    } catch (problem) {
      error(problem)
    }
    if (name === 'close') break
  }
  say('closed')
  process.exit(0)
}

// The same for an admin program: every command is answered by one reply.
export async function serveAdmin (operations) {
  say('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...rest] = line.trim().split(/\s+/)
    if (name === 'close') break
    if (!operations[name]) {
      say('reply', { ok: false, unsupported: true, error: name })
      continue
    }
    try {
      say('reply', { ok: true, result: (await operations[name](...rest)) ?? null })
    } catch (problem) {
      say('reply', { ok: false, error: words(problem) })
    }
  }
  say('closed')
  process.exit(0)
}
