/**
 * A Koa application on a loopback port, and clients for it.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, request, type RequestListener, type RequestOptions } from "node:http"
import type { AddressInfo } from "node:net"

export interface Reply {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface KoaServer {
  readonly port: number
  readonly get: (path: string, options?: RequestOptions & { readonly body?: string }) => Promise<Reply>
  readonly close: () => Promise<void>
}

const read = async (response: IncomingMessage): Promise<Reply> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of response) chunks.push(Buffer.from(chunk))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString("utf8")
  }
}

/** The parts of an application that are used. */
export interface Application {
  silent: boolean
  readonly callback: () => RequestListener
}

export const serve = async (app: Application): Promise<KoaServer> => {
  app.silent = true
  const server = createServer(app.callback())
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    port,
    get: async (path, { body, ...options } = {}) => {
      const outgoing = request({ host: "127.0.0.1", port, path, agent: false, ...options })
      outgoing.end(body)
      const [response] = (await once(outgoing, "response")) as [IncomingMessage]
      return read(response)
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
