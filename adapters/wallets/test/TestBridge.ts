/** A bridge of TON Connect over HTTP, by the published protocol: queues by client id, server-sent events, and faults that a test asks for. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface Queued {
  readonly id: number
  readonly data: string
}

/** A message as it came to the bridge. */
export interface Posted {
  readonly from: string
  readonly to: string
  readonly ttl: string
  readonly topic: string
  readonly message: string
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return text
}

/** Opens a bridge on a port of its own. */
export const open = async () => {
  const queues = new Map<string, Array<Queued>>()
  const readers = new Map<string, Set<ServerResponse>>()
  const posted: Array<Posted> = []
  const asked: Array<string> = []
  const watchers = new Set<() => void>()
  /** Faults: it refuses messages; it passes them on and says nothing to their sender; it sends everybody elsewhere. */
  const state = { refuses: false, isSilent: false, elsewhere: undefined as string | undefined, abandoned: 0 }
  let lastId = 0
  const write = (to: string, text: string) => readers.get(to)?.forEach((reader) => reader.write(text))
  const notifyAll = () => watchers.forEach((notify) => notify())
  const deliver = (to: string, data: string) => {
    const event = { id: ++lastId, data }
    queues.set(to, [...(queues.get(to) ?? []), event])
    write(to, `event: message\r\nid: ${event.id}\r\ndata: ${data}\r\n\r\n`)
  }
  const events = (response: ServerResponse, query: URLSearchParams) => {
    const client = query.get("client_id") ?? ""
    const after = Number(query.get("last_event_id") ?? 0)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write("event: heartbeat\r\ndata: heartbeat\r\n\r\n")
    for (const { data, id } of queues.get(client) ?? [])
      if (id > after) response.write(`event: message\r\nid: ${id}\r\ndata: ${data}\r\n\r\n`)
    readers.set(client, (readers.get(client) ?? new Set()).add(response))
    response.on("close", () => readers.get(client)?.delete(response))
    notifyAll()
  }
  const server = createServer((request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? "", "http://bridge")
    if (pathname === "/events") asked.push(query.toString())
    if (state.elsewhere !== undefined) {
      response.writeHead(307, { location: `${state.elsewhere}${request.url}` }).end()
      return notifyAll()
    }
    if (pathname === "/events") return events(response, query)
    response.on("close", () => {
      if (!response.writableEnded) state.abandoned += 1
      notifyAll()
    })
    void textOf(request).then((message) => {
      if (state.refuses) return response.writeHead(500).end()
      const [from, to, ttl, topic] = ["client_id", "to", "ttl", "topic"].map((name) => query.get(name) ?? "")
      posted.push({ from: from ?? "", to: to ?? "", ttl: ttl ?? "", topic: topic ?? "", message })
      if (!state.isSilent)
        response.writeHead(200, { "content-type": "application/json" }).end('{"message":"OK","statusCode":200}')
      notifyAll()
      return deliver(to ?? "", JSON.stringify({ from, message }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address: AddressInfo | string | null = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  /** Resolves as soon as the condition holds; it is looked at when something has happened here. */
  const until = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = () => {
        if (!condition()) return
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
      look()
    })
  return {
    url: `http://127.0.0.1:${port}`,
    posted,
    asked,
    state,
    until,
    /** Puts any text into a client's queue. */
    deliver,
    /** Puts the messages that a client has got into its queue once more. */
    replay: (to: string) => {
      for (const { data } of queues.get(to) ?? []) deliver(to, data)
    },
    /** Writes to a client's connection as it is. */
    write,
    isRead: (client: string) => readers.has(client),
    /** Breaks a client's connections. */
    cut: (client: string) => {
      readers.get(client)?.forEach((reader) => reader.destroy())
      readers.delete(client)
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

export type TestBridge = Awaited<ReturnType<typeof open>>
