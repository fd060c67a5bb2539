/** A client that asks for a WebSocket, and a handler's answer by which it gets one. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

/** The answer of a handler that takes the connection, as `ws` writes it, and a first frame with the goods. */
export const upgrade = (connection: { readonly write: (text: string) => unknown }): void => {
  connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
  connection.write("goods")
}

export interface Upgraded {
  readonly status: number
  readonly text: string
  readonly close: () => Promise<void>
}

const sockets = new Set<Socket>()

/** Closes every connection: a server that closes waits for those that were upgraded. */
export const closeAll = (): void => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
}

/** Whether this is a whole response, or the begin of another protocol. */
const isWhole = (text: string): boolean => {
  const [head = "", body] = text.split("\r\n\r\n", 2)
  if (body === undefined) return false
  if (head.startsWith("HTTP/1.1 101")) return body !== ""
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  return length !== undefined && Buffer.byteLength(body) >= Number(length)
}

/** Asks for another protocol, and reads the first bytes of it or the whole response; status 0 if the connection breaks. */
export const ask = async (
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  protocol = "websocket"
): Promise<Upgraded> => {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined)
  sockets.add(socket)
  const closed = once(socket, "close")
  const fields = { host: "x", connection: "keep-alive, Upgrade", upgrade: protocol, ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`)
  let text = ""
  const read = new Promise<void>((resolve) => {
    socket.on("data", (bytes) => {
      text += bytes.toString()
      if (isWhole(text)) resolve()
    })
  })
  await Promise.race([read, closed])
  const close = async () => {
    socket.destroy()
    await closed
  }
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
  return { status, text: text.split("\r\n\r\n").slice(1).join(""), close }
}
