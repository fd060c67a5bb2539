/** HTTP/1.1 requests whose bytes a law writes itself: clients of libraries clean up what the laws have to send. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

/** The parts of a request beside its target; method GET by default. */
export interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is after the other headers. */
  readonly lines?: string
  readonly body?: string
}

/** A response, read to its end. */
export interface HostAnswer {
  /** 0 if the connection was closed without a response. */
  readonly status: number
  /** Values by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether the response ended as HTTP demands. */
  readonly complete: boolean
}

/** Opens a connection and writes a request; `connection` as the header of this name. */
export const send = (port: number, target: string, options: AskOptions = {}, connection = "close"): Socket => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => undefined)
  write(socket, target, options, connection)
  return socket
}

/** Writes another request on an open connection, without waiting for the responses to earlier ones. */
export const write = (socket: Socket, target: string, options: AskOptions = {}, connection = "close"): void => {
  const { body = "", headers = {}, lines = "", method = "GET" } = options
  const fields = Object.entries({ host: "evil.example", connection, ...headers })
  if (body !== "") fields.push(["content-length", `${Buffer.byteLength(body)}`])
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  socket.write(Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}${lines}\r\n`, "latin1"))
  if (body !== "") socket.write(body)
}

/** Sends a request and reads until the connection closes. */
export const ask = async (port: number, target: string, options: AskOptions = {}): Promise<HostAnswer> => {
  const socket = send(port, target, options)
  const chunks: Array<Buffer> = []
  socket.on("data", (chunk) => chunks.push(chunk))
  await once(socket, "close")
  return read(Buffer.concat(chunks).toString("latin1"))
}

/** Resolves with the bytes so far as soon as they contain this text. */
export const received = (socket: Socket, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let all = ""
    socket.on("data", (chunk: Buffer) => {
      all += chunk.toString("latin1")
      if (all.includes(text)) resolve(all)
    })
    socket.on("close", () => reject(new Error(`the connection closed before ${JSON.stringify(text)} came: ${all}`)))
  })

const read = (text: string): HostAnswer => {
  const end = text.indexOf("\r\n\r\n")
  const [first = "", ...lines] = text.slice(0, Math.max(end, 0)).split("\r\n")
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  const body = text.slice(end + 4)
  if (headers["transfer-encoding"] === "chunked") return { status, headers, ...dechunked(body) }
  const length = headers["content-length"]
  return { status, headers, body: utf8(body), complete: length === undefined || body.length >= Number(length) }
}

const dechunked = (text: string): Pick<HostAnswer, "body" | "complete"> => {
  let body = ""
  let rest = text
  for (;;) {
    const end = rest.indexOf("\r\n")
    const size = Number.parseInt(rest.slice(0, Math.max(end, 0)), 16)
    if (end === -1 || Number.isNaN(size) || size === 0) return { body: utf8(body), complete: size === 0 }
    body += rest.slice(end + 2, end + 2 + size)
    rest = rest.slice(end + 2 + size + 2)
  }
}

const utf8 = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8")
